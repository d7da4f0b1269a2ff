// Server on loopback whose responses a test controls, including invalid ones.

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { TLSSocket } from 'node:tls';

export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  /** Names and values of headers in order, unchanged. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
  /** Number of the client's connection, from 1. */
  readonly connection: number;
  /** Common name of the client certificate; undefined without one. */
  readonly clientName: string | undefined;
}

/** Handles a request; the client waits if the handler does not use the reply. */
export type WireHandler = (request: WireRequest, reply: WireReply) => void | Promise<void>;

export interface WireServerOptions {
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string };
}

/** Response of the server, which may be incomplete or invalid. */
export class WireReply {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }

  json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.text(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
  }

  text(status: number, body: string, headers: Readonly<Record<string, string>> = {}): void {
    this.#response.writeHead(status, headers).end(body);
  }

  /** Sends the headers of a 200 response, so that the body can follow in parts. */
  open(): this {
    this.#response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    return this;
  }

  /** Sends values as JSON lines, such as watch events. */
  lines(...values: readonly unknown[]): this {
    for (const value of values) this.bytes(`${JSON.stringify(value)}\n`);
    return this;
  }

  bytes(text: string): this {
    this.#response.write(text);
    return this;
  }

  /** Sends text as the complete response, including its head, and closes the connection. */
  raw(text: string): void {
    this.#response.socket?.end(text);
  }

  /** Ends the response cleanly. */
  end(): void {
    this.#response.end();
  }

  /** Closes the connection immediately, with RST unless it uses TLS. */
  reset(): void {
    const { socket } = this.#response;
    if (socket instanceof TLSSocket) socket.destroy();
    else socket?.resetAndDestroy();
  }
}

export interface WireServer {
  readonly url: string;
  /** Number of open connections. */
  readonly openConnections: number;
  /** All requests so far. */
  readonly requests: readonly WireRequest[];
  handle(handler: WireHandler): void;
  close(): Promise<void>;
}

/** Starts a server on a free port of loopback. */
export async function startWireServer(handler: WireHandler, options: WireServerOptions = {}): Promise<WireServer> {
  const requests: WireRequest[] = [];
  const sockets = new Map<Socket, number>();
  let current = handler;
  const respond = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await readRequest(message, sockets.get(message.socket) ?? 0);
    requests.push(request);
    await current(request, new WireReply(response));
  };
  const listener: RequestListener = (message, response) => {
    respond(message, response).catch((error: unknown) => {
      // Otherwise the client would wait until the test times out.
      response.destroy();
      throw error;
    });
  };
  const server = options.tls
    ? createTlsServer({ ...options.tls, requestCert: options.tls.ca !== undefined }, listener)
    : createServer(listener);
  // Only the test or the client closes connections.
  server.keepAliveTimeout = 0;
  server.on(options.tls ? 'secureConnection' : 'connection', (socket: Socket) => sockets.set(socket, sockets.size + 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;

  return {
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    requests,
    get openConnections() {
      return [...sockets.keys()].filter((socket) => !socket.destroyed).length;
    },
    handle: (next) => {
      current = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readRequest(message: IncomingMessage, connection: number): Promise<WireRequest> {
  const url = new URL(message.url ?? '/', 'http://wire');
  const body = (await buffer(message)).toString('utf8');
  const clientName = message.socket instanceof TLSSocket ? message.socket.getPeerCertificate().subject?.CN : undefined;
  return {
    method: message.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: message.headers,
    rawHeaders: message.rawHeaders,
    body,
    connection,
    clientName: clientName?.toString(),
  };
}
