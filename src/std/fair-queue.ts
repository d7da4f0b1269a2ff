// Fair shares of a limited resource, and a bounded queue that many tenants share: no tenant can fill it alone, and tenants are served in turn.

export class FairQueue<T> {
  readonly #maxItems: number;
  /** Waiting items by tenant, the tenant whose turn is next first. */
  readonly #waiting = new Map<string, Set<T>>();
  #size = 0;

  constructor(maxItems: number) {
    this.#maxItems = maxItems;
  }

  /** Appends an item, unless it waits already. Returns false if the tenant has no room for it. */
  add(tenant: string, item: T): boolean {
    const own = this.#waiting.get(tenant) ?? new Set();
    if (own.has(item)) return true;
    if (!mayTake(own.size, this.#maxItems - this.#size)) return false;
    this.#waiting.set(tenant, own.add(item));
    this.#size += 1;
    return true;
  }

  /** Removes the next item and returns it; undefined if none waits. */
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
 * Returns whether a tenant that holds `held` units may take one of the `free` units. A tenant may hold at most `share` times as many
 * units as are free, so that a new tenant always finds a free unit: a single tenant holds at most half of all units with a share of 1,
 * and 8/9 with a share of 8.
 */
export function mayTake(held: number, free: number, share = 1): boolean {
  return free > 0 && (held === 0 || held < share * free);
}
