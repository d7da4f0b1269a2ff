// Log lines that wait for the welcome text, which says that the log follows.

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

  /** Writes the lines that wait; later lines are written at once. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const line of held) this.#write(line);
  }
}
