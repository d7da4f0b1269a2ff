// A bounded log of events by revision, from which watches resume.

/** Log of the latest events, up to a maximum number. */
export class EventLog<T extends { readonly revision: number }> {
  readonly #capacity: number;
  #events: T[] = [];
  #start: number;

  /** Creates an empty log for at most `capacity` events after the revision `start`. */
  constructor({ start, capacity }: { readonly start: number; readonly capacity: number }) {
    this.#capacity = capacity;
    this.#start = start;
  }

  /** Oldest revision for which `since` returns all events. */
  get start(): number {
    return this.#start;
  }

  /** Appends an event, which must be newer than all events of the log; drops the oldest event of a full log. */
  append(event: T): void {
    this.#events.push(event);
    if (this.#events.length > this.#capacity) this.#start = this.#events.shift()?.revision ?? this.#start;
  }

  /** Drops the events up to `revision`, which must not be newer than the log. */
  dropUntil(revision: number): void {
    this.#events = this.#events.slice(this.#indexAfter(revision));
    this.#start = Math.max(this.#start, revision);
  }

  /** Removes the events after `revision`. */
  undo(revision: number): void {
    this.#events = this.#events.slice(0, this.#indexAfter(revision));
  }

  /** Returns every event after `revision`, oldest first, or 'expired' if the log starts later. */
  since(revision: number): readonly T[] | 'expired' {
    return revision < this.#start ? 'expired' : this.#events.slice(this.#indexAfter(revision));
  }

  #indexAfter(revision: number): number {
    return this.#events.findLastIndex((event) => event.revision <= revision) + 1;
  }
}
