// A queue that shares seats fairly, as API Priority and Fairness of kube-apiserver does. A request occupies a seat, or waits for one.
// Free seats go to the waiting tenants in rotation, so that a tenant with many requests does not delay a tenant with few.

import { tooManyRequests } from '../../kubernetes/status.ts';

export interface SeatLimits {
  /** Maximum number of seats for one tenant. */
  readonly perTenant: number;
  /** Maximum number of seats. */
  readonly total: number;
  /** Maximum number of waiting requests of one tenant; additional ones are rejected with 429. */
  readonly waitingPerTenant: number;
  /** Maximum number of waiting requests across all tenants. */
  readonly waiting: number;
}

/** Requests of one tenant. */
interface TenantQueue {
  /** Number of occupied seats. */
  active: number;
  /** Functions that start the waiting requests, in order of arrival. */
  readonly waiting: Set<() => void>;
}

const RETRY_AFTER_SECONDS = 1;

export class SeatQueue {
  readonly #limits: SeatLimits;
  readonly #tenants = new Map<string, TenantQueue>();
  /** Tenants with waiting requests, in rotation; the tenant with the next turn is first. */
  readonly #rotation = new Set<string>();
  #active = 0;
  #waiting = 0;

  constructor(limits: SeatLimits) {
    this.#limits = limits;
  }

  /** Number of tenants with active or waiting requests. */
  get size(): number {
    return this.#tenants.size;
  }

  /** Waits for a seat; returns the function that releases it. Throws 429 if too many requests wait, or the reason of the aborted signal. */
  async acquire(tenant: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const queue = this.#tenants.get(tenant) ?? { active: 0, waiting: new Set() };
    if (this.#hasSeat(queue)) this.#start(tenant, queue);
    else await this.#wait(tenant, queue, signal);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#release(tenant, queue);
    };
  }

  #hasSeat({ active, waiting }: TenantQueue): boolean {
    const { perTenant, total } = this.#limits;
    return active < perTenant && this.#active < total && waiting.size === 0;
  }

  #start(tenant: string, queue: TenantQueue): void {
    this.#tenants.set(tenant, queue);
    queue.active += 1;
    this.#active += 1;
  }

  #wait(tenant: string, queue: TenantQueue, signal: AbortSignal): Promise<void> {
    const { waitingPerTenant, waiting } = this.#limits;
    if (queue.waiting.size >= waitingPerTenant || this.#waiting >= waiting)
      throw tooManyRequests('Too many requests, please try again later.', RETRY_AFTER_SECONDS);
    return new Promise((resolve, reject) => {
      const leave = () => {
        queue.waiting.delete(start);
        this.#waiting -= 1;
        if (queue.waiting.size === 0) this.#rotation.delete(tenant);
        this.#forget(tenant, queue);
        reject(signal.reason as Error);
      };
      const start = () => {
        signal.removeEventListener('abort', leave);
        this.#waiting -= 1;
        this.#start(tenant, queue);
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      queue.waiting.add(start);
      this.#tenants.set(tenant, queue);
      this.#waiting += 1;
      this.#rotation.add(tenant);
    });
  }

  #release(tenant: string, queue: TenantQueue): void {
    queue.active -= 1;
    this.#active -= 1;
    this.#forget(tenant, queue);
    while (this.#active < this.#limits.total && this.#startNext());
  }

  /** Starts the next waiting request; returns false if no waiting tenant may have another seat. */
  #startNext(): boolean {
    for (const tenant of this.#rotation) {
      const queue = this.#tenants.get(tenant);
      const [start] = queue?.waiting ?? [];
      if (queue === undefined || start === undefined) this.#rotation.delete(tenant);
      else if (queue.active < this.#limits.perTenant) {
        queue.waiting.delete(start);
        this.#rotation.delete(tenant);
        if (queue.waiting.size > 0) this.#rotation.add(tenant);
        start();
        return true;
      }
    }
    return false;
  }

  #forget(tenant: string, { active, waiting }: TenantQueue): void {
    if (active === 0 && waiting.size === 0) this.#tenants.delete(tenant);
  }
}
