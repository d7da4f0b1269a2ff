// The parts of a process in order: each starts when those before it work, and stops before those that it needs.

import { type Observable, Subscription } from 'rxjs';
import type { Clock } from '../std/clock.ts';

/** A part of the process that is started and stopped. */
export interface Component {
  readonly name: string;
  /** The check of readiness that holds once it works; without, nobody waits for it. */
  readonly check?: string;
  /** Resolves once it works. Rejects if it cannot, leaving nothing behind; also, and at once, when `signal` aborts. */
  start(signal: AbortSignal): Promise<void>;
  /** Resolves when it has ended in good order. When `signal` aborts, there is no more time for order. */
  stop(signal: AbortSignal): Promise<void>;
  /** How long starting may take; without end by default. */
  readonly startMs?: number;
  /** How long stopping in good order may take; `STOP_MS` by default. */
  readonly stopMs?: number;
}

/** Enough for what has nothing to wait for. */
export const STOP_MS = 1_000;

/** A component that did not stop as it should, and why. */
export interface Leftover {
  readonly name: string;
  readonly error: unknown;
}

/** A component that took too long. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Starts components in order, and stops them in the reverse order. */
export class Lifecycle {
  readonly #components: readonly Component[];
  readonly #clock: Clock;
  readonly #stopping = new AbortController();
  /** Those that work, in order. */
  readonly #started: Component[] = [];
  #starting: Promise<void> = Promise.resolve();
  #stopped: Promise<readonly Leftover[]> | undefined;

  constructor(components: readonly Component[], clock: Clock) {
    this.#components = components;
    this.#clock = clock;
  }

  /** Resolves when all of them work. When one cannot start, or `stop` is called, rejects after the others have been stopped. */
  async start(): Promise<void> {
    this.#starting = this.#startAll();
    try {
      await this.#starting;
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Stops what was started, whatever happens on the way, and names what was left when its time was up. The same for every call. */
  stop(): Promise<readonly Leftover[]> {
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  async #startAll(): Promise<void> {
    const { signal } = this.#stopping;
    for (const component of this.#components) {
      signal.throwIfAborted();
      const { name, startMs = Infinity } = component;
      await this.#within(startMs, `${name} did not start in time`, (late) => component.start(AbortSignal.any([signal, late])));
      this.#started.push(component);
    }
  }

  async #stopAll(): Promise<readonly Leftover[]> {
    this.#stopping.abort(new Error('stopped before everything was started'));
    await this.#starting.catch(() => {});
    const leftovers: Leftover[] = [];
    for (const component of this.#started.toReversed()) {
      const { name, stopMs = STOP_MS } = component;
      try {
        await this.#within(stopMs, `${name} did not stop in time`, (late) => component.stop(late));
      } catch (error) {
        leftovers.push({ name, error });
      }
    }
    return leftovers;
  }

  /** Does not wait for work that goes on although it was told to end. */
  #within(ms: number, complaint: string, work: (late: AbortSignal) => Promise<void>): Promise<void> {
    const deadline = new AbortController();
    return new Promise((resolve, reject) => {
      const expire = () => {
        const error = new DeadlineError(complaint);
        reject(error);
        deadline.abort(error);
      };
      const cancel = ms === Infinity ? () => {} : this.#clock.wakeAfter(ms, expire);
      Promise.try(work, deadline.signal).then(resolve, reject).finally(cancel);
    });
  }
}

export interface StreamOptions {
  readonly name: string;
  readonly stopMs: number;
  /** The stream, which ends in good order after `stopping` aborts. */
  readonly run: (stopping: AbortSignal) => Observable<unknown>;
  /** Told of an error of the stream, which only a defect can make. */
  readonly onDefect: (error: unknown) => void;
}

/** A component that is a stream: works while that is subscribed to, and is cut off when it does not end in time. */
export function streamComponent({ name, stopMs, run, onDefect }: StreamOptions): Component {
  const stopping = new AbortController();
  let subscription = Subscription.EMPTY;
  return {
    name,
    stopMs,
    async start() {
      subscription = run(stopping.signal).subscribe({ error: onDefect });
    },
    stop(late) {
      return new Promise((resolve) => {
        subscription.add(resolve);
        late.addEventListener('abort', () => subscription.unsubscribe(), { once: true });
        stopping.abort();
      });
    },
  };
}
