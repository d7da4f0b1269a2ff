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

/** What hangs together. */
export interface Lane<K> {
  readonly name: string;
  readonly ready: KeyHeap<K, Turn>;
  running: number;
}

/** A key that was given its turn, and the lane in which it runs. */
export interface Taken<K> {
  readonly key: K;
  readonly lane: Lane<K>;
  readonly turn: Turn;
}

/** Ready keys in lanes, and how many of each lane run. A lane with neither is forgotten. Finding the next key looks at no other. */
export class Lanes<K> {
  readonly #limits: Limits;
  readonly #lanes = new Map<string, Lane<K>>();
  /** The lane of each ready key. */
  readonly #laneOf = new Map<K, Lane<K>>();
  /** Lanes with a ready key and room for it, by the turn of their first. */
  readonly #open = new KeyHeap<Lane<K>, Turn>(compareTurns);
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

  /** How many keys are ready. */
  get waiting(): number {
    return this.#laneOf.size;
  }

  /** How many lanes are remembered. */
  get size(): number {
    return this.#lanes.size;
  }

  /** Makes a key ready that is not. */
  add(key: K, name: string, turn: Turn): void {
    const lane = this.#lanes.get(name) ?? { name, ready: new KeyHeap(compareTurns), running: 0 };
    this.#lanes.set(name, lane);
    this.#laneOf.set(key, lane);
    lane.ready.set(key, turn);
    this.#review(lane);
  }

  /** Takes a ready key back and returns its turn; undefined if it was not ready. */
  remove(key: K): Turn | undefined {
    const lane = this.#laneOf.get(key);
    if (lane === undefined) return undefined;
    this.#laneOf.delete(key);
    const turn = lane.ready.remove(key);
    this.#review(lane);
    return turn;
  }

  /** Lets the next key run, until `release`; undefined while no ready key may. */
  take(): Taken<K> | undefined {
    const lane = this.isFull ? undefined : this.#open.first?.key;
    const first = lane?.ready.first;
    if (lane === undefined || first === undefined) return undefined;
    this.#running += 1;
    lane.running += 1;
    this.remove(first.key);
    return { key: first.key, lane, turn: first.priority };
  }

  /** Frees the place of a key that ran in this lane. */
  release(lane: Lane<K>): void {
    this.#running -= 1;
    lane.running -= 1;
    this.#review(lane);
  }

  /** To be called after every change of a lane. */
  #review(lane: Lane<K>): void {
    const { name, ready, running } = lane;
    const hasRoom = running < this.#limits.concurrencyPerLane;
    if (ready.first !== undefined && hasRoom) this.#open.set(lane, ready.first.priority);
    else this.#open.remove(lane);
    if (ready.size === 0 && running === 0) this.#lanes.delete(name);
  }
}

function compareTurns(a: Turn, b: Turn): number {
  // Deadlines may be infinite, so they are not subtracted.
  if (a.deadlineAt !== b.deadlineAt) return a.deadlineAt < b.deadlineAt ? -1 : 1;
  return a.dueAt - b.dueAt || a.order - b.order;
}
