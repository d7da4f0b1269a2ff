// The TLS socket: requests in, replies out, and an orderly end. What a request means is decided elsewhere.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { isStream, type Reply } from '../src/kubernetes/reply.ts';
import { acceptsGzip } from '../src/kubernetes/wire/accept-gzip.ts';
import { readBody } from '../src/kubernetes/wire/read-body.ts';
import type { Clock } from '../src/std/clock.ts';
import { type Listening, listen } from '../src/std/listening.ts';
import type { Incoming } from './request.ts';

export interface ListenerOptions {
  readonly port: number;
  readonly host: string;
  readonly clock: Clock;
  readonly tls: { readonly cert: string; readonly key: string };
  readonly handle: (request: Incoming) => Promise<Reply>;
  /** Told of errors that nobody expected. */
  readonly report: (error: unknown) => void;
}

export interface Listener extends Pick<Listening, 'port'> {
  /** Ends watches, lets other requests finish for a moment, and closes. */
  close(): Promise<void>;
}

/** Smaller answers are not worth the time that compressing them takes. */
const MIN_GZIP_BYTES = 128 * 1024;
/** How long requests that are under way may take to finish when the server stops. */
const CLOSE_MS = 1_000;

/** Starts to listen; rejects when the port is taken. */
export async function listenForRequests(options: ListenerOptions): Promise<Listener> {
  const { handle, tls, report } = options;
  const underWay = new Set<AbortController>();
  const server = createServer({ ...tls, minVersion: 'TLSv1.2' }, (message, response) => {
    const gone = new AbortController();
    underWay.add(gone);
    response.on('close', () => {
      gone.abort();
      underWay.delete(gone);
      // A server that stops does not wait for the next request of a connection.
      if (!server.listening) message.socket.destroySoon();
    });
    serve(handle, message, response, gone.signal).catch((error: unknown) => {
      // The reply was under way: a broken connection tells the caller that it is not whole.
      if (!gone.signal.aborted) report(error);
      response.destroy();
    });
  });
  const listening = await listen(server, options);
  return {
    port: listening.port,
    async close() {
      const closed = listening.close(CLOSE_MS);
      for (const request of underWay) request.abort();
      await closed;
    },
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
  return {
    method: message.method ?? '',
    url: message.url ?? '/',
    headers: message.headersDistinct,
    body: () => readBody(message),
    signal,
  };
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
