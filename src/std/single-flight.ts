// Work that several wait for, done once.

/** Lets all who ask for the same at the same time wait for one answer. Nothing is kept beyond that, a failure least of all. */
export class SingleFlight<T> {
  readonly #underWay = new Map<string, Promise<T>>();

  /** How much is under way. */
  get size(): number {
    return this.#underWay.size;
  }

  /** Joins what is under way for this key, or else starts `work`. */
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

  /** Lets nobody join what is under way now. */
  clear(): void {
    this.#underWay.clear();
  }
}
