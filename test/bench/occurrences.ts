// Counts a text in a file that grows; cheaper than parsing, which would take CPU time from the measured processes.

import { GrowingFile } from './file-tail.ts';

export class Occurrences {
  readonly #file: GrowingFile;
  readonly #text: Buffer;
  /** End of the last chunk, where the text may have started. */
  #rest = Buffer.alloc(0);

  constructor(path: string, text: string) {
    this.#file = new GrowingFile(path);
    this.#text = Buffer.from(text);
  }

  /** Returns the number of occurrences since the last call. */
  async next(): Promise<number> {
    let count = 0;
    await this.#file.read((part) => {
      count += this.#count(part);
    });
    return count;
  }

  #count(part: Buffer): number {
    const all = Buffer.concat([this.#rest, part]);
    let count = 0;
    let end = 0;
    for (let at = all.indexOf(this.#text); at >= 0; at = all.indexOf(this.#text, end)) {
      count += 1;
      end = at + this.#text.length;
    }
    this.#rest = all.subarray(Math.max(end, all.length - this.#text.length + 1));
    return count;
  }
}
