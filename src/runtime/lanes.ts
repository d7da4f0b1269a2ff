// The ready keys, and the choice of the next one to run. Keys are grouped twice: by lane, such as a target cluster, and by tenant, such
// as a namespace. A flow holds the ready keys of one tenant in one lane.
//
//   tenants ──fewest running first──▶ tenant ──most urgent first──▶ flow ──most urgent first──▶ key
//
// Keys that hang in one lane hold at most `concurrencyPerLane` slots, and leave the rest to other lanes. Tenants control the urgency of
// their keys, so urgency orders only the keys of one tenant: the tenant with the fewest running keys goes first, and equals take turns.

import { mayTake } from '../std/fair-queue.ts';
import { KeyHeap } from '../std/key-heap.ts';

export interface Limits {
  /** Maximum number of running keys. */
  readonly concurrency: number;
  /** Maximum number of running keys in one lane; less than `concurrency`, or one lane can block the others. */
  readonly concurrencyPerLane: number;
  /**
   * Maximum ratio between the slots that one tenant holds and the slots that are free, in a lane and in total. With 8, a single tenant
   * holds at most 8/9 of the slots, rounded up, so that its hanging keys do not keep a new tenant waiting. Infinity for no limit.
   */
  readonly tenantShare: number;
}

/** Group of a key: its lane and its tenant. */
export interface KeyGroup {
  readonly lane: string;
  readonly tenant: string;
}

/** Position of a key within its flow: by deadline, then by due time, then in the order of requests. */
export interface QueuePosition {
  readonly deadlineAt: number;
  readonly dueAt: number;
  readonly order: number;
}

interface Lane<K> {
  readonly name: string;
  readonly flows: Map<string, Flow<K>>;
  /** Flows with ready keys that have to wait for a slot of this lane. */
  readonly parked: KeyHeap<Flow<K>, Rank>;
  running: number;
  /**
   * `served` of the flow that was served last: the minimum for a flow that becomes busy, so that the flow gains nothing from its idle time.
   */
  virtualTime: number;
}

interface Tenant<K> {
  readonly name: string;
  /** Flows with ready keys whose lanes had a slot for them when last checked. */
  readonly open: KeyHeap<Flow<K>, QueuePosition>;
  /** Number of flows, excluding idle ones. */
  flows: number;
  running: number;
  served: number;
}

/** The ready keys of one tenant in one lane. */
export interface Flow<K> {
  readonly lane: Lane<K>;
  readonly tenant: Tenant<K>;
  readonly ready: KeyHeap<K, QueuePosition>;
  running: number;
  served: number;
}

/** A key with a slot, and the flow that holds the slot. */
export interface TakenKey<K> {
  readonly key: K;
  readonly flow: Flow<K>;
  readonly position: QueuePosition;
}

/** Order between tenants, and between the parked flows of a lane: fewest running keys, then round robin, then urgency. */
interface Rank {
  readonly running: number;
  readonly served: number;
  readonly position: QueuePosition;
}

/** Holds ready keys and counts running ones. Changes take logarithmic time, amortized. Forgets idle lanes and tenants. */
export class Lanes<K> {
  readonly #limits: Limits;
  readonly #lanes = new Map<string, Lane<K>>();
  readonly #tenants = new Map<string, Tenant<K>>();
  /** Flow of each ready key. */
  readonly #flowOf = new Map<K, Flow<K>>();
  /** Tenants with an open flow. */
  readonly #open = new KeyHeap<Tenant<K>, Rank>(compareRanks);
  #running = 0;
  /** `served` of the tenant that was served last: the minimum for a tenant that becomes busy. */
  #virtualTime = 0;

  /** Throws a RangeError if a limit is below 1, because no key would ever run. */
  constructor(limits: Limits) {
    for (const [name, limit] of Object.entries(limits)) {
      if (!(limit >= 1)) throw new RangeError(`${name} must be at least 1, not ${limit}`);
    }
    this.#limits = limits;
  }

  /** True if all slots are taken. */
  get isFull(): boolean {
    return this.#running >= this.#limits.concurrency;
  }

  /** Number of ready keys. */
  get waiting(): number {
    return this.#flowOf.size;
  }

  /** Number of lanes with a ready or running key. */
  get size(): number {
    return this.#lanes.size;
  }

