// Source addresses take turns, so that an address with many connections or requests does not delay an address with few.

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { toAddressKey } from './tenant.ts';

/** Waiting work of several source addresses, which take turns. */
export class RoundRobin {
  /** Waiting work by source address, oldest first; the address with the next turn is first. */
  readonly #waiting = new Map<string, (() => void)[]>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(address: string, work: () => void): void {
    const waiting = this.#waiting.get(address);
    if (waiting === undefined) this.#waiting.set(address, [work]);
    else waiting.push(work);
  }

  /** Removes and returns the oldest work of the address whose turn it is, or undefined if no work waits. */
  next(): (() => void) | undefined {
    for (const [address, waiting] of this.#waiting) {
      const work = waiting.shift();
      // The address goes to the end of the rotation.
      this.#waiting.delete(address);
      if (waiting.length > 0) this.#waiting.set(address, waiting);
      return work;
    }
    return undefined;
  }
}

/** Maximum number of requests that start in one turn of the event loop. A request takes a fraction of a millisecond. */
const MAX_REQUESTS = 16;

/**
 * Starts only a few requests in each turn of the event loop: a connection can deliver a hundred requests at once, and new connections of
 * other clients would wait until all of them are served.
 */
export class ServingTurns {
  readonly #waiting = new RoundRobin();
  #started = 0;
  #isScheduled = false;

  /** Starts a request immediately, or in a later turn if other requests wait, or too many have started in this turn. */
  start(address: string, request: () => void): void {
    this.#schedule();
    if (this.#waiting.isEmpty && this.#started < MAX_REQUESTS) this.#run(request);
    else this.#waiting.add(address, request);
  }

  #run(request: () => void): void {
    this.#started += 1;
    request();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#started = 0;
      if (!this.#waiting.isEmpty) this.#schedule();
      for (let next: (() => void) | undefined; this.#started < MAX_REQUESTS && (next = this.#waiting.next()); ) this.#run(next);
    });
  }
}

/** Maximum number of handshakes that start in one turn of the event loop. A handshake takes about a millisecond. */
const MAX_HANDSHAKES = 4;
/**
 * Maximum number of consecutive turns in which Node accepts a connection before handshakes start, including the turn in which they start.
 * Node accepts one connection per turn of the event loop. Turns without handshakes are short, so all connections that the kernel has queued
 * soon take part in the rotation.
 */
const MAX_ACCEPTING_TURNS = 32;

/**
 * Starts the TLS handshakes of new connections, for one source address after another. A handshake takes more time than most requests: if
 * handshakes started in order of arrival, a flood of connections from one address would delay the new connections of all others.
 */
export class Handshakes {
  readonly #waiting = new RoundRobin();
  #isScheduled = false;
  /** Number of consecutive turns in which Node accepted a connection and no handshake started. */
  #accepting = 0;
  #hasAccepted = false;
  #started = 0;

  /** Takes over the connections of a server, and passes each to the server's own listeners when its handshake may start. */
  follow(server: Server): void {
    const listeners = server.listeners('connection');
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      // A connection that waits has no other error listener.
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
      if (this.#hasAccepted && ++this.#accepting < MAX_ACCEPTING_TURNS) this.#hasAccepted = false;
      else this.#startNext();
      if (!this.#waiting.isEmpty) this.#schedule();
    });
  }

  #startNext(): void {
    this.#hasAccepted = false;
    this.#accepting = 0;
    this.#started = 0;
    for (let next: (() => void) | undefined; this.#started < MAX_HANDSHAKES && (next = this.#waiting.next()); ) next();
  }
}
