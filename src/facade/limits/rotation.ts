// Waiting work of several source addresses, which take turns: an address with much work does not delay an address with little.

export class Rotation {
  /** Work in order of arrival; the address that has waited longest since its last turn is first. */
  readonly #waiting = new Map<string, (() => void)[]>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(address: string, work: () => void): void {
    const waiting = this.#waiting.get(address);
    if (waiting === undefined) this.#waiting.set(address, [work]);
    else waiting.push(work);
  }

  /** Removes and returns the oldest work of the address whose turn it is; undefined if there is none. */
  next(): (() => void) | undefined {
    for (const [address, waiting] of this.#waiting) {
      const work = waiting.shift();
      // The address goes to the end of the rotation.
      this.#waiting.delete(address);
      if (waiting.length > 0) this.#waiting.set(address, waiting);
      return work;
    }
    return undefined;
  }
}
