// Deduplication of concurrent work.

/** Runs work once for concurrent callers with the same key. Keeps no result after the work has settled. */
export class SingleFlight<T> {
  readonly #inProgress = new Map<string, Promise<T>>();

  /** Number of keys in progress. */
  get size(): number {
    return this.#inProgress.size;
  }

  /** Joins the work in progress for this key, or starts `work`. */
  do(key: string, work: () => Promise<T>): Promise<T> {
    const existing = this.#inProgress.get(key);
    if (existing !== undefined) return existing;
    const started = work();
    this.#inProgress.set(key, started);
    const remove = () => {
      if (this.#inProgress.get(key) === started) this.#inProgress.delete(key);
    };
    started.then(remove, remove);
    return started;
  }

  /** Prevents later callers from joining the work that is in progress now. */
  clear(): void {
    this.#inProgress.clear();
  }
}

/** Keeps the first successful result. After a failure, the next caller tries again. */
export class Once<T> {
  readonly #finding = new SingleFlight<T>();
  #known: T | undefined;

  /** The result; undefined before the first success. */
  get known(): T | undefined {
    return this.#known;
  }

  async get(find: () => Promise<T>): Promise<T> {
    this.#known ??= await this.#finding.do('', find);
    return this.#known;
  }
}
