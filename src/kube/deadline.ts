// Deadlines as AbortSignals.

import type { Clock } from '../std/clock.ts';

/** Starts a deadline that ends in `ms` milliseconds. */
export function startDeadline(clock: Clock, ms: number, caller?: AbortSignal): Deadline {
  return new Deadline(clock, ms, caller);
}

/** Deadline whose `signal` aborts when the time has passed or the caller's signal aborts. Call `clear` when the work is done. */
export class Deadline {
  /** Called on abort; undefined if not needed. A listener of `signal` costs more CPU time. */
  onAbort: (() => void) | undefined;
  readonly #clock: Clock;
  readonly #caller: AbortSignal | undefined;
  #endsAt: number;
  /** Time at which the timer fires; at most `#endsAt`. */
  #armedAt: number;
  #cancel: () => void;
  #hasPassed = false;
  #isAborted = false;
  #reason: unknown;
  #controller: AbortController | undefined;

  constructor(clock: Clock, ms: number, caller: AbortSignal | undefined) {
    this.#clock = clock;
    this.#caller = caller;
    this.#endsAt = clock.monotonic() + ms;
    this.#armedAt = this.#endsAt;
    this.#cancel = clock.wakeAfter(ms, this.#wake);
    if (caller?.aborted) this.#abandon();
    else caller?.addEventListener('abort', this.#abandon, { once: true });
  }

  /** Signal that aborts with the deadline; created on first use. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** True if the deadline passed before the caller aborted. */
  get hasPassed(): boolean {
    return this.#hasPassed;
  }

  /** True after the deadline, and after the caller aborted. */
  get isAborted(): boolean {
    return this.#isAborted;
  }

  /** Moves the deadline to `ms` milliseconds from now. */
  reset(ms: number): void {
    if (this.#isAborted) return;
    this.#endsAt = this.#clock.monotonic() + ms;
    // The current timer re-arms for a later deadline: a busy watch would otherwise replace the timer with every chunk.
    if (this.#endsAt < this.#armedAt) this.#arm();
  }

  clear(): void {
    this.#cancel();
    this.#caller?.removeEventListener('abort', this.#abandon);
  }

  #arm(): void {
    this.#cancel();
    this.#armedAt = this.#endsAt;
    this.#cancel = this.#clock.wakeAfter(this.#endsAt - this.#clock.monotonic(), this.#wake);
  }

  readonly #wake = (): void => {
    if (this.#clock.monotonic() < this.#endsAt) return this.#arm();
    this.#hasPassed = true;
    this.#abort(undefined);
  };

  readonly #abandon = (): void => {
    // An abandoned stream never clears its deadline.
    this.#cancel();
    this.#abort(this.#caller?.reason);
  };

  #abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.onAbort?.();
  }
}

/** Settles like `promise`, but rejects with the signal's reason on abort, even if the work behind `promise` ignores the signal. */
export function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
