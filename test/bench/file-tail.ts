// A file that others write to, read as it grows.

import { open } from 'node:fs/promises';

const CHUNK_BYTES = 1 << 22;

/** Reads from where it was last read. */
export class GrowingFile {
  readonly #path: string;
  #position = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** What was written since the last call, in parts; each is told before the next one is read. */
  async read(tell: (part: Buffer) => void): Promise<void> {
    const file = await open(this.#path);
    try {
      for (;;) {
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, this.#position);
        if (bytesRead === 0) return;
        this.#position += bytesRead;
        tell(buffer.subarray(0, bytesRead));
      }
    } finally {
      await file.close();
    }
  }
}
