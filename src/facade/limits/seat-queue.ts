// A queue that shares seats fairly, as API Priority and Fairness of kube-apiserver does. A request occupies a seat, or waits for one.
// Free seats go to the waiting callers in rotation, so that a caller with many requests does not delay a caller with few.

import { tooManyRequests } from '../../kubernetes/status.ts';

export interface SeatLimits {
  /** Maximum number of seats for one caller. */
  readonly perCaller: number;
  /** Maximum number of seats. */
  readonly total: number;
  /** Maximum number of waiting requests of one caller; additional ones are rejected with 429. */
  readonly waitingPerCaller: number;
  /** Maximum number of waiting requests across all callers. */
  readonly waiting: number;
}

/** Requests of one caller. */
interface CallerQueue {
  /** Number of occupied seats. */
  active: number;
  /** Functions that start the waiting requests, in order of arrival. */
  readonly waiting: Set<() => void>;
}

const RETRY_AFTER_SECONDS = 1;

export class SeatQueue {
  readonly #limits: SeatLimits;
  readonly #callers = new Map<string, CallerQueue>();
  /** Callers with waiting requests, in rotation: the caller that has waited longest since its last seat is first. */
  readonly #rotation = new Set<string>();
  #active = 0;
  #waiting = 0;

  constructor(limits: SeatLimits) {
    this.#limits = limits;
  }

  /** Number of callers with active or waiting requests. */
  get size(): number {
    return this.#callers.size;
  }

  /** Waits for a seat; returns the function that releases it. Throws 429 if too many requests wait, or the reason of the signal. */
  async acquire(caller: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const queue = this.#callers.get(caller) ?? { active: 0, waiting: new Set() };
    if (this.#hasSeat(queue)) this.#start(caller, queue);
    else await this.#wait(caller, queue, signal);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#release(caller, queue);
    };
  }

  #hasSeat({ active, waiting }: CallerQueue): boolean {
    const { perCaller, total } = this.#limits;
    return active < perCaller && this.#active < total && waiting.size === 0;
  }

  #start(caller: string, queue: CallerQueue): void {
    this.#callers.set(caller, queue);
    queue.active += 1;
    this.#active += 1;
  }

  #wait(caller: string, queue: CallerQueue, signal: AbortSignal): Promise<void> {
    const { waitingPerCaller, waiting } = this.#limits;
    if (queue.waiting.size >= waitingPerCaller || this.#waiting >= waiting)
      throw tooManyRequests('Too many requests, please try again later.', RETRY_AFTER_SECONDS);
    return new Promise((resolve, reject) => {
      const leave = () => {
        queue.waiting.delete(start);
        this.#waiting -= 1;
        if (queue.waiting.size === 0) this.#rotation.delete(caller);
        this.#forget(caller, queue);
        reject(signal.reason as Error);
      };
      const start = () => {
        signal.removeEventListener('abort', leave);
        this.#waiting -= 1;
        this.#start(caller, queue);
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      queue.waiting.add(start);
      this.#callers.set(caller, queue);
      this.#waiting += 1;
      this.#rotation.add(caller);
    });
  }

  #release(caller: string, queue: CallerQueue): void {
    queue.active -= 1;
    this.#active -= 1;
    this.#forget(caller, queue);
    while (this.#active < this.#limits.total && this.#startNext());
  }

  /** Starts the next waiting request; returns false if no waiting caller may have another seat. */
  #startNext(): boolean {
    for (const caller of this.#rotation) {
      const queue = this.#callers.get(caller);
      const [start] = queue?.waiting ?? [];
      if (queue === undefined || start === undefined) this.#rotation.delete(caller);
      else if (queue.active < this.#limits.perCaller) {
        queue.waiting.delete(start);
        this.#rotation.delete(caller);
        if (queue.waiting.size > 0) this.#rotation.add(caller);
        start();
        return true;
      }
    }
    return false;
  }

  #forget(caller: string, { active, waiting }: CallerQueue): void {
    if (active === 0 && waiting.size === 0) this.#callers.delete(caller);
  }
}
