// Limits on short work, per caller and in total. Further requests wait, and callers take turns, so that a caller with many requests
// does not delay a caller with few.

import { tooManyRequests } from '../../kubernetes/status.ts';

export interface TurnLimits {
  /** Maximum in progress for one caller, whichever tokens they use. */
  readonly perCaller: number;
  /** Maximum in progress for all callers. */
  readonly total: number;
  /** Maximum of one caller that waits; further ones are rejected with 429. */
  readonly waitingPerCaller: number;
  /** Maximum of all callers that waits. */
  readonly waiting: number;
}

interface Line {
  active: number;
  /** Starts the next ones, in the order in which they came. */
  readonly waiting: Set<() => void>;
}

const RETRY_AFTER_SECONDS = 1;

export class Turns {
  readonly #limits: TurnLimits;
  readonly #lines = new Map<string, Line>();
  /** Callers who wait. The caller whose turn was longest ago comes first. */
  readonly #queue = new Set<string>();
  #active = 0;
  #waiting = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Number of callers with a turn or in the queue. */
  get size(): number {
    return this.#lines.size;
  }

  /** Waits for a turn; the caller must end it by the returned function. Throws 429 if too many wait, and the reason of the signal. */
  async take(caller: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const line = this.#lines.get(caller) ?? { active: 0, waiting: new Set() };
    if (this.#hasRoom(line)) this.#start(caller, line);
    else await this.#wait(caller, line, signal);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#end(caller, line);
    };
  }

  #hasRoom({ active, waiting }: Line): boolean {
    const { perCaller, total } = this.#limits;
    return active < perCaller && this.#active < total && waiting.size === 0;
  }

  #start(caller: string, line: Line): void {
    this.#lines.set(caller, line);
    line.active += 1;
    this.#active += 1;
  }

  #wait(caller: string, line: Line, signal: AbortSignal): Promise<void> {
    const { waitingPerCaller, waiting } = this.#limits;
    if (line.waiting.size >= waitingPerCaller || this.#waiting >= waiting)
      throw tooManyRequests('Too many requests, please try again later.', RETRY_AFTER_SECONDS);
    return new Promise((resolve, reject) => {
      const leave = () => {
        line.waiting.delete(start);
        this.#waiting -= 1;
        if (line.waiting.size === 0) this.#queue.delete(caller);
        this.#forget(caller, line);
        reject(signal.reason as Error);
      };
      const start = () => {
        signal.removeEventListener('abort', leave);
        this.#waiting -= 1;
        this.#start(caller, line);
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      line.waiting.add(start);
      this.#lines.set(caller, line);
      this.#waiting += 1;
      this.#queue.add(caller);
    });
  }

  #end(caller: string, line: Line): void {
    line.active -= 1;
    this.#active -= 1;
    this.#forget(caller, line);
    while (this.#active < this.#limits.total && this.#startNext());
  }

  /** Returns false if no caller who waits may have another turn. */
  #startNext(): boolean {
    for (const caller of this.#queue) {
      const line = this.#lines.get(caller);
      const [start] = line?.waiting ?? [];
      if (line === undefined || start === undefined) this.#queue.delete(caller);
      else if (line.active < this.#limits.perCaller) {
        line.waiting.delete(start);
        this.#queue.delete(caller);
        if (line.waiting.size > 0) this.#queue.add(caller);
        start();
        return true;
      }
    }
    return false;
  }

  #forget(caller: string, { active, waiting }: Line): void {
    if (active === 0 && waiting.size === 0) this.#lines.delete(caller);
  }
}
