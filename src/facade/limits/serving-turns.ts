// Starts requests in turns of the event loop, a few in each: a connection can deliver a hundred requests at once, and new
// connections of others would wait until all of them are served.

import { Rotation } from './rotation.ts';

/** Maximum number of requests that start in one turn of the event loop. A request takes a fraction of a millisecond. */
const MAX_PER_TURN = 16;

export class ServingTurns {
  readonly #waiting = new Rotation();
  #started = 0;
  #isScheduled = false;

  /** Starts a request at once, or in one of the next turns if too many have started in this one. */
  start(address: string, request: () => void): void {
    this.#schedule();
    if (this.#waiting.isEmpty && this.#started < MAX_PER_TURN) this.#run(request);
    else this.#waiting.add(address, request);
  }

  #run(request: () => void): void {
    this.#started += 1;
    request();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#started = 0;
      if (!this.#waiting.isEmpty) this.#schedule();
      for (let next: (() => void) | undefined; this.#started < MAX_PER_TURN && (next = this.#waiting.next()); ) this.#run(next);
    });
  }
}
