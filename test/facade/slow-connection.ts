// A TCP connection that sends late, for clients that are slow in a TLS handshake.

import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

export class SlowConnection extends Duplex {
  readonly #socket: Socket;
  readonly #untilSent: (chunk: Buffer) => Promise<unknown>;

  /** Sends each chunk when `untilSent` resolves. */
  constructor(socket: Socket, untilSent: (chunk: Buffer) => Promise<unknown>) {
    super();
    this.#socket = socket;
    this.#untilSent = untilSent;
    socket.on('data', (chunk) => void this.push(chunk));
    socket.on('error', () => {});
    socket.on('close', () => this.destroy());
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const send = () => (this.#socket.destroyed ? done() : this.#socket.write(chunk, () => done()));
    void this.#untilSent(chunk).then(send);
  }

  override _final(done: () => void): void {
    this.#socket.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
