// A clock that stands still until a test moves it.

import type { Clock } from '../../src/std/clock.ts';

interface Alarm {
  readonly at: number;
  readonly wake: () => void;
}

/** Starts at one fixed instant, so that expected timestamps are literals. */
export class FakeClock implements Clock {
  readonly #alarms = new Set<Alarm>();
  #now: number;

  constructor(start = Date.parse('2026-03-01T12:00:00Z')) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  wakeAt(at: number, wake: () => void): () => void {
    const alarm = { at, wake };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  }

  /** How many wake-ups are armed: none may be left behind. */
  get pending(): number {
    return this.#alarms.size;
  }

  /** Moves time on, waking in order of their instants all that become due, also those armed on the way. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let alarm = this.#nextUntil(end); alarm !== undefined; alarm = this.#nextUntil(end)) {
      this.#alarms.delete(alarm);
      this.#now = Math.max(this.#now, alarm.at);
      alarm.wake();
    }
    this.#now = end;
  }

  #nextUntil(end: number): Alarm | undefined {
    return [...this.#alarms].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
  }
}
