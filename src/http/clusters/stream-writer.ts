// Writes the lines of a watch. Thousands of watchers get the same bytes: they are put into one chunk of HTTP once, and each
// socket takes it as it is.

import type { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../std/clock.ts';

/** Lines as one chunk of a chunked body. */
export class Chunk {
  readonly framed: Buffer;
  readonly #headLength: number;

  constructor(lines: readonly Buffer[]) {
    const length = lines.reduce((sum, line) => sum + line.length, 0);
    const head = Buffer.from(`${length.toString(16)}\r\n`);
    this.#headLength = head.length;
    this.framed = Buffer.concat([head, ...lines, END], head.length + length + END.length);
  }

  /** The lines alone. */
  get body(): Buffer {
    return this.framed.subarray(this.#headLength, -END.length);
  }
}

const END = Buffer.from('\r\n');
/** How long a reader may take to read the end of what it was sent. */
const LINGER_MS = 10_000;

export class StreamWriter {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  /** Where chunks can go as they are; undefined while an earlier answer holds the connection, and for callers without chunks. */
  readonly #socket: Socket | undefined;
  readonly #drains: EventEmitter;
  readonly #onDrain: () => void;
  /** Whether what has been written is more than the reader has taken. */
  #isBlocked = false;

  /** `onDrain` is called when a reader that was too slow has caught up. */
  constructor(response: ServerResponse, clock: Clock, onDrain: () => void) {
    this.#response = response;
    this.#clock = clock;
    response.flushHeaders();
    this.#socket = response.chunkedEncoding ? (response.socket ?? undefined) : undefined;
    this.#drains = this.#socket ?? response;
    this.#onDrain = () => {
      this.#isBlocked = false;
      onDrain();
    };
    this.#drains.on('drain', this.#onDrain);
  }

  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  write(chunk: Chunk): void {
    this.#isBlocked = !(this.#socket?.write(chunk.framed) ?? this.#response.write(chunk.body));
  }

  /** Ends the body; a reader that does not take it is cut off. */
  end(): void {
    const response = this.#response;
    this.#drains.off('drain', this.#onDrain);
    if (response.writableEnded || response.destroyed) return;
    response.end();
    const cancel = this.#clock.wakeAfter(LINGER_MS, () => response.destroy());
    response.once('close', cancel);
  }
}
