// A clock that stands still until a test moves it.

import type { Clock } from '../../src/std/clock.ts';

interface Alarm {
  /** When it is due, on the monotonic clock. */
  readonly dueAt: () => number;
  readonly wake: () => void;
}

/** Starts at one fixed instant, so that expected timestamps are literals. */
export class FakeClock implements Clock {
  readonly #alarms = new Set<Alarm>();
  /** Not the epoch's, so that what mixes the two up is found out. */
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

  /** How many wake-ups are armed: none may be left behind. */
  get pending(): number {
    return this.#alarms.size;
  }

  /** Sets the wall clock, as an administrator would: no time passes. */
  set(at: number): void {
    this.#bootedAt = at - this.#monotonic;
  }

  /** Moves time on, waking in order of their instants all that become due, also those armed on the way. */
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
    return [...this.#alarms].filter(({ dueAt }) => dueAt() <= end).sort((a, b) => a.dueAt() - b.dueAt())[0];
  }
}
