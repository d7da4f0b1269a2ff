// The TLS socket: requests in, replies out, and an orderly end. What a request means is decided elsewhere.

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { statusError } from '../api/status.ts';
import { isStream, type Reply } from '../apimachinery/reply.ts';
import { acceptsGzip } from '../apimachinery/wire/accept-gzip.ts';
import { clientCertificateOf } from './access/client-certificate.ts';
import type { Incoming } from './request.ts';

export interface ListenerOptions {
  readonly port: number;
  readonly host: string;
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string };
  readonly handle: (request: Incoming) => Promise<Reply>;
  /** Told of errors that nobody expected. */
  readonly report: (error: unknown) => void;
}

export interface Listener {
  readonly port: number;
  /** Ends watches, lets other requests finish for a moment, and closes. */
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 3 * 1024 * 1024;
/** Smaller answers are not worth the time that compressing them takes. */
const MIN_GZIP_BYTES = 128 * 1024;
/** How long requests that are under way may take to finish when the server stops. */
const CLOSE_MS = 1_000;

/** Starts to listen; rejects when the port is taken. */
export async function listen({ handle, tls, port, host, report }: ListenerOptions): Promise<Listener> {
  const underWay = new Set<AbortController>();
  const sockets = new Set<Duplex>();
  const server = createServer({ ...tls, requestCert: true, rejectUnauthorized: false, minVersion: 'TLSv1.2' }, (message, response) => {
    const gone = new AbortController();
    underWay.add(gone);
    response.on('close', () => {
      gone.abort();
      underWay.delete(gone);
      // A server that stops does not wait for the next request of a connection.
      if (!server.listening) message.socket.end();
    });
    serve(handle, message, response, gone.signal).catch((error: unknown) => {
      // The reply was under way: a broken connection tells the caller that it is not whole.
      if (!gone.signal.aborted) report(error);
      response.destroy();
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(port, host);
  await once(server, 'listening');
  // From now on it is a connection that cannot be accepted, as when descriptors run out.
  server.on('error', report);
  return {
    port: (server.address() as AddressInfo).port,
    close: () => close(server, underWay, sockets),
  };
}

async function serve(
  handle: ListenerOptions['handle'],
  message: IncomingMessage,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const reply = await handle(incoming(message, gone));
  // What is left of the body must be read, or the caller never gets to read the answer.
  message.resume();
  if (isStream(reply.body)) await stream(reply, reply.body, response);
  else await send(reply, reply.body, message, response);
}

function incoming(message: IncomingMessage, signal: AbortSignal): Incoming {
  const certificate = clientCertificateOf(message.socket as TLSSocket);
  return {
    method: message.method ?? '',
    url: message.url ?? '/',
    headers: message.headersDistinct,
    ...(certificate && { certificate }),
    body: () => readBody(message),
    signal,
  };
}

async function readBody(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw statusError('RequestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY_BYTES}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function send({ status, headers }: Reply, body: string | Buffer, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const isZipped = body.length > MIN_GZIP_BYTES && acceptsGzip(message.headersDistinct['accept-encoding']?.[0]);
  const bytes = isZipped ? await promisify(gzip)(body, { level: 1 }) : body;
  writeHead(response, status, {
    ...headers,
    ...(isZipped && { 'content-encoding': 'gzip', vary: 'Accept-Encoding' }),
    ...(status !== 304 && { 'content-length': String(Buffer.byteLength(bytes)) }),
  });
  response.end(message.method === 'HEAD' ? undefined : bytes);
}

/** Writes no faster than the caller reads. */
async function stream({ status, headers }: Reply, pieces: AsyncIterable<string>, response: ServerResponse): Promise<void> {
  writeHead(response, status, headers);
  response.flushHeaders();
  await pipeline(pieces, response);
}

function writeHead(response: ServerResponse, status: number, headers: Reply['headers']): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.writeHead(status);
}

async function close(server: Server, underWay: ReadonlySet<AbortController>, sockets: ReadonlySet<Duplex>): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  for (const request of underWay) request.abort();
  server.closeIdleConnections();
  // The server knows of connections only once they have spoken TLS; those that have not would hold it open.
  AbortSignal.timeout(CLOSE_MS).addEventListener('abort', () => sockets.forEach((socket) => socket.destroy()));
  await closed;
}
