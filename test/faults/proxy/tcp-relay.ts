// TCP part of a fault proxy: forwards bytes, or injects network faults. Independent of TLS and HTTP.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * Fault mode of connections:
 * - `pass`: no fault.
 * - `refuse`: refuses new connections, and closes open ones.
 * - `reset`: resets new and open connections.
 * - `freeze`: stalls open connections permanently without closing them; new connections pass.
 * - `silent`: stalls open and new connections.
 */
export type TcpMode = 'pass' | 'refuse' | 'reset' | 'freeze' | 'silent';

export const OUTAGES: readonly TcpMode[] = ['refuse', 'reset', 'freeze', 'silent'];

/** Shape of the traffic that passes. */
export interface TrafficShape {
  /** Delay of each chunk in each direction, in milliseconds. */
  readonly delayMs?: number;
  /** Rate of each connection in each direction. */
  readonly bytesPerSecond?: number;
  /** Number of response bytes after which a connection is reset. */
  readonly cutAfterBytes?: number;
}

/** Forwards connections from one port, which stays the same, to another. */
export class TcpRelay {
  readonly port: number;
  readonly #to: number;
  readonly #connections = new Set<Connection>();
  #server: Server;
  #mode: TcpMode = 'pass';
  #shape: TrafficShape = {};

  private constructor(server: Server, to: number) {
    this.#server = server;
    this.#to = to;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (client) => this.#accept(client));
  }

  static async listen(to: number): Promise<TcpRelay> {
    return new TcpRelay(await listenOn(0), to);
  }

  /** Sets the fault mode of new and open connections. */
  async setMode(mode: TcpMode): Promise<void> {
    const mustListen = this.#mode === 'refuse' && mode !== 'refuse';
    this.#mode = mode;
    for (const connection of this.#connections) applyMode(connection, mode);
    if (mode === 'refuse') this.#server.close();
    if (!mustListen) return;
    this.#server = await listenOn(this.port);
    this.#server.on('connection', (client) => this.#accept(client));
  }

  /** Sets the shape of traffic. */
  shapeTraffic(shape: TrafficShape): void {
    this.#shape = shape;
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
    const connection: Connection = {
      client,
      upstream: connect(this.#to, '127.0.0.1'),
      isFrozen: this.#mode === 'silent',
      responseBytes: 0,
    };
    this.#connections.add(connection);
    const onEnd = () => {
      this.#connections.delete(connection);
      for (const socket of [client, connection.upstream]) socket.destroy();
    };
    this.#pipe(connection, 'client', 'upstream', onEnd);
    this.#pipe(connection, 'upstream', 'client', onEnd);
  }

  #pipe(connection: Connection, source: Side, sink: Side, onEnd: () => void): void {
    const [from, into] = [connection[source], connection[sink]];
    // Each chunk waits for the previous one, so that bytes stay in order when the delay changes.
    let last = Promise.resolve();
    const enqueue = (ms: number, act: () => void) => {
      last = ms > 0 ? Promise.all([last, sleep(ms)]).then(act) : last.then(act);
    };
    from.on('data', (chunk: Buffer) => {
      const { delayMs = 0, bytesPerSecond, cutAfterBytes = Infinity } = this.#shape;
      if (source === 'upstream') connection.responseBytes += chunk.length;
      if (connection.responseBytes > cutAfterBytes) return applyMode(connection, 'reset');
      if (bytesPerSecond !== undefined) {
        from.pause();
        enqueue((chunk.length / bytesPerSecond) * 1_000, () => from.resume());
      }
      enqueue(delayMs, () => !connection.isFrozen && into.writable && into.write(chunk));
    });
    from.on('close', () => enqueue(0, () => !connection.isFrozen && onEnd()));
    from.on('error', () => from.destroy());
  }
}

type Side = 'client' | 'upstream';

interface Connection {
  readonly client: Socket;
  readonly upstream: Socket;
  isFrozen: boolean;
  responseBytes: number;
}

function applyMode(connection: Connection, mode: TcpMode): void {
  const { client, upstream } = connection;
  if (mode === 'freeze' || mode === 'silent') {
    connection.isFrozen = true;
    // Closes the server's side, as a server does after the keep-alive timeout of an unreachable client.
    upstream.destroy();
  }
  if (connection.isFrozen || mode === 'pass') return;
  if (mode === 'reset') client.resetAndDestroy();
  client.destroy();
  upstream.destroy();
}

async function listenOn(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
