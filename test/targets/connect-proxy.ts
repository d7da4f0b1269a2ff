// A CONNECT proxy on loopback.

import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export interface ConnectProxy {
  readonly port: number;
  /** Requested destinations with their authorization. */
  readonly requests: readonly { readonly target: string; readonly authorization: string | undefined }[];
  /** Bytes sent to targets. */
  passed(): string;
  close(): Promise<void>;
}

/** Starts the proxy. It connects tunnels to the port that `portFor` returns, and rejects them without one. */
export async function startConnectProxy(portFor: (target: string) => number | undefined): Promise<ConnectProxy> {
  const requests: { target: string; authorization: string | undefined }[] = [];
  const bytes: Buffer[] = [];
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => sockets.add(socket) && socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  const server = createServer().on('connect', ({ url = '', headers }: IncomingMessage, socket: Socket) => {
    requests.push({ target: url, authorization: headers['proxy-authorization'] });
    track(socket);
    const port = portFor(url);
    if (port === undefined) return void socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
    const upstream = track(connect(port, '127.0.0.1'));
    upstream.on('connect', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    socket.on('data', (chunk: Buffer) => bytes.push(chunk));
    socket.pipe(upstream).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    passed: () => Buffer.concat(bytes).toString('latin1'),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
