// Follows a file that grows.

import { open } from 'node:fs/promises';

const CHUNK_BYTES = 1 << 22;

/** Reads the bytes since the last read. */
export class FileTail {
  readonly #path: string;
  #position = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Passes the bytes since the last call to `onChunk` in chunks. */
  async read(onChunk: (part: Buffer) => void): Promise<void> {
    const file = await open(this.#path);
    try {
      for (;;) {
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, this.#position);
        if (bytesRead === 0) return;
        this.#position += bytesRead;
        onChunk(buffer.subarray(0, bytesRead));
      }
    } finally {
      await file.close();
    }
  }
}

/** Counts a string in a file that grows; cheaper than parsing, which would take CPU time from the measured processes. */
export class TextCounter {
  readonly #file: FileTail;
  readonly #text: Buffer;
  /** End of the last chunk, where the text may have started. */
  #rest = Buffer.alloc(0);

  constructor(path: string, text: string) {
    this.#file = new FileTail(path);
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
