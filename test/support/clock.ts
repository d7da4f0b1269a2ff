// Clock that tests advance.

import type { Clock } from '../../src/std/clock.ts';

interface Alarm {
  /** Returns the due time on the monotonic clock. */
  readonly dueAt: () => number;
  readonly wake: () => void;
}

/** Clock that starts at a fixed time, so that expected timestamps are literals. */
export class FakeClock implements Clock {
  readonly #alarms = new Set<Alarm>();
  /** Differs from the wall clock, so that tests detect confusion of the two. */
  #monotonic = 5_000;
  #bootedAt: number;

  constructor(start = Date.parse('2026-03-01T12:00:00Z')) {
    this.#bootedAt = start - this.#monotonic;
  }

  now(): number {
    return this.#bootedAt + this.#monotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  wakeAt(at: number, wake: () => void): () => void {
    return this.#arm(() => at - this.#bootedAt, wake);
  }

  wakeAfter(ms: number, wake: () => void): () => void {
    const dueAt = this.#monotonic + ms;
    return this.#arm(() => dueAt, wake);
  }

  /** Number of pending timers; tests expect 0 at their end. */
  get pending(): number {
    return this.#alarms.size;
  }

  /** Sets the wall clock; the monotonic clock does not change. */
  set(at: number): void {
    this.#bootedAt = at - this.#monotonic;
  }

  /** Advances both clocks, and fires due timers in order, including those that are set in the meantime. */
  advance(ms: number): void {
    const end = this.#monotonic + ms;
    for (let alarm = this.#nextUntil(end); alarm !== undefined; alarm = this.#nextUntil(end)) {
      this.#alarms.delete(alarm);
      this.#monotonic = Math.max(this.#monotonic, alarm.dueAt());
      alarm.wake();
    }
    this.#monotonic = end;
  }

  #arm(dueAt: () => number, wake: () => void): () => void {
    const alarm = { dueAt, wake };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  #nextUntil(end: number): Alarm | undefined {
    let next: Alarm | undefined;
    let nextAt = Infinity;
    for (const alarm of this.#alarms) {
      const at = alarm.dueAt();
      if (at <= end && at < nextAt) [next, nextAt] = [alarm, at];
    }
    return next;
  }
}
