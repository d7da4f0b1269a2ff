// The TLS listener: receives requests, sends replies, and closes cleanly.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { isStream, type Reply, sendHead, toBytes } from '../src/kubernetes/reply.ts';
import { readBody } from '../src/kubernetes/wire/read-body.ts';
import type { Clock } from '../src/std/clock.ts';
import { type ListeningServer, listen } from '../src/std/listening.ts';
import type { IncomingRequest } from './request.ts';

export interface ListenerOptions {
  readonly port: number;
  readonly host: string;
  readonly clock: Clock;
  readonly tls: { readonly cert: string; readonly key: string };
  readonly handle: (request: IncomingRequest) => Promise<Reply>;
  /** Receives unexpected errors. */
  readonly report: (error: unknown) => void;
}

export interface Listener extends Pick<ListeningServer, 'port'> {
  /** Ends watches, waits at most CLOSE_MS for other requests, and closes. */
  close(): Promise<void>;
}

/** Maximum time for active requests to finish when the server stops, in milliseconds. */
const CLOSE_MS = 1_000;

/** Starts to listen. Rejects if the port cannot be used. */
export async function listenForRequests(options: ListenerOptions): Promise<Listener> {
  const { handle, tls, report } = options;
  const activeRequests = new Set<AbortController>();
  const server = createServer({ ...tls, minVersion: 'TLSv1.2' }, (message, response) => {
    const disconnected = new AbortController();
    activeRequests.add(disconnected);
    response.on('close', () => {
      disconnected.abort();
      activeRequests.delete(disconnected);
      // A stopping server does not wait for the next request of a keep-alive connection.
      if (!server.listening) message.socket.destroySoon();
    });
    serve(handle, message, response, disconnected.signal).catch((error: unknown) => {
      // The response has started: only a broken connection shows the caller that the response is incomplete.
      if (!disconnected.signal.aborted) report(error);
      response.destroy();
    });
  });
  const listening = await listen(server, options);
  return {
    port: listening.port,
    async close() {
      const closed = listening.close(CLOSE_MS);
      for (const request of activeRequests) request.abort();
      await closed;
    },
  };
}

async function serve(
  handle: ListenerOptions['handle'],
  message: IncomingMessage,
  response: ServerResponse,
  disconnected: AbortSignal,
): Promise<void> {
  const reply = await handle(toIncomingRequest(message, disconnected));
  // The rest of the body must be read; otherwise the caller cannot read the response.
  message.resume();
  if (isStream(reply.body)) await sendStream(reply, reply.body, response);
  else send(reply, reply.body, message, response);
}

function toIncomingRequest(message: IncomingMessage, signal: AbortSignal): IncomingRequest {
  return {
    method: message.method ?? '',
    url: message.url ?? '/',
    headers: message.headersDistinct,
    body: () => readBody(message),
    signal,
  };
}

function send({ status, headers }: Reply, text: string | Buffer, message: IncomingMessage, response: ServerResponse): void {
  const body = toBytes(text);
  writeHead(response, status, { ...headers, ...(status !== 304 && { 'content-length': String(body.length) }) });
  response.end(message.method === 'HEAD' ? undefined : body);
}

/** Sends a stream no faster than the caller reads it. */
async function sendStream({ status, headers }: Reply, pieces: AsyncIterable<string>, response: ServerResponse): Promise<void> {
  writeHead(response, status, headers);
  sendHead(response);
  await pipeline(pieces, response);
}

function writeHead(response: ServerResponse, status: number, headers: Reply['headers']): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.writeHead(status);
}