  /** Yields the tenants with a running key and the number of slots that each holds. */
  *slotsByTenant(): Generator<readonly [tenant: string, slots: number]> {
    for (const { name, running } of this.#tenants.values()) if (running > 0) yield [name, running];
  }

  /** Makes a key ready. The key must not be ready yet. */
  add(key: K, group: KeyGroup, position: QueuePosition): void {
    const flow = this.#findOrCreateFlow(group);
    if (flow.ready.size === 0) flow.served = Math.max(flow.served, flow.lane.virtualTime);
    if (flow.tenant.open.size === 0) flow.tenant.served = Math.max(flow.tenant.served, this.#virtualTime);
    this.#flowOf.set(key, flow);
    flow.ready.set(key, position);
    this.#settle(flow);
  }

  /** Removes a ready key and returns its position; undefined if the key was not ready. */
  remove(key: K): QueuePosition | undefined {
    const flow = this.#flowOf.get(key);
    if (flow === undefined) return undefined;
    this.#flowOf.delete(key);
    const position = flow.ready.remove(key);
    this.#settle(flow);
    // The free slot of the lane may have been reserved for this flow.
    this.#unpark(flow.lane);
    return position;
  }

  /** Takes and returns the next key; returns undefined while no ready key may run. The key holds a slot until `release`. */
  take(): TakenKey<K> | undefined {
    for (let tenant = this.#open.first?.key; tenant !== undefined; tenant = this.#open.first?.key) {
      // The first tenant has the fewest running keys: if it is over its share, all are.
      if (this.isFull || this.#isOverShare(tenant)) return undefined;
      const flow = tenant.open.first?.key;
      const first = flow?.ready.first;
      if (flow === undefined || first === undefined) return undefined;
      if (this.#hasSlot(flow)) return this.#start(flow, first.key, first.priority);
      this.#park(flow);
    }
    return undefined;
  }

  /** Frees the slot of a key that ran in this flow. */
  release(flow: Flow<K>): void {
    this.#count(flow, -1);
    this.#settle(flow);
    this.#unpark(flow.lane);
  }

  #start(flow: Flow<K>, key: K, position: QueuePosition): TakenKey<K> {
    const { lane, tenant } = flow;
    this.#virtualTime = tenant.served;
    tenant.served += 1;
    lane.virtualTime = flow.served;
    flow.served += 1;
    this.#count(flow, 1);
    this.#flowOf.delete(key);
    flow.ready.remove(key);
    this.#settle(flow);
    return { key, flow, position };
  }

  #count(flow: Flow<K>, by: 1 | -1): void {
    this.#running += by;
    flow.running += by;
    flow.lane.running += by;
    flow.tenant.running += by;
  }

  #isOverShare({ running }: Tenant<K>): boolean {
    const { concurrency, tenantShare } = this.#limits;
    return running > 0 && running >= tenantShare * (concurrency - this.#running);
  }

  #hasSlot({ lane, running }: Flow<K>): boolean {
    const { concurrencyPerLane, tenantShare } = this.#limits;
    const free = concurrencyPerLane - lane.running;
    return mayTake(running, free, tenantShare);
  }

  /** Updates the heaps. Must be called after every change to a flow. */
  #settle(flow: Flow<K>): void {
    const { lane, tenant } = flow;
    const first = flow.ready.first?.priority;
    const isParked = lane.parked.get(flow) !== undefined;
    if (first === undefined) {
      lane.parked.remove(flow);
      tenant.open.remove(flow);
    } else if (isParked) lane.parked.set(flow, toRank(flow, first));
    else if (this.#hasSlot(flow)) tenant.open.set(flow, first);
    else {
      tenant.open.remove(flow);
      lane.parked.set(flow, toRank(flow, first));
    }
    this.#settleTenant(tenant);
    if (first === undefined && flow.running === 0) this.#forget(flow);
  }

  #settleTenant(tenant: Tenant<K>): void {
    const first = tenant.open.first?.priority;
    if (first === undefined) this.#open.remove(tenant);
    else this.#open.set(tenant, toRank(tenant, first));
  }

  #park(flow: Flow<K>): void {
    const { lane, tenant } = flow;
    const position = tenant.open.remove(flow);
    if (position !== undefined) lane.parked.set(flow, toRank(flow, position));
    this.#settleTenant(tenant);
  }

  /**
   * Opens the next parked flow if the lane has a slot for it. A flow whose tenant is over its share cannot use the slot yet; in that case,
   * opens the flow after it too.
   */
  #unpark(lane: Lane<K>): void {
    for (let first = lane.parked.first; first !== undefined && this.#hasSlot(first.key); first = lane.parked.first) {
      const { key: flow, priority } = first;
      lane.parked.remove(flow);
      flow.tenant.open.set(flow, priority.position);
      this.#settleTenant(flow.tenant);
      if (!this.#isOverShare(flow.tenant)) return;
    }
  }

  #findOrCreateFlow({ lane: laneName, tenant: tenantName }: KeyGroup): Flow<K> {
    const lane: Lane<K> = this.#lanes.get(laneName) ?? {
      name: laneName,
      flows: new Map(),
      parked: new KeyHeap(compareRanks),
      running: 0,
      virtualTime: 0,
    };
    const known = lane.flows.get(tenantName);
    if (known !== undefined) return known;
    const tenant: Tenant<K> = this.#tenants.get(tenantName) ?? {
      name: tenantName,
      open: new KeyHeap(comparePositions),
      flows: 0,
      running: 0,
      served: this.#virtualTime,
    };
    const flow: Flow<K> = { lane, tenant, ready: new KeyHeap(comparePositions), running: 0, served: lane.virtualTime };
    this.#lanes.set(laneName, lane);
    this.#tenants.set(tenantName, tenant);
    lane.flows.set(tenantName, flow);
    tenant.flows += 1;
    return flow;
  }

  #forget({ lane, tenant }: Flow<K>): void {
    lane.flows.delete(tenant.name);
    tenant.flows -= 1;
    if (lane.flows.size === 0) this.#lanes.delete(lane.name);
    if (tenant.flows === 0) this.#tenants.delete(tenant.name);
  }
}

function toRank({ running, served }: { readonly running: number; readonly served: number }, position: QueuePosition): Rank {
  return { running, served, position };
}

function compareRanks(a: Rank, b: Rank): number {
  return a.running - b.running || a.served - b.served || comparePositions(a.position, b.position);
}

function comparePositions(a: QueuePosition, b: QueuePosition): number {
  // Deadlines may be infinite, so they are not subtracted.
  if (a.deadlineAt !== b.deadlineAt) return a.deadlineAt < b.deadlineAt ? -1 : 1;
  return a.dueAt - b.dueAt || a.order - b.order;
}
