// Which key may run next, and when. Holds no timers and starts no work.

import { KeyHeap } from './key-heap.ts';
import { type Flow, Lanes, type Limits } from './lanes.ts';

/** Asks for a key to be looked at, at an instant. */
export interface Request<K> {
  readonly key: K;
  readonly dueAt: number;
}

/** Where a key stands among all that are ready. */
export interface Place {
  /** Group of keys that share a dependency, such as a target cluster. */
  readonly lane: string;
  /** Group of keys that share an owner, such as a namespace; tenants are served in turn. One tenant for all keys by default. */
  readonly tenant?: string;
  /** Deadline of the key: of a tenant's ready keys the one with the earliest deadline goes first; Infinity for none. */
  readonly deadlineAt: number;
}

export interface QueueOptions<K> extends Omit<Limits, 'tenantShare'> {
  /** Infinity by default. */
  readonly tenantShare?: number;
  /** Called each time a key becomes ready, so that its place may change between runs. */
  readonly placeOf: (key: K) => Place;
}

/**
 * Decides which key may run next.
 *
 *   add ──▶ waiting ──due──▶ ready ──take──▶ running ──done──▶ (waiting again, if it was asked for meanwhile)
 *
 * A key is in one of these states or in none. Of several requests for it, the earliest counts.
 */
export class WorkQueue<K> {
  readonly #placeOf: (key: K) => Place;
  readonly #waiting = new KeyHeap<K, Requested>((a, b) => a.dueAt - b.dueAt || a.order - b.order);
  readonly #ready: Lanes<K>;
  readonly #running = new Map<K, Running<K>>();
  #requests = 0;

  constructor({ placeOf, concurrency, concurrencyPerLane, tenantShare = Infinity }: QueueOptions<K>) {
    this.#placeOf = placeOf;
    this.#ready = new Lanes({ concurrency, concurrencyPerLane, tenantShare });
  }

  /** How many keys run. */
  get running(): number {
    return this.#running.size;
  }

  /** How many lanes are remembered: those with a key that is ready or runs. */
  get lanes(): number {
    return this.#ready.size;
  }

  /** Tenants with a running key and the slots that each holds. */
  held(): Iterable<readonly [tenant: string, slots: number]> {
    return this.#ready.held();
  }

  /** How many keys are due and do not run. */
  depth(now: number): number {
    const due = [...this.#waiting.keys()].filter((key) => (this.#waiting.get(key)?.dueAt ?? Infinity) <= now);
    return this.#ready.waiting + due.length;
  }

  /** Asks for `key` to run at `dueAt`; a key that runs does so once more after `done`. Throws if that is no instant. */
  add(key: K, dueAt: number): void {
    if (Number.isNaN(dueAt)) throw new RangeError('a key must be due at an instant');
    const running = this.#running.get(key);
    if (running !== undefined) {
      running.againAt = Math.min(running.againAt ?? dueAt, dueAt);
      return;
    }
    // A ready key is placed anew: what made someone ask for it may have moved it.
    const before = this.#waiting.get(key) ?? this.#ready.remove(key) ?? { dueAt, order: this.#requests++ };
    this.#waiting.set(key, { dueAt: Math.min(before.dueAt, dueAt), order: before.order });
  }

  /** Asks for all that wait, or will after their run, to be due by `now`. */
  expedite(now: number): void {
    for (const key of this.#waiting.keys()) this.add(key, now);
    for (const [key, { againAt }] of this.#running) if (againAt !== undefined) this.add(key, now);
  }

  /** Takes the next key that is due and may run; it then runs until `done`. */
  take(now: number): Request<K> | undefined {
    if (this.#ready.isFull) return undefined;
    this.#advance(now);
    const taken = this.#ready.take();
    if (taken === undefined) return undefined;
    this.#running.set(taken.key, { flow: taken.flow, againAt: undefined });
    return { key: taken.key, dueAt: taken.turn.dueAt };
  }

  /** Ends the run of a key that was taken. */
  done(key: K): void {
    const running = this.#running.get(key);
    if (running === undefined) return;
    this.#running.delete(key);
    this.#ready.release(running.flow);
    if (running.againAt !== undefined) this.add(key, running.againAt);
  }

  /** When `take` could next yield something by the passing of time alone; undefined if that takes a request or a `done`. */
  nextDueAt(): number | undefined {
    return this.#ready.isFull ? undefined : this.#waiting.first?.priority.dueAt;
  }

  #advance(now: number): void {
    for (let first = this.#waiting.first; first !== undefined && first.priority.dueAt <= now; first = this.#waiting.first) {
      const { key, priority } = first;
      const { lane, tenant = '', deadlineAt } = this.#placeOf(key);
      this.#waiting.remove(key);
      // A deadline that could not be read must not put the others out of order.
      this.#ready.add(key, { lane, tenant }, { ...priority, deadlineAt: Number.isNaN(deadlineAt) ? Infinity : deadlineAt });
    }
  }
}

interface Requested {
  readonly dueAt: number;
  /** Counts requests, so that the first of those due at the same instant goes first. */
  readonly order: number;
}

interface Running<K> {
  readonly flow: Flow<K>;
  /** The earliest request made since it was taken. */
  againAt: number | undefined;
}
