// Limits on the number of connections of a listener, and on the memory of their buffers. If too many connections wait without a request in
// progress, the source address with the most waiting connections loses one of them, so that new connections are accepted.

import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isHttp2 } from '../http2.ts';
import { toAddressKey } from './tenant.ts';
import { Handshakes } from './turns.ts';

export interface ConnectionLimits {
  /** Maximum number of connections without a request in progress: in the TLS handshake, before a complete request head, or idle. */
  readonly waiting: number;
  /** Maximum number of connections; Node closes additional ones. Requests in progress must be limited well below this number. */
  readonly total: number;
  /** Maximum memory of the large buffers of idle connections, in bytes; 32 MiB by default. */
  readonly buffers?: number;
}

const MAX_BUFFER_BYTES = 32 << 20;

interface Connection {
  readonly socket: Socket;
  readonly address: string;
  /** Number of requests in progress. */
  active: number;
  /** Number of requests above the limit on pipelined requests. */
  excess: number;
  /** Set of waiting connections that contains this one; undefined while a request is in progress. */
  waitingIn: Set<Connection> | undefined;
  /** Size of the large buffers while the connection is idle, in bytes; otherwise 0. */
  buffer: number;
}

/** Waiting connections from one source address, in the order in which they began to wait. */
interface Waiting {
  /** Connections on which no request has begun yet. */
  readonly silent: Set<Connection>;
  /** Kept-alive connections between two requests. */
  readonly idle: Set<Connection>;
}

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #byPeer = new Map<string, Connection>();
  readonly #waiting = new Map<string, Waiting>();
  #waitingCount = 0;
  /** Memory of the large buffers of idle connections, in bytes. */
  #buffers = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Limits the connections of a server that does not listen yet. */
  follow(server: Server): void {
    server.maxConnections = this.#limits.total;
    new Handshakes().follow(server);
    server.prependListener('connection', (socket: Socket) => this.#open(socket));
  }

  /**
   * Counts a request as in progress until its response is closed. Returns false if the request must not be served, because its connection
   * is closed or has too many requests in progress. In the second case, the connection is closed once those requests are complete, or
   * earlier if many more arrive. HTTP/2 has its own limit. Connections are identified by their peer, because Node passes the TLS socket
   * here, but the TCP socket to `#open`.
   */
  begin(socket: Socket, response: ServerResponse): boolean {
    // Node also parses requests from bytes that it read before the connection was closed.
    if (socket.destroyed) return false;
    const connection = this.#byPeer.get(toPeerKey(socket));
    if (connection === undefined) return true;
    if (!isHttp2(response) && (connection.active >= MAX_PIPELINED_REQUESTS || connection.excess > 0)) return this.#exceed(connection);
    connection.active += 1;
    this.#stopWaiting(connection);
    response.once('close', () => this.#end(connection, socket));
    return true;
  }

  #open(socket: Socket): void {
    const peer = toPeerKey(socket);
    const address = toAddressKey(socket.remoteAddress);
    const connection: Connection = { socket, address, active: 0, excess: 0, waitingIn: undefined, buffer: 0 };
    this.#byPeer.set(peer, connection);
    socket.once('close', () => {
      if (this.#byPeer.get(peer) === connection) this.#byPeer.delete(peer);
      this.#stopWaiting(connection);
      connection.active = Number.POSITIVE_INFINITY;
    });
    this.#wait(connection, 'silent');
    if (this.#waitingCount > this.#limits.waiting) this.#evict(connection);
  }

  #end(connection: Connection, socket: Socket): void {
    connection.active -= 1;
    if (connection.active > 0 || connection.socket.destroyed) return;
    if (connection.excess > 0) return socket.destroySoon();
    this.#wait(connection, 'idle');
    connection.buffer = bufferBytesOf(socket);
    this.#buffers += connection.buffer;
    if (this.#waitingCount > this.#limits.waiting) this.#evict();
    while (this.#buffers > (this.#limits.buffers ?? MAX_BUFFER_BYTES)) this.#evictBuffer();
  }

  /**
   * Counts an excess request. Closes a connection with many excess requests, because Node keeps each parsed request in memory while the
   * connection is open.
   */
  #exceed(connection: Connection): false {
    connection.excess += 1;
    if (connection.excess > MAX_EXCESS_REQUESTS) connection.socket.destroy();
    return false;
  }

  #wait(connection: Connection, as: keyof Waiting): void {
    const waiting = this.#waiting.get(connection.address) ?? { silent: new Set(), idle: new Set() };
    this.#waiting.set(connection.address, waiting);
    connection.waitingIn = waiting[as].add(connection);
    this.#waitingCount += 1;
  }

  #stopWaiting(connection: Connection): void {
    if (connection.waitingIn?.delete(connection) !== true) return;
    connection.waitingIn = undefined;
    this.#buffers -= connection.buffer;
    connection.buffer = 0;
    this.#waitingCount -= 1;
    const waiting = this.#waiting.get(connection.address);
    if (waiting !== undefined && countWaiting(waiting) === 0) this.#waiting.delete(connection.address);
  }

  /**
   * Closes the oldest waiting connection of the address with the most waiting connections: a silent one if possible, and never `newest`.
   */
  #evict(newest?: Connection): void {
    let most: Waiting | undefined;
    for (const waiting of this.#waiting.values()) if (most === undefined || countWaiting(waiting) > countWaiting(most)) most = waiting;
    const victim = most && (findOldest(most.silent, newest) ?? findOldest(most.idle, newest));
    if (victim !== undefined) this.#close(victim);
  }

  /** Finds the address whose idle connections use the most memory for large buffers, and closes the oldest of these connections. */
  #evictBuffer(): void {
    let most: readonly Connection[] = [];
    for (const { idle } of this.#waiting.values()) {
      const buffered = [...idle].filter(({ buffer }) => buffer > 0);
      if (sumBuffers(buffered) > sumBuffers(most)) most = buffered;
    }
    const [oldest] = most;
    if (oldest !== undefined) this.#close(oldest);
  }

  #close(connection: Connection): void {
    this.#stopWaiting(connection);
    connection.socket.destroy();
  }
}

