// Starts the TLS handshakes of new connections in turns of their source addresses. A handshake takes more time than most requests: in the
// order of arrival, a flood of connections from one address delays the new connections of all others.

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Rotation } from './rotation.ts';
import { toAddressKey } from './source-address.ts';

/** Maximum number of handshakes that start in one turn of the event loop. A handshake takes about a millisecond. */
const MAX_PER_TURN = 4;
/**
 * Node accepts one connection in a turn of the event loop. While it does, no handshake starts for up to this number of turns: such turns
 * are short, so that all connections that the kernel has queued soon take part in the rotation.
 */
const MAX_ACCEPTING = 32;

export class Handshakes {
  readonly #waiting = new Rotation();
  #isScheduled = false;
  /** Number of turns in a row in which Node accepted a connection, without handshakes. */
  #accepting = 0;
  #hasAccepted = false;
  #started = 0;

  /** Takes over the connections of a server, and passes each to the server's own listeners when its handshake may start. */
  follow(server: Server): void {
    const listeners = server.listeners('connection');
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      // A connection that waits has no other listener.
      socket.on('error', () => {});
      this.#hasAccepted = true;
      this.#waiting.add(toAddressKey(socket.remoteAddress), () => {
        if (socket.destroyed) return;
        this.#started += 1;
        for (const listener of listeners) listener.call(server, socket);
      });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#hasAccepted && ++this.#accepting < MAX_ACCEPTING) this.#hasAccepted = false;
      else this.#startNext();
      if (!this.#waiting.isEmpty) this.#schedule();
    });
  }

  #startNext(): void {
    this.#hasAccepted = false;
    this.#accepting = 0;
    this.#started = 0;
    for (let next: (() => void) | undefined; this.#started < MAX_PER_TURN && (next = this.#waiting.next()); ) next();
  }
}
