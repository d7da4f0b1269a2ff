// Work queue: selects the next key to run and its time. Has no timers and starts no work.

import { KeyHeap } from '../std/key-heap.ts';
import { type Flow, Lanes, type Limits, type QueuePosition } from './lanes.ts';

/** Request to reconcile a key at a given time. */
export interface Request<K> {
  readonly key: K;
  readonly dueAt: number;
}

/** Groups and deadline of a ready key. */
export interface Priority {
  /** Group of keys that share a dependency, such as a target cluster. */
  readonly lane: string;
  /** Group of keys that share an owner, such as a namespace; tenants are served in turn. One tenant for all keys by default. */
  readonly tenant?: string;
  /** Deadline of the key; Infinity for none. Among the ready keys of a tenant, the key with the earliest deadline goes first. */
  readonly deadlineAt: number;
}

export interface QueueOptions<K> extends Omit<Limits, 'tenantShare'> {
  /** Maximum share of one tenant, see `Limits`; Infinity by default. */
  readonly tenantShare?: number;
  /** Called each time a key becomes ready, so that its priority may change between runs. */
  readonly priorityOf: (key: K) => Priority;
}

/**
 * Decides which key may run next.
 *
 *   add ──▶ waiting ──due──▶ ready ──take──▶ running ──done──▶ (waiting again, if it was requested in the meantime)
 *
 * A key is in at most one of these states. The earliest of several requests for a key applies.
 */
export class WorkQueue<K> {
  readonly #priorityOf: (key: K) => Priority;
  readonly #waiting = new KeyHeap<K, Requested>(compareRequested);
  readonly #ready: Lanes<K>;
  readonly #running = new Map<K, Running<K>>();
  #requests = 0;
  /** Time of the last call of `order`. */
  #orderedAt = -Infinity;
  /** Position behind all keys that were due when a call of `order` first left due keys waiting; undefined if the last call left none. */
  #backlog: Requested | undefined;

  constructor({ priorityOf, concurrency, concurrencyPerLane, tenantShare = Infinity }: QueueOptions<K>) {
    this.#priorityOf = priorityOf;
    this.#ready = new Lanes({ concurrency, concurrencyPerLane, tenantShare });
  }

  /** Number of running keys. */
  get running(): number {
    return this.#running.size;
  }

  /** True if all slots are taken. */
  get isFull(): boolean {
    return this.#ready.isFull;
  }

  /** Number of lanes with a ready or running key. */
  get lanes(): number {
    return this.#ready.size;
  }

  /** Returns the lane whose slot a running key holds; undefined if the key is not running. */
  laneOf(key: K): string | undefined {
    return this.#running.get(key)?.flow.lane.name;
  }

  /** Returns the tenants with a running key and the number of slots that each holds. */
  slotsByTenant(): Iterable<readonly [tenant: string, slots: number]> {
    return this.#ready.slotsByTenant();
  }

  /** Returns the number of due keys that are not running. */
  depth(now: number): number {
    return this.#ready.waiting + this.#waiting.count(({ dueAt }) => dueAt <= now);
  }

  /** Requests `key` at `dueAt`; a running key runs once more after `done`. Throws if `dueAt` is NaN. */
  add(key: K, dueAt: number): void {
    if (Number.isNaN(dueAt)) throw new RangeError('dueAt must be a number, not NaN');
    const running = this.#running.get(key);
    if (running !== undefined) {
      running.againAt = Math.min(running.againAt ?? dueAt, dueAt);
      return;
    }
    const waiting = this.#waiting.get(key);
    this.#waiting.set(key, waiting ? { ...waiting, dueAt: Math.min(waiting.dueAt, dueAt) } : this.#createRequest(key, dueAt));
  }

