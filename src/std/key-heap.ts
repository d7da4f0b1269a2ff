// Indexed binary heap: orders keys by priority, can change the priority of any key, and can remove any key.

export interface HeapEntry<K, P> {
  readonly key: K;
  readonly priority: P;
}

/** Holds each key once. Reads take constant time, changes logarithmic time. */
export class KeyHeap<K, P> {
  readonly #compare: (a: P, b: P) => number;
  /** Entries in heap order: no entry precedes its parent, which is at floor((index − 1) / 2). */
  readonly #entries: HeapEntry<K, P>[] = [];
  /** Index of each key in the entries. */
  readonly #indexes = new Map<K, number>();

  /** Creates an empty heap. `compare` returns a negative number if `a` precedes `b`. */
  constructor(compare: (a: P, b: P) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** First entry by priority; undefined if empty. */
  get first(): HeapEntry<K, P> | undefined {
    return this.#entries[0];
  }

  /** Returns all keys, unordered. The caller may change priorities during the iteration. */
  keys(): IterableIterator<K> {
    return this.#indexes.keys();
  }

  get(key: K): P | undefined {
    const index = this.#indexes.get(key);
    return index === undefined ? undefined : this.#entries[index]?.priority;
  }

  /** Counts the keys with matching priorities, without visiting all others. All priorities that precede a matching one must match too. */
  count(matches: (priority: P) => boolean): number {
    const countBelow = (index: number): number =>
      index < this.size && matches(this.#at(index).priority) ? 1 + countBelow(2 * index + 1) + countBelow(2 * index + 2) : 0;
    return countBelow(0);
  }

  /** Adds `key` or changes its priority. */
  set(key: K, priority: P): void {
    this.#settle({ key, priority }, this.#indexes.get(key) ?? this.#entries.length);
  }

  /** Removes `key` and returns its priority; undefined if it was absent. */
  remove(key: K): P | undefined {
    const priority = this.get(key);
    const index = this.#indexes.get(key);
    if (index === undefined) return undefined;
    this.#indexes.delete(key);
    const last = this.#entries.pop();
    if (last !== undefined && index < this.#entries.length) this.#settle(last, index);
    return priority;
  }

  /** Moves `entry` from the free index `place` up or down until the heap order holds. */
  #settle(entry: HeapEntry<K, P>, place: number): void {
    let free = place;
    for (let parent = (free - 1) >> 1; free > 0 && this.#isBefore(entry, this.#at(parent)); parent = (free - 1) >> 1) {
      this.#move(parent, free);
      free = parent;
    }
    for (
      let child = this.#firstChild(free);
      child !== undefined && this.#isBefore(this.#at(child), entry);
      child = this.#firstChild(free)
    ) {
      this.#move(child, free);
      free = child;
    }
    this.#entries[free] = entry;
    this.#indexes.set(entry.key, free);
  }

  #isBefore(a: HeapEntry<K, P>, b: HeapEntry<K, P>): boolean {
    return this.#compare(a.priority, b.priority) < 0;
  }

  #firstChild(index: number): number | undefined {
    const left = 2 * index + 1;
    const right = left + 1;
    if (right < this.#entries.length) return this.#isBefore(this.#at(right), this.#at(left)) ? right : left;
    return left < this.#entries.length ? left : undefined;
  }

  #move(from: number, to: number): void {
    const entry = this.#at(from);
    this.#entries[to] = entry;
    this.#indexes.set(entry.key, to);
  }

  #at(index: number): HeapEntry<K, P> {
    return this.#entries[index]!;
  }
}
