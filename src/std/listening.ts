// Listening servers and their shutdown.

import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { Clock } from './clock.ts';
import { omitUndefined } from './omit-undefined.ts';

export interface ListenOptions {
  /** Port; 0 selects a free port. */
  readonly port: number;
  /** Address to listen on; undefined or empty for all addresses. */
  readonly host?: string | undefined;
  readonly clock: Clock;
  /** Called with an error when the server cannot accept a connection, for example because no file descriptor is free. */
  readonly report: (error: Error) => void;
}

export interface ListeningServer {
  readonly port: number;
  /** URL, for example `https://127.0.0.1:7443`. */
  readonly url: string;
  /** Resolves when no connection is open; after `ms` at the latest. */
  whenUnused(ms: number): Promise<void>;
  /** Stops accepting connections, closes idle ones immediately, and closes all others after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/**
 * Maximum length of the kernel's accept queue; Node's default is 511, and `net.core.somaxconn` may lower the limit. The kernel drops
 * connections beyond the limit, and their clients retry after a second.
 */
const BACKLOG = 4_096;

/** Starts to listen. Rejects if the address or the port is not available. */
export async function listen(server: Server, { port, host, clock, report }: ListenOptions): Promise<ListeningServer> {
  // By default, Node silently drops headers beyond a maximum count. The total size of headers has its own limit.
  server.maxHeadersCount = 0;
  // Includes connections before their TLS handshake: the server does not track them, but they would keep it open.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(omitUndefined({ port, backlog: BACKLOG, host: host || undefined }), () => {
      server.off('error', reject).on('error', report);
      resolve();
    });
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    port: bound,
    url: `${server instanceof TlsServer ? 'https' : 'http'}://${toAuthority(host, bound)}`,
    whenUnused: (ms) => waitUntilUnused(server, sockets, clock, ms),
    async close(graceMs) {
      const closed = new Promise((resolve) => server.close(resolve));
      const cancel = clock.wakeAfter(graceMs, () => sockets.forEach((socket) => socket.destroy()));
      await closed;
      cancel();
    },
  };
}

function waitUntilUnused(server: Server, sockets: ReadonlySet<Socket>, clock: Clock, ms: number): Promise<void> {
  if (sockets.size === 0 || ms <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    const follow = (socket: Socket) => socket.once('close', () => sockets.size === 0 && end());
    const cancel = clock.wakeAfter(ms, () => end());
    const end = () => {
      cancel();
      server.off('connection', follow);
      resolve();
    };
    sockets.forEach(follow);
    server.on('connection', follow);
  });
}

/** Returns the host and port of the URL. If `host` is undefined or empty, the URL contains 127.0.0.1. */
function toAuthority(host: string = '', port: number): string {
  return `${host.includes(':') ? `[${host}]` : host || '127.0.0.1'}:${port}`;
}