function sumBuffers(connections: readonly Connection[]): number {
  return connections.reduce((sum, { buffer }) => sum + buffer, 0);
}

/** Maximum number of requests in progress on one HTTP/1.1 connection. Kubernetes clients, browsers and proxies send one at a time. */
const MAX_PIPELINED_REQUESTS = 32;
/** Number of excess requests above which a connection is closed without waiting for the responses in progress. */
const MAX_EXCESS_REQUESTS = 32;

function findOldest(connections: ReadonlySet<Connection>, newest: Connection | undefined): Connection | undefined {
  for (const connection of connections) if (connection !== newest) return connection;
  return undefined;
}

function countWaiting({ silent, idle }: Waiting): number {
  return silent.size + idle.size;
}

/** Returns a key that is unique among the open connections of a listener. */
function toPeerKey({ remoteAddress = '', remotePort = 0, localAddress = '' }: Socket): string {
  return `${remotePort} ${remoteAddress} ${localAddress}`;
}

/**
 * Sizes of the large buffers of connections, in bytes. While a connection is open, Node keeps the buffers of its largest write and its
 * largest read.
 */
const writeBytes = new WeakMap<Socket, number>();
const readBytes = new WeakMap<Socket, number>();

/** Maximum size of a buffer that is not recorded, in bytes: such a buffer is part of the expected memory of every connection. */
const SMALL_BUFFER_BYTES = 16_384;
/** Size of the read buffer that Node keeps after a request with a long body, in bytes. */
const READ_BYTES = 65_536;

/** Records a write to a connection. */
export function recordWrite(socket: Socket, bytes: number): void {
  if (bytes > SMALL_BUFFER_BYTES && bytes > (writeBytes.get(socket) ?? 0)) writeBytes.set(socket, bytes);
}

/** Records the body of a request. `bytes` is Infinity if its length is unknown. */
export function recordBody(socket: Socket, bytes: number): void {
  if (bytes > SMALL_BUFFER_BYTES) readBytes.set(socket, READ_BYTES);
}

/** Returns the size of the large buffers of a connection, in bytes. */
export function bufferBytesOf(socket: Socket): number {
  return (writeBytes.get(socket) ?? 0) + (readBytes.get(socket) ?? 0);
}
