// Follows a file that grows.

import { open } from 'node:fs/promises';

const CHUNK_BYTES = 1 << 22;

/** Reads the bytes since the last read. */
export class GrowingFile {
  readonly #path: string;
  #position = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Passes the bytes since the last call to `tell` in chunks. */
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
