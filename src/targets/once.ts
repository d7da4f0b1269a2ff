// Something that is found out once and then known.

import { SingleFlight } from '../std/single-flight.ts';

/** Keeps what was found out. A failure is not kept: the next who asks tries again. */
export class Once<T> {
  readonly #finding = new SingleFlight<T>();
  #known: T | undefined;

  /** What was found out; undefined as long as that has not happened. */
  get known(): T | undefined {
    return this.#known;
  }

  async get(find: () => Promise<T>): Promise<T> {
    this.#known ??= await this.#finding.do('', find);
    return this.#known;
  }
}
