// A server on loopback that answers as a test tells it to: also with what no proper server would send.

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
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
  /** Grows by one with each connection of the client. */
  readonly connection: number;
  /** Common name of the client certificate. */
  readonly clientName: string | undefined;
}

/** Answers requests; one that does nothing with its reply leaves the client waiting. */
export type WireHandler = (request: WireRequest, reply: WireReply) => void | Promise<void>;

export interface WireServerOptions {
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string };
}

/** Everything that can happen to an answer on its way. */
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

  /** Sends the headers of a 200, so that bytes can follow one by one. */
  open(): this {
    this.#response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    return this;
  }

  /** Sends values as lines, such as watch events. */
  lines(...values: readonly unknown[]): this {
    for (const value of values) this.bytes(`${JSON.stringify(value)}\n`);
    return this;
  }

  bytes(text: string): this {
    this.#response.write(text);
    return this;
  }

  /** Sends an answer as it is written, head and all, and ends the connection. */
  raw(text: string): void {
    this.#response.socket?.end(text);
  }

  /** A proper end of the answer. */
  end(): void {
    this.#response.end();
  }

  /** Cuts the connection, with RST where there is no TLS around it, in the middle of whatever is going on. */
  reset(): void {
    const { socket } = this.#response;
    if (socket instanceof TLSSocket) socket.destroy();
    else socket?.resetAndDestroy();
  }
}

export interface WireServer {
  readonly url: string;
  /** Connections that are open now. */
  readonly openConnections: number;
  /** All requests so far. */
  readonly requests: readonly WireRequest[];
  handle(handler: WireHandler): void;
  close(): Promise<void>;
}

/** Listens on a free port of loopback. */
export async function startWireServer(handler: WireHandler, options: WireServerOptions = {}): Promise<WireServer> {
  const requests: WireRequest[] = [];
  const sockets = new Map<Socket, number>();
  let current = handler;
  const answer = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await received(message, sockets.get(message.socket) ?? 0);
    requests.push(request);
    await current(request, new WireReply(response));
  };
  const listener: RequestListener = (message, response) => {
    answer(message, response).catch((defect: unknown) => {
      // Whoever waits for the answer would wait as long as the test may take.
      response.destroy();
      throw defect;
    });
  };
  const server = options.tls
    ? createTlsServer({ ...options.tls, requestCert: options.tls.ca !== undefined }, listener)
    : createServer(listener);
  // Connections end when a test or the client ends them, not by themselves.
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

async function received(message: IncomingMessage, connection: number): Promise<WireRequest> {
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
