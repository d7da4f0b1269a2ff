// Writes the lines of a watch. Lines for many watchers are framed as one HTTP chunk, whose bytes are written to each socket.

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../std/clock.ts';

/** Lines of a watch as one chunk of a chunked body. */
export class Chunk {
  readonly framed: Buffer;
  readonly #headLength: number;

  constructor(lines: readonly Buffer[]) {
    const length = lengthOf(lines);
    const head = headOf(length);
    this.#headLength = head.length;
    this.framed = Buffer.concat([head, ...lines, END], head.length + length + END.length);
  }

  /** The lines without the frame of the chunk. */
  get body(): Buffer {
    return this.framed.subarray(this.#headLength, -END.length);
  }
}

function lengthOf(lines: readonly Buffer[]): number {
  return lines.reduce((sum, line) => sum + line.length, 0);
}

/** Returns the size line of a chunk. */
function headOf(length: number): Buffer {
  return Buffer.from(`${length.toString(16)}\r\n`);
}

const END = Buffer.from('\r\n');
/** Time for the client to read the last bytes, in milliseconds. */
const LINGER_MS = 10_000;

export class StreamWriter {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  /** Socket for framed chunks; undefined while an earlier response occupies the connection, and for HTTP/1.0. */
  readonly #socket: Socket | undefined;
  readonly #onFlushed: () => void;
  /** True until the kernel has accepted the last chunk. Node would join a second chunk with it, and keep the buffer. */
  #isBlocked = false;
  #isOver = false;
  #written = 0;

  /** Calls `onDrain` when the kernel has accepted a chunk that it did not accept immediately. */
  constructor(response: ServerResponse, clock: Clock, onDrain: () => void) {
    this.#response = response;
    this.#clock = clock;
    response.flushHeaders();
    this.#socket = response.chunkedEncoding ? (response.socket ?? undefined) : undefined;
    this.#onFlushed = () => {
      if (!this.#isBlocked || this.#isOver || this.#pendingBytes > 0) return;
      this.#isBlocked = false;
      onDrain();
    };
  }

  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  write(chunk: Chunk): void {
    this.#written += chunk.framed.length;
    if (this.#socket === undefined) this.#response.write(chunk.body, this.#onFlushed);
    else this.#socket.write(chunk.framed, this.#onFlushed);
    this.#isBlocked = this.#pendingBytes > 0;
  }

  /** Writes lines for this watch only. They consist of shared bytes, so they are not copied into another buffer. */
  writeLines(lines: readonly Buffer[]): void {
    const socket = this.#socket;
    if (socket === undefined) return this.write(new Chunk(lines));
    const length = lengthOf(lines);
    this.#written += length;
    socket.cork();
    socket.write(headOf(length));
    for (const line of lines) socket.write(line);
    socket.write(END, this.#onFlushed);
    socket.uncork();
    this.#isBlocked = this.#pendingBytes > 0;
  }

  /** Number of bytes written so far. */
  get written(): number {
    return this.#written;
  }

  get #pendingBytes(): number {
    return (this.#socket ?? this.#response).writableLength;
  }

  /** Closes the connection. */
  destroy(): void {
    this.#response.destroy();
  }

  /** Ends the body. Closes the connection if the client does not read the rest in time. */
  end(): void {
    const response = this.#response;
    this.#isOver = true;
    if (response.writableEnded || response.destroyed) return;
    response.end();
    const cancel = this.#clock.wakeAfter(LINGER_MS, () => response.destroy());
    response.once('close', cancel);
  }
}
