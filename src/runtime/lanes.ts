// Which of the keys that are ready may run next: the most urgent one whose lane has room. What hangs in one lane, such as
// the keys of a cluster that is gone, takes up no more than that lane's share.

import { KeyHeap } from './key-heap.ts';

export interface Limits {
  /** How many keys may run at once. */
  readonly concurrency: number;
  /** How many of one lane; less than `concurrency`, or one lane can stop the others. */
  readonly concurrencyPerLane: number;
}

/** When a key's turn comes: by its deadline, then by when it was due, then in the order of requests. */
export interface Turn {
  readonly deadlineAt: number;
  readonly dueAt: number;
  readonly order: number;
}

/** A key that was given its turn, and the lane in which it runs. */
export interface Taken<K> {
  readonly key: K;
  readonly lane: string;
  readonly turn: Turn;
}

/** Ready keys in lanes, and how many of each lane run. A lane with neither is forgotten. Finding the next key looks at no other. */
export class Lanes<K> {
  readonly #limits: Limits;
  readonly #lanes = new Map<string, Lane<K>>();
  /** The lane of each ready key. */
  readonly #laneOf = new Map<K, string>();
  /** Lanes with a ready key and room for it, by the turn of their first. */
  readonly #open = new KeyHeap<string, Turn>(compareTurns);
  #running = 0;

  /** Throws for limits under which nothing would ever run. */
  constructor(limits: Limits) {
    for (const [name, limit] of Object.entries(limits)) {
      if (!(limit >= 1)) throw new RangeError(`${name} must be at least 1, not ${limit}`);
    }
    this.#limits = limits;
  }

  /** Whether as many keys run as may. */
  get isFull(): boolean {
    return this.#running >= this.#limits.concurrency;
  }

  /** How many lanes are remembered. */
  get size(): number {
    return this.#lanes.size;
  }

  /** Makes a key ready that is not. */
  add(key: K, name: string, turn: Turn): void {
    const lane = this.#lanes.get(name) ?? { ready: new KeyHeap(compareTurns), running: 0 };
    this.#lanes.set(name, lane);
    this.#laneOf.set(key, name);
    lane.ready.set(key, turn);
    this.#review(name, lane);
  }

  /** Takes a ready key back and returns its turn; undefined if it was not ready. */
  remove(key: K): Turn | undefined {
    const name = this.#laneOf.get(key);
    const lane = name === undefined ? undefined : this.#lanes.get(name);
    if (name === undefined || lane === undefined) return undefined;
    this.#laneOf.delete(key);
    const turn = lane.ready.remove(key);
    this.#review(name, lane);
    return turn;
  }

  /** Lets the next key run; undefined while no ready key may. */
  take(): Taken<K> | undefined {
    const name = this.isFull ? undefined : this.#open.first?.key;
    const lane = name === undefined ? undefined : this.#lanes.get(name);
    const first = lane?.ready.first;
    if (name === undefined || lane === undefined || first === undefined) return undefined;
    lane.ready.remove(first.key);
    this.#laneOf.delete(first.key);
    this.#count(name, lane, 1);
    return { key: first.key, lane: name, turn: first.priority };
  }

  /** Frees the place of a key that ran in this lane. */
  release(name: string): void {
    const lane = this.#lanes.get(name);
    if (lane !== undefined) this.#count(name, lane, -1);
  }

  #count(name: string, lane: Lane<K>, change: 1 | -1): void {
    lane.running += change;
    this.#running += change;
    this.#review(name, lane);
  }

  #review(name: string, { ready, running }: Lane<K>): void {
    const hasRoom = running < this.#limits.concurrencyPerLane;
    if (ready.first !== undefined && hasRoom) this.#open.set(name, ready.first.priority);
    else this.#open.remove(name);
    if (ready.size === 0 && running === 0) this.#lanes.delete(name);
  }
}

interface Lane<K> {
  readonly ready: KeyHeap<K, Turn>;
  running: number;
}

function compareTurns(a: Turn, b: Turn): number {
  // Deadlines may be infinite, so they are not subtracted.
  if (a.deadlineAt !== b.deadlineAt) return a.deadlineAt < b.deadlineAt ? -1 : 1;
  return a.dueAt - b.dueAt || a.order - b.order;
}
