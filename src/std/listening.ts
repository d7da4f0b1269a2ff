// A server at its port: from the moment it listens until the last of its connections has ended.

import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { Clock } from './clock.ts';

export interface ListenOptions {
  /** 0 for any that is free. */
  readonly port: number;
  /** The address to listen on; all by default. */
  readonly host?: string | undefined;
  readonly clock: Clock;
  /** Told of connections that cannot be accepted, as when descriptors run out. */
  readonly report: (error: Error) => void;
}

/** A server that is up. */
export interface Listening {
  readonly port: number;
  /** Such as `https://127.0.0.1:7443`. */
  readonly url: string;
  /** Takes no more connections, and ends those without a request at once, all others when their time is over. */
  close(graceMs: number): Promise<void>;
}

/**
 * Number of connections that the kernel keeps until they are accepted, at most `net.core.somaxconn`. The kernel drops further
 * ones, and their clients wait for a second before the next attempt; Node's default is 511.
 */
const BACKLOG = 4_096;

/** Starts to listen. Rejects when the port cannot be had. */
export async function listen(server: Server, { port, host, clock, report }: ListenOptions): Promise<Listening> {
  // Node leaves out all headers beyond the thousandth without a word; how many bytes they may take is limited anyhow.
  server.maxHeadersCount = 0;
  // The server itself knows of connections only once they have spoken TLS; those that have not would hold it open.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, backlog: BACKLOG, ...(host && { host }) }, () => {
      server.off('error', reject).on('error', report);
      resolve();
    });
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    port: taken,
    url: `${server instanceof TlsServer ? 'https' : 'http'}://${authorityOf(host, taken)}`,
    async close(graceMs) {
      const closed = new Promise((resolve) => server.close(resolve));
      const cancel = clock.wakeAfter(graceMs, () => sockets.forEach((socket) => socket.destroy()));
      await closed;
      cancel();
    },
  };
}

/** Whoever listens everywhere is reached on this machine, too. */
function authorityOf(host: string = '', port: number): string {
  return `${host.includes(':') ? `[${host}]` : host || '127.0.0.1'}:${port}`;
}
