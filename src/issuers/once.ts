// Something that is found out once and then known.

/** Keeps what was found out. A failure is not kept: the next who asks tries again. */
export class Once<T> {
  #finding: Promise<T> | undefined;
  #known: T | undefined;

  /** What was found out; undefined as long as that has not happened. */
  get known(): T | undefined {
    return this.#known;
  }

  get(find: () => Promise<T>): Promise<T> {
    this.#finding ??= this.#find(find);
    return this.#finding;
  }

  async #find(find: () => Promise<T>): Promise<T> {
    try {
      this.#known = await find();
      return this.#known;
    } catch (error) {
      this.#finding = undefined;
      throw error;
    }
  }
}
