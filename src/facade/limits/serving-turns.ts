// Starts requests in turns of the event loop, a few in each: a connection can deliver a hundred requests at once, and new
// connections of others would wait until all of them are served.

/** Maximum number of requests that start in one turn of the event loop. A request takes a fraction of a millisecond. */
const MAX_PER_TURN = 16;

export class ServingTurns {
  /** Waiting requests by source address; addresses take turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #started = 0;
  #isScheduled = false;

  /** Starts a request at once, or in one of the next turns if too many have started in this one. */
  start(address: string, request: () => void): void {
    this.#schedule();
    if (this.#waiting.size === 0 && this.#started < MAX_PER_TURN) return this.#run(request);
    const waiting = this.#waiting.get(address);
    if (waiting === undefined) this.#waiting.set(address, [request]);
    else waiting.push(request);
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
      if (this.#waiting.size > 0) this.#schedule();
      while (this.#waiting.size > 0 && this.#started < MAX_PER_TURN) this.#runNext();
    });
  }

  #runNext(): void {
    for (const [address, requests] of this.#waiting) {
      const request = requests.shift();
      // The address goes to the end of the queue.
      this.#waiting.delete(address);
      if (requests.length > 0) this.#waiting.set(address, requests);
      if (request !== undefined) this.#run(request);
      return;
    }
  }
}
