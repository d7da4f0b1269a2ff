// The body of a watch, on an HTTP/2 stream, or on an HTTP/1.1 connection that serves nothing else until it closes. Lines for many watches
// are framed only once, as an HTTP chunk, and the same bytes are written to each socket.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../std/clock.ts';

/** Lines of a watch as one HTTP chunk. */
export class Chunk {
  readonly framed: Buffer;
  readonly #headLength: number;

  constructor(lines: readonly Buffer[]) {
    const length = sumLengths(lines);
    const head = encodeChunkHead(length);
    this.#headLength = head.length;
    this.framed = Buffer.concat([head, ...lines, END], head.length + length + END.length);
  }

  /** The lines without the frame of the chunk. */
  get body(): Buffer {
    return this.framed.subarray(this.#headLength, -END.length);
  }
}

function sumLengths(lines: readonly Buffer[]): number {
  return lines.reduce((sum, line) => sum + line.length, 0);
}

/** Returns the size line of a chunk. */
function encodeChunkHead(length: number): Buffer {
  return Buffer.from(`${length.toString(16)}\r\n`);
}

const END = Buffer.from('\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');
const EMPTY = Buffer.alloc(0);
/** Time for the client to read the last bytes, in milliseconds. */
const LINGER_MS = 10_000;
/** Maximum size of one write before the end of the body, in bytes: the TLS buffer of a connection keeps the size of its largest write. */
const SLICE_BYTES = 16_384;

/** Writer of a body. */
export interface StreamSource {
  /** Writes more of the body. Called when the kernel has accepted a chunk that it did not accept immediately. */
  pump(): void;
  /** Ends the body. Called when the server stops, or the connection or the HTTP/2 stream is closed. */
  end(): void;
}

export interface BodyStreamOptions {
  /** False for HTTP/1.0, whose body ends with the connection, and for HTTP/2, whose body ends with the stream. */
  readonly isChunked: boolean;
  readonly clock: Clock;
  /** Called when the connection or the HTTP/2 stream is closed. */
  readonly onClose?: () => void;
}

export class BodyStream {
  readonly #socket: Duplex;
  readonly #isChunked: boolean;
  readonly #clock: Clock;
  readonly #onFlushed: () => void;
  #source: StreamSource | undefined;
  /**
   * True while the kernel has not accepted the whole last chunk. If another chunk were written earlier, Node would concatenate both chunks,
   * and keep the larger buffer in memory.
   */
  #isBlocked = false;
  /** The rest of a chunk whose first slices have been written. */
  #rest: Buffer = EMPTY;
  #isStopped = false;
  #isOver = false;
  #written = 0;

  constructor(socket: Duplex, { isChunked, clock, onClose = () => {} }: BodyStreamOptions) {
    this.#socket = socket;
    this.#isChunked = isChunked;
    this.#clock = clock;
    this.#onFlushed = () => {
      if (!this.#isBlocked || this.#isOver || socket.writableLength > 0) return;
      if (this.#rest.length > 0) return this.#writeSlice();
      this.#isBlocked = false;
      this.#source?.pump();
    };
    socket.on('error', ignore);
    socket.on('close', () => {
      onClose();
      this.stop();
    });
  }

  /** Sets the writer of the body. */
  set source(source: StreamSource) {
    this.#source = source;
    if (this.#isStopped) source.end();
  }

  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Number of bytes written so far. */
  get written(): number {
    return this.#written;
  }

  write(chunk: Chunk): void {
    const bytes = this.#isChunked ? chunk.framed : chunk.body;
    this.#written += bytes.length;
    this.#rest = bytes;
    this.#writeSlice();
    this.#isBlocked = this.#rest.length > 0 || this.#socket.writableLength > 0;
  }

  /** Writes lines for this watch only. Over chunked HTTP/1.1, short lines are not copied, so that watches share their bytes. */
  writeLines(lines: readonly Buffer[]): void {
    const length = sumLengths(lines);
    if (!this.#isChunked || length > SLICE_BYTES) return this.write(new Chunk(lines));
    const socket = this.#socket;
    this.#written += length;
    socket.cork();
    socket.write(encodeChunkHead(length));
    for (const line of lines) socket.write(line);
    socket.write(END, this.#onFlushed);
    socket.uncork();
    this.#isBlocked = socket.writableLength > 0;
  }

  /** Writes the next slice of a chunk. The rest follows when the kernel has accepted the slice. */
  #writeSlice(): void {
    const slice = this.#rest.subarray(0, SLICE_BYTES);
    // An empty subarray would keep the whole chunk in memory.
    this.#rest = this.#rest.length > SLICE_BYTES ? this.#rest.subarray(SLICE_BYTES) : EMPTY;
    this.#socket.write(slice, this.#onFlushed);
  }

  /** Ends the body, and closes the connection or the HTTP/2 stream when the client has read the rest, or after LINGER_MS. */
  end(): void {
    const socket = this.#socket;
    if (this.#isOver) return;
    this.#isOver = true;
    if (socket.destroyed) return;
    if (this.#rest.length > 0) socket.write(this.#rest);
    socket.end(this.#isChunked ? LAST_CHUNK : EMPTY);
    const cancel = this.#clock.wakeAfter(LINGER_MS, () => socket.destroy());
    socket.once('close', cancel);
  }

  /** Calls `end` of the writer, which ends the body. A writer that is set later is ended immediately. */
  stop(): void {
    this.#isStopped = true;
    this.#source?.end();
  }

  /** Closes the connection or the HTTP/2 stream. */
  destroy(): void {
    this.#socket.destroy();
  }
}

function ignore(): void {}

/**
 * Detaches an HTTP/1.1 connection from Node's HTTP server, whose parser and messages would use 10 kB while the connection is open. Marks
 * the latest request as an upgrade, because Node detaches the connection of an upgrade as soon as it parses further bytes. Bytes that
 * arrive later are discarded. The server must have a listener for upgrades.
 */
export function detach(latest: IncomingMessage, response: ServerResponse): Socket {
  const { socket } = latest;
  Object.assign(latest, { upgrade: true });
  socket.emit('data', EMPTY);
  response.detachSocket(socket);
  socket.on('end', () => socket.destroy());
  return socket.resume();
}
