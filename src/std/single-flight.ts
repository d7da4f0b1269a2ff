// Work that several callers share.

/** Runs work once for all callers that need it at the same time. Results are not kept afterwards. */
export class SingleFlight<T> {
  readonly #underWay = new Map<string, Promise<T>>();

  /** Number of keys whose work is in progress. */
  get size(): number {
    return this.#underWay.size;
  }

  /** Returns the result of the work in progress for this key, or starts `work`. */
  do(key: string, work: () => Promise<T>): Promise<T> {
    const joined = this.#underWay.get(key);
    if (joined !== undefined) return joined;
    const started = work();
    this.#underWay.set(key, started);
    const land = () => {
      if (this.#underWay.get(key) === started) this.#underWay.delete(key);
    };
    started.then(land, land);
    return started;
  }

  /** Makes later callers start new work instead of joining the work in progress. */
  clear(): void {
    this.#underWay.clear();
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
