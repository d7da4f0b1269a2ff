// The TCP side of a fault proxy: bytes pass, or meet with what networks do to them. Knows nothing of TLS or HTTP.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * What happens to connections:
 * - `pass`: nothing.
 * - `refuse`: nobody listens, and what was open is closed.
 * - `reset`: what is open and what is opened is reset.
 * - `freeze`: what is open falls silent without an end, for good; new connections pass.
 * - `silent`: the same, and new connections are taken and never answered.
 */
export type TcpMode = 'pass' | 'refuse' | 'reset' | 'freeze' | 'silent';

/** What happens to the bytes that pass. */
export interface TcpQuality {
  /** How long each byte takes, in either direction. */
  readonly delayMs?: number;
  /** In either direction, for each connection. */
  readonly bytesPerSecond?: number;
  /** Ends a connection with a reset after this many bytes of answers. */
  readonly cutAfterBytes?: number;
}

/** Listens on one port for good; leads to another. */
export class TcpFront {
  readonly port: number;
  readonly #to: number;
  readonly #connections = new Set<Connection>();
  #server: Server;
  #mode: TcpMode = 'pass';
  #quality: TcpQuality = {};

  private constructor(server: Server, to: number) {
    this.#server = server;
    this.#to = to;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (client) => this.#accept(client));
  }

  static async listen(to: number): Promise<TcpFront> {
    return new TcpFront(await listening(0), to);
  }

  /** What happens to connections from now on, those that are open included. */
  async mode(mode: TcpMode): Promise<void> {
    const isBack = this.#mode === 'refuse' && mode !== 'refuse';
    this.#mode = mode;
    for (const connection of this.#connections) meet(connection, mode);
    if (mode === 'refuse') this.#server.close();
    if (!isBack) return;
    this.#server = await listening(this.port);
    this.#server.on('connection', (client) => this.#accept(client));
  }

  /** What happens to bytes from now on. */
  quality(quality: TcpQuality): void {
    this.#quality = quality;
  }

  async close(): Promise<void> {
    this.#mode = 'refuse';
    this.#server.close();
    for (const { client, upstream } of this.#connections) for (const socket of [client, upstream]) socket.destroy();
  }

  #accept(client: Socket): void {
    if (this.#mode === 'reset' || this.#mode === 'refuse') {
      client.on('error', () => {});
      client.resetAndDestroy();
      return;
    }
    const connection: Connection = { client, upstream: connect(this.#to, '127.0.0.1'), isFrozen: this.#mode === 'silent', answered: 0 };
    this.#connections.add(connection);
    const ended = () => {
      this.#connections.delete(connection);
      for (const socket of [client, connection.upstream]) socket.destroy();
    };
    this.#pipe(connection, 'client', 'upstream', ended);
    this.#pipe(connection, 'upstream', 'client', ended);
  }

  #pipe(connection: Connection, source: Side, sink: Side, ended: () => void): void {
    const [from, into] = [connection[source], connection[sink]];
    // Each chunk waits for the one before, so that bytes stay in order when the delay changes.
    let last = Promise.resolve();
    const later = (ms: number, act: () => void) => {
      last = ms > 0 ? Promise.all([last, pause(ms)]).then(act) : last.then(act);
    };
    from.on('data', (chunk: Buffer) => {
      const { delayMs = 0, bytesPerSecond, cutAfterBytes = Infinity } = this.#quality;
      if (source === 'upstream') connection.answered += chunk.length;
      if (connection.answered > cutAfterBytes) return meet(connection, 'reset');
      if (bytesPerSecond !== undefined) {
        from.pause();
        later((chunk.length / bytesPerSecond) * 1_000, () => from.resume());
      }
      later(delayMs, () => !connection.isFrozen && into.writable && into.write(chunk));
    });
    from.on('close', () => later(0, () => !connection.isFrozen && ended()));
    from.on('error', () => from.destroy());
  }
}

type Side = 'client' | 'upstream';

interface Connection {
  readonly client: Socket;
  readonly upstream: Socket;
  isFrozen: boolean;
  answered: number;
}

function meet(connection: Connection, mode: TcpMode): void {
  const { client, upstream } = connection;
  if (mode === 'freeze' || mode === 'silent') {
    connection.isFrozen = true;
    // The server's side ends, as it does when a server forgets a client that it cannot reach.
    upstream.destroy();
  }
  if (connection.isFrozen || mode === 'pass') return;
  if (mode === 'reset') client.resetAndDestroy();
  client.destroy();
  upstream.destroy();
}

async function listening(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
