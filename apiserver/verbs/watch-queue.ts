// Hands events from a producer that does not wait to a reader that may be slow, within bounds.

/** Closed when the reader falls behind by more than `capacity`: it has to list again. */
export class WatchQueue<T> {
  readonly #capacity: number;
  #waiting: T[];
  #wake: (() => void) | undefined;
  #closed = false;

  /** `first` is handed out before everything else and may exceed the capacity. */
  constructor(capacity: number, first: readonly T[]) {
    this.#capacity = Math.max(capacity, first.length);
    this.#waiting = [...first];
  }

  push(item: T): void {
    if (this.#closed) return;
    this.#waiting.push(item);
    if (this.#waiting.length > this.#capacity) {
      this.#waiting = [];
      this.#closed = true;
    }
    this.#wake?.();
  }

  /** No more items will come; those that wait are still handed out. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** Everything that has come since the last call, at least one item; undefined at the end. */
  async take(): Promise<readonly T[] | undefined> {
    while (this.#waiting.length === 0) {
      if (this.#closed) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const items = this.#waiting;
    this.#waiting = [];
    return items;
  }
}
