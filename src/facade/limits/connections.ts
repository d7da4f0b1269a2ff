// The connections of a listener. Connections without a request in progress never keep a new one out: when there are too many of
// them, the source address with the most of them loses its oldest one.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { isIPv6, type Socket } from 'node:net';

export interface ConnectionLimits {
  /** Maximum number of connections without a request in progress: in the TLS handshake, before a complete request head, or idle. */
  readonly waiting: number;
  /** Maximum number of connections. The kernel resets further ones, so requests in progress must be limited well below it. */
  readonly total: number;
}

interface Connection {
  readonly socket: Socket;
  readonly address: string;
  /** Number of requests in progress. */
  active: number;
  /** Connections of this address that wait, of which this one is a member while it waits. */
  waitingIn: Set<Connection> | undefined;
}

/** Waiting connections of one source address, the longest waiting first. */
interface Waiting {
  /** Connections that have not completed a request yet. */
  readonly silent: Set<Connection>;
  /** Kept-alive connections between two requests. */
  readonly idle: Set<Connection>;
}

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #byPeer = new Map<string, Connection>();
  readonly #waiting = new Map<string, Waiting>();
  #waitingCount = 0;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Follows the connections of a server that does not listen yet. */
  follow(server: Server): void {
    server.maxConnections = this.#limits.total;
    server.prependListener('connection', (socket: Socket) => this.#open(socket));
    for (const event of ['request', 'checkContinue', 'checkExpectation'])
      server.prependListener(event, ({ socket }: IncomingMessage, response: ServerResponse) => this.#begin(socket, response));
  }

  #open(socket: Socket): void {
    const peer = peerOf(socket);
    const connection: Connection = { socket, address: toAddressKey(socket.remoteAddress), active: 0, waitingIn: undefined };
    this.#byPeer.set(peer, connection);
    socket.once('close', () => {
      if (this.#byPeer.get(peer) === connection) this.#byPeer.delete(peer);
      this.#stopWaiting(connection);
      connection.active = Number.POSITIVE_INFINITY;
    });
    this.#wait(connection, 'silent');
    if (this.#waitingCount > this.#limits.waiting) this.#evict(connection);
  }

  /** Node shows the TLS socket with the request and the TCP socket with the connection; both have the same peer. */
  #begin(socket: Socket, response: ServerResponse): void {
    const connection = this.#byPeer.get(peerOf(socket));
    if (connection === undefined) return;
    connection.active += 1;
    this.#stopWaiting(connection);
    // Requests behind one whose response is not read would be kept in memory without end.
    if (connection.active === MAX_PIPELINED) socket.pause();
    response.once('close', () => {
      if (connection.active === MAX_PIPELINED) socket.resume();
      connection.active -= 1;
      if (connection.active > 0 || connection.socket.destroyed) return;
      this.#wait(connection, 'idle');
      if (this.#waitingCount > this.#limits.waiting) this.#evict();
    });
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
    this.#waitingCount -= 1;
    const waiting = this.#waiting.get(connection.address);
    if (waiting !== undefined && sizeOf(waiting) === 0) this.#waiting.delete(connection.address);
  }

  /** Closes the oldest connection of the address with the most, silent connections before idle ones, and never the newcomer. */
  #evict(newcomer?: Connection): void {
    let most: Waiting | undefined;
    for (const waiting of this.#waiting.values()) if (most === undefined || sizeOf(waiting) > sizeOf(most)) most = waiting;
    const victim = most && (oldestOf(most.silent, newcomer) ?? oldestOf(most.idle, newcomer));
    if (victim === undefined) return;
    this.#stopWaiting(victim);
    victim.socket.destroy();
  }
}

/** Requests in progress on one connection at which no more are read. */
const MAX_PIPELINED = 64;

function oldestOf(connections: ReadonlySet<Connection>, newcomer: Connection | undefined): Connection | undefined {
  for (const connection of connections) if (connection !== newcomer) return connection;
  return undefined;
}

function sizeOf({ silent, idle }: Waiting): number {
  return silent.size + idle.size;
}

/** Returns text that no two open connections of a listener share. */
function peerOf({ remoteAddress = '', remotePort = 0, localAddress = '' }: Socket): string {
  return `${remotePort} ${remoteAddress} ${localAddress}`;
}

/**
 * Returns the key of a source address for limits. An IPv4-mapped address has the key of its IPv4 address. All IPv6 addresses of a
 * /64 share a key, because one host can use any of them.
 */
export function toAddressKey(remoteAddress: string | undefined): string {
  const address = (remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('::', 2);
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(8 - first.length - last.length, 0) }, () => '0');
  const groups = [...first, ...zeros, ...last].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${groups.join(':')}::/64`;
}
