// Something that is found out once and then known.

/** Keeps what was found out. A failure is not kept: the next who asks tries again. */
export class Once<T> {
  #found: Promise<T> | undefined;

  get(find: () => Promise<T>): Promise<T> {
    this.#found ??= find().catch((error: unknown) => {
      this.#found = undefined;
      throw error;
    });
    return this.#found;
  }
}
