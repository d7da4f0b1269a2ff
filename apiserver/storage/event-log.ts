// A bounded log of events by revision, from which watches resume.

interface Entry<T> {
  readonly revision: number;
  readonly event: T;
}

/** The latest events. `since` returns 'expired' if it would omit a dropped event. */
export class EventLog<T> {
  readonly #capacity: number;
  #entries: Entry<T>[] = [];
  #start: number;
  #revision: number;

  /** Creates an empty log of at most `capacity` events, for a history at the revision `start`. */
  constructor({ start, capacity }: { readonly start: number; readonly capacity: number }) {
    if (!Number.isInteger(capacity) || capacity < 1) throw new RangeError(`capacity must be a positive integer, not ${capacity}`);
    this.#capacity = capacity;
    this.#start = start;
    this.#revision = start;
  }

  /** Oldest revision for which `since` returns all events. */
  get start(): number {
    return this.#start;
  }

  /** Revision of the newest event, or `start` of an empty log. */
  get revision(): number {
    return this.#revision;
  }

  /** Appends an event, which must be newer than all others; drops the oldest event of a full log. */
  append(revision: number, event: T): void {
    if (!(revision > this.#revision)) throw new RangeError(`revision ${revision} does not follow ${this.#revision}`);
    this.#revision = revision;
    this.#entries.push({ revision, event });
    if (this.#entries.length > this.#capacity) this.#start = this.#entries.shift()?.revision ?? this.#start;
  }

  /** Drops the events up to `revision`, which must not be newer than the log. */
  dropUntil(revision: number): void {
    this.#entries = this.#entries.slice(this.#indexAfter(revision));
    this.#start = Math.max(this.#start, revision);
  }

  /** Removes the events after `revision`. */
  undo(revision: number): void {
    this.#entries = this.#entries.slice(0, this.#indexAfter(revision));
    this.#revision = revision;
  }

  /** Returns every event after `revision`, oldest first, or 'expired' if some of them were dropped. */
  since(revision: number): readonly T[] | 'expired' {
    return revision < this.#start ? 'expired' : this.#entries.slice(this.#indexAfter(revision)).map(({ event }) => event);
  }

  #indexAfter(revision: number): number {
    return this.#entries.findLastIndex((entry) => entry.revision <= revision) + 1;
  }
}