  /**
   * Creates the request of a key that does not wait yet. The cause of the request may have changed the lane and deadline of a ready key, so
   * the key waits again. The key waits behind the keys that are already due: keys that are requested again and again must not keep other
   * keys from becoming ready.
   */
  #createRequest(key: K, dueAt: number): Requested {
    const order = this.#requests++;
    const ready = this.#ready.remove(key);
    return ready === undefined ? { dueAt, order } : { dueAt: Math.min(dueAt, this.#orderedAt), order, ready };
  }

  /** Makes all waiting keys, and all running keys that were requested again, due at `now` at the latest. */
  expedite(now: number): void {
    for (const key of this.#waiting.keys()) this.add(key, now);
    for (const [key, { againAt }] of this.#running) if (againAt !== undefined) this.add(key, now);
  }

  /** True if the last call of `order` left due keys waiting. */
  get isOrdering(): boolean {
    return this.#backlog !== undefined;
  }

  /**
   * Makes at most `max` due keys ready, in order of their due times. Returns true once all due keys are ready, or at least those that were
   * due when a call first left due keys waiting: requests that arrive faster than they are ordered must not prevent all starts.
   */
  order(now: number, max: number): boolean {
    const isComplete = this.#makeReady(now, max);
    // A backlog in the future is from before the clock was set back.
    const isKept = this.#backlog !== undefined && this.#backlog.dueAt <= now;
    if (isComplete) this.#backlog = undefined;
    else if (!isKept) this.#backlog = { dueAt: now, order: this.#requests };
    const first = this.#waiting.first?.priority;
    return this.#backlog === undefined || first === undefined || compareRequested(first, this.#backlog) >= 0;
  }

  /** Makes at most `max` due keys ready. Returns false if more were due. */
  #makeReady(now: number, max: number): boolean {
    let left = max;
    this.#orderedAt = now;
    for (let first = this.#waiting.first; first !== undefined && first.priority.dueAt <= now; first = this.#waiting.first) {
      if (left-- === 0) return false;
      const { key, priority } = first;
      const { lane, tenant = '', deadlineAt } = this.#priorityOf(key);
      const { ready = { ...priority, deadlineAt: Infinity } } = priority;
      this.#waiting.remove(key);
      this.#ready.add(
        key,
        { lane, tenant },
        {
          dueAt: Math.min(priority.dueAt, ready.dueAt),
          order: ready.order,
          // NaN would break the order of the heap.
          deadlineAt: Math.min(Number.isNaN(deadlineAt) ? Infinity : deadlineAt, ready.deadlineAt),
        },
      );
    }
    return true;
  }

  /**
   * Calls `order` with `maxOrdered`, then takes the next key that may run; returns undefined if there is none. The key runs until `done`.
   */
  take(now: number, maxOrdered = Infinity): Request<K> | undefined {
    if (this.isFull) return undefined;
    this.order(now, maxOrdered);
    const taken = this.#ready.take();
    if (taken === undefined) return undefined;
    this.#running.set(taken.key, { flow: taken.flow, againAt: undefined });
    return { key: taken.key, dueAt: taken.position.dueAt };
  }

  /** Ends the run of a key. */
  done(key: K): void {
    const running = this.#running.get(key);
    if (running === undefined) return;
    this.#running.delete(key);
    this.#ready.release(running.flow);
    if (running.againAt !== undefined) this.add(key, running.againAt);
  }

  /** Returns the next time at which `take` may return a key; undefined if that requires a request or a `done`. */
  nextDueAt(): number | undefined {
    return this.isFull ? undefined : this.#waiting.first?.priority.dueAt;
  }
}

function compareRequested(a: Requested, b: Requested): number {
  return a.dueAt - b.dueAt || a.order - b.order;
}

interface Requested {
  readonly dueAt: number;
  /** Sequence number of the request, which orders keys with the same due time. */
  readonly order: number;
  /**
   * Position of a key that was ready before the request; undefined for other keys. The key keeps this position if the new one would be
   * later: many deadlines depend on the time at which the key becomes ready.
   */
  readonly ready?: QueuePosition;
}

interface Running<K> {
  readonly flow: Flow<K>;
  /** Time of the earliest request since the run started; undefined if there is none. */
  againAt: number | undefined;
}
