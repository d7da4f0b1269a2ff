// Log lines held back until the welcome text, which announces the log, is printed.

export class HeldLines {
  readonly #write: (line: string) => unknown;
  #held: string[] | undefined = [];

  constructor(write: (line: string) => unknown) {
    this.#write = write;
  }

  write(line: string): void {
    if (this.#held === undefined) this.#write(line);
    else this.#held.push(line);
  }

  /** Writes the held lines; later lines are written immediately. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const line of held) this.#write(line);
  }
}
