// Keys in order of their priority: a binary heap that knows where each key is, so that any of them can move or leave.

/** A key and what it is ordered by. */
export interface HeapEntry<K, P> {
  readonly key: K;
  readonly priority: P;
}

/** Holds each key once. Reading takes constant time, changing logarithmic. */
export class KeyHeap<K, P> {
  readonly #compare: (a: P, b: P) => number;
  /** None goes before its parent, the entry at (index − 1) / 2. */
  readonly #entries: HeapEntry<K, P>[] = [];
  /** Where each key is among the entries. */
  readonly #indexes = new Map<K, number>();

  /** `compare` is negative when `a` goes before `b`. */
  constructor(compare: (a: P, b: P) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** The entry that no other goes before. */
  get first(): HeapEntry<K, P> | undefined {
    return this.#entries[0];
  }

  /** All keys, in no order. A priority may change while they are gone through. */
  keys(): IterableIterator<K> {
    return this.#indexes.keys();
  }

  get(key: K): P | undefined {
    const index = this.#indexes.get(key);
    return index === undefined ? undefined : this.#entries[index]?.priority;
  }

  /** Gives `key` a priority, whether it is held already or not. */
  set(key: K, priority: P): void {
    this.#settle({ key, priority }, this.#indexes.get(key) ?? this.#entries.length);
  }

  /** Takes `key` out and returns its priority; undefined if it was not held. */
  remove(key: K): P | undefined {
    const priority = this.get(key);
    const index = this.#indexes.get(key);
    if (index === undefined) return undefined;
    this.#indexes.delete(key);
    const last = this.#entries.pop();
    if (last !== undefined && index < this.#entries.length) this.#settle(last, index);
    return priority;
  }

  /** Puts `entry` where it belongs: from `place`, which is free, up or down until its neighbours agree. */
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
