// A simple, slow model of WorkQueue.

import type { QueueOptions, Request } from '../../src/runtime/work-queue.ts';

interface Item {
  readonly key: string;
  readonly order: number;
  state: 'waiting' | 'ready' | 'running';
  dueAt: number;
  /** Time from which the item waits; later than `dueAt` if it was ready before. */
  waitsFrom: number;
  lane: string;
  deadlineAt: number;
  /** Deadline from when the item was ready before; Infinity if it was not. */
  earlierDeadlineAt: number;
  againAt: number;
}

export class NaiveQueue {
  readonly #options: QueueOptions<string>;
  #items: Item[] = [];
  #orders = 0;
  #takenAt = 0;

  constructor(options: QueueOptions<string>) {
    this.#options = options;
  }

  get size(): number {
    return this.#items.length;
  }

  laneOf(key: string): string {
    return this.#find(key)?.lane ?? '';
  }

  add(key: string, dueAt: number): void {
    const item = this.#find(key);
    if (item === undefined) {
      this.#items.push({
        key,
        order: this.#orders++,
        state: 'waiting',
        dueAt,
        waitsFrom: dueAt,
        lane: '',
        deadlineAt: 0,
        earlierDeadlineAt: Infinity,
        againAt: Infinity,
      });
    } else if (item.state === 'running') {
      item.againAt = Math.min(item.againAt, dueAt);
    } else {
      item.waitsFrom = Math.min(item.state === 'ready' ? this.#takenAt : item.waitsFrom, dueAt);
      if (item.state === 'ready') item.earlierDeadlineAt = item.deadlineAt;
      item.state = 'waiting';
      item.dueAt = Math.min(item.dueAt, dueAt);
    }
  }

  expedite(now: number): void {
    for (const item of this.#items) {
      if (item.state === 'waiting') this.add(item.key, now);
      if (item.againAt < Infinity) item.againAt = Math.min(item.againAt, now);
    }
  }

  take(now: number): Request<string> | undefined {
    const { priorityOf, concurrency, concurrencyPerLane } = this.#options;
    const running = this.#items.filter(({ state }) => state === 'running');
    if (running.length >= concurrency) return undefined;
    this.#takenAt = now;
    for (const item of this.#items) {
      if (item.state !== 'waiting' || item.waitsFrom > now) continue;
      const { lane, deadlineAt } = priorityOf(item.key);
      Object.assign(item, { state: 'ready', lane, deadlineAt: Math.min(deadlineAt, item.earlierDeadlineAt) });
    }
    const [next] = this.#items
      .filter(({ state, lane }) => state === 'ready' && running.filter((other) => other.lane === lane).length < concurrencyPerLane)
      .sort((a, b) => Math.sign(a.deadlineAt - b.deadlineAt) || a.dueAt - b.dueAt || a.order - b.order);
    if (next === undefined) return undefined;
    next.state = 'running';
    return { key: next.key, dueAt: next.dueAt };
  }

  done(key: string): void {
    const item = this.#find(key);
    this.#items = this.#items.filter((other) => other !== item);
    if (item !== undefined && item.againAt < Infinity) this.add(key, item.againAt);
  }

  nextDueAt(): number | undefined {
    if (this.#items.filter(({ state }) => state === 'running').length >= this.#options.concurrency) return undefined;
    const dues = this.#items.filter(({ state }) => state === 'waiting').map(({ waitsFrom }) => waitsFrom);
    return dues.length === 0 ? undefined : Math.min(...dues);
  }

  #find(key: string): Item | undefined {
    return this.#items.find((item) => item.key === key);
  }
}
