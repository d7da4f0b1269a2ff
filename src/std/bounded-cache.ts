// A cache of recent results.

/** Caches values by key. Evicts the oldest entries while the total weight exceeds the limit. */
export class BoundedCache<V, K = string> {
  readonly #maxWeight: number;
  readonly #weightOf: (value: V) => number;
  readonly #entries = new Map<K, V>();
  #weight = 0;

  /** Creates an empty cache. `weightOf` returns the weight of a value; 1 by default. */
  constructor(maxWeight: number, weightOf: (value: V) => number = () => 1) {
    this.#maxWeight = maxWeight;
    this.#weightOf = weightOf;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  set(key: K, value: V): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#weight += this.#weightOf(value);
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#maxWeight) return;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    const value = this.#entries.get(key);
    if (this.#entries.delete(key)) this.#weight -= this.#weightOf(value as V);
  }

  /** Returns the keys, the oldest first. */
  keys(): IterableIterator<K> {
    return this.#entries.keys();
  }
}
