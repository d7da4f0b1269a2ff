// A bounded history of events, each at a revision: what watchers resume from.

interface Entry<T> {
  readonly revision: number;
  readonly event: T;
}

/** Keeps the latest events. What has been dropped is known to be missing, never silently skipped. */
export class EventLog<T> {
  readonly #capacity: number;
  /** A ring once it is full; the oldest entry is at `#first`. */
  readonly #entries: Entry<T>[] = [];
  #first = 0;
  #start: number;
  #revision: number;

  /** A log of at most `capacity` events, for a history that has reached the revision `start`. */
  constructor({ start, capacity }: { readonly start: number; readonly capacity: number }) {
    if (!Number.isInteger(capacity) || capacity < 1) throw new RangeError(`capacity must be a positive integer, not ${capacity}`);
    this.#capacity = capacity;
    this.#start = start;
    this.#revision = start;
  }

  /** The oldest revision that `since` can answer for. */
  get start(): number {
    return this.#start;
  }

  /** The revision of the newest event. */
  get revision(): number {
    return this.#revision;
  }

  /** Adds an event, which must be newer than all before it; drops the oldest when the log is full. */
  append(revision: number, event: T): void {
    if (!(revision > this.#revision)) throw new RangeError(`revision ${revision} does not follow ${this.#revision}`);
    this.#revision = revision;
    const entry = { revision, event };
    if (this.#entries.length < this.#capacity) {
      this.#entries.push(entry);
      return;
    }
    this.#start = this.#at(0).revision;
    this.#entries[this.#first] = entry;
    this.#first = (this.#first + 1) % this.#capacity;
  }

  /** Drops the events up to `revision`, which must be one that the log has reached. */
  forget(revision: number): void {
    const kept = this.#entries.map((_, index) => this.#at(index)).slice(this.#indexAfter(revision));
    this.#entries.length = 0;
    this.#entries.push(...kept);
    this.#first = 0;
    this.#start = Math.max(this.#start, revision);
  }

  /** Takes back the events after `revision`, as if they had not happened. */
  undo(revision: number): void {
    const kept = this.#entries.map((_, index) => this.#at(index)).slice(0, this.#indexAfter(revision));
    this.#entries.length = 0;
    this.#entries.push(...kept);
    this.#first = 0;
    this.#revision = revision;
  }

  /** Every event after `revision`, oldest first, or 'expired' when some of them have been dropped. */
  since(revision: number): readonly T[] | 'expired' {
    if (revision < this.#start) return 'expired';
    const from = this.#indexAfter(revision);
    return Array.from({ length: this.#entries.length - from }, (_, index) => this.#at(from + index).event);
  }

  #indexAfter(revision: number): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#at(middle).revision > revision) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #at(index: number): Entry<T> {
    return this.#entries[(this.#first + index) % this.#capacity]!;
  }
}
