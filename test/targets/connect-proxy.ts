// A CONNECT proxy on loopback.

import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';

export interface ConnectProxy {
  readonly port: number;
  /** Requested destinations with their authorization. */
  readonly requests: readonly { readonly target: string; readonly authorization: string | undefined }[];
  /** Bytes sent to targets. */
  passed(): string;
  /** Closes all connections; may be called again. */
  close(): Promise<void>;
}

export interface ConnectProxyOptions {
  /** Certificate and key of an https proxy, as PEM; undefined for an http proxy. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Port of the proxy; undefined for a free one. */
  readonly port?: number;
  /** Status of the response to a rejected tunnel; 0 to send no response. */
  readonly rejection?: number;
}

/**
 * Starts the proxy. It connects tunnels to the port that `portFor` returns, and rejects them if `portFor` returns undefined; it responds
 * with 502 if the port refuses connections.
 */
export async function startConnectProxy(
  portFor: (target: string) => number | undefined,
  { tls, port: ownPort = 0, rejection = 403 }: ConnectProxyOptions = {},
): Promise<ConnectProxy> {
  const requests: { target: string; authorization: string | undefined }[] = [];
  const bytes: Buffer[] = [];
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => sockets.add(socket) && socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  const reject = (socket: Socket, status: number) => void socket.end(`HTTP/1.1 ${status} Rejected\r\ncontent-length: 0\r\n\r\n`);
  const server = (tls ? createTlsServer(tls) : createServer()).on('connect', ({ url = '', headers }: IncomingMessage, socket: Socket) => {
    requests.push({ target: url, authorization: headers['proxy-authorization'] });
    const port = portFor(url);
    if (port === undefined) return rejection === 0 ? undefined : reject(socket, rejection);
    const upstream = track(connect(port, '127.0.0.1'));
    const fail = () => reject(socket, 502);
    upstream.on('error', fail).on('connect', () => {
      upstream.off('error', fail);
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.on('data', (chunk: Buffer) => bytes.push(chunk));
      socket.pipe(upstream).pipe(socket);
    });
  });
  server.on(tls ? 'secureConnection' : 'connection', track);
  server.listen(ownPort, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    passed: () => Buffer.concat(bytes).toString('latin1'),
    close: async () => {
      if (!server.listening) return;
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
