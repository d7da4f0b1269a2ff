// Fair shares of a limited resource.

/** A bounded queue that many tenants share: no tenant can fill it alone, and tenants are served in turn. */
export class FairQueue<T> {
  readonly #maxItems: number;
  /** Waiting items by tenant, in the order in which the tenants are served. */
  readonly #waiting = new Map<string, Set<T>>();
  #size = 0;

  constructor(maxItems: number) {
    this.#maxItems = maxItems;
  }

  /** Appends an item, unless it is already waiting. Returns false if the queue is full or the tenant has used its share. */
  add(tenant: string, item: T): boolean {
    const own = this.#waiting.get(tenant) ?? new Set();
    if (own.has(item)) return true;
    if (!mayTake(own.size, this.#maxItems - this.#size)) return false;
    this.#waiting.set(tenant, own.add(item));
    this.#size += 1;
    return true;
  }

  /** Removes and returns the next item; returns undefined if the queue is empty. */
  take(): T | undefined {
    for (const [tenant, own] of this.#waiting) {
      this.#waiting.delete(tenant);
      for (const item of own) {
        own.delete(item);
        this.#size -= 1;
        if (own.size > 0) this.#waiting.set(tenant, own);
        return item;
      }
    }
    return undefined;
  }
}

/**
 * Returns whether a tenant that holds `held` units may take one of the `free` units. A tenant without units may take any free unit; a
 * tenant with units must hold fewer than `share` times the free units. One tenant alone can thus hold at most half of all units with a
 * share of 1, and 8/9 with a share of 8, both rounded up.
 */
export function mayTake(held: number, free: number, share = 1): boolean {
  return free > 0 && (held === 0 || held < share * free);
}
