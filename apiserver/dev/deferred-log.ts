// Log lines deferred until a local run has started or failed, so that they follow the welcome text, which announces the log.

export class DeferredLog {
  readonly #write: (line: string) => unknown;
  #deferred: string[] | undefined = [];

  constructor(write: (line: string) => unknown) {
    this.#write = write;
  }

  write(line: string): void {
    if (this.#deferred === undefined) this.#write(line);
    else this.#deferred.push(line);
  }

  /** Writes the deferred lines; later lines are written immediately. */
  release(): void {
    const deferred = this.#deferred ?? [];
    this.#deferred = undefined;
    for (const line of deferred) this.#write(line);
  }
}
