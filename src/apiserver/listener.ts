// The TLS socket: requests in, replies out, and an orderly end. What a request means is decided elsewhere.

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { statusError } from '../api/status.ts';
import { clientCertificateOf } from './access/client-certificate.ts';
import { isStream, type Reply } from './reply.ts';
import type { Incoming } from './request.ts';

export interface ListenerOptions {
  readonly port: number;
  readonly host: string;
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string };
  handle(request: Incoming): Promise<Reply>;
}

export interface Listener {
  readonly port: number;
  /** Ends watches, lets other requests finish for a moment, and closes. */
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 3 * 1024 * 1024;
/** How long requests that are under way may take to finish when the server stops. */
const CLOSE_MS = 1_000;

/** Starts to listen; rejects when the port is taken. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const stopping = new AbortController();
  const server = createServer(
    { ...options.tls, requestCert: true, rejectUnauthorized: false, minVersion: 'TLSv1.2' },
    (message, response) => {
      void serve(options, stopping.signal, message, response);
    },
  );
  server.listen(options.port, options.host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => closeServer(server, stopping),
  };
}

async function serve(options: ListenerOptions, stopping: AbortSignal, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  try {
    const reply = await options.handle(incoming(message, AbortSignal.any([gone.signal, stopping])));
    await send(reply, message.method === 'HEAD', response, gone.signal);
  } catch {
    // The reply was under way: a broken connection tells the caller that it is not whole.
    response.destroy();
  }
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
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) {
      // What is left must be read, or the caller never gets to read the answer.
      message.resume();
      throw statusError('RequestEntityTooLarge', `Request entity too large: limit is ${MAX_BODY_BYTES}`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function send({ status, headers, body }: Reply, isHead: boolean, response: ServerResponse, gone: AbortSignal): Promise<void> {
  response.writeHead(status, Object.entries(headers).flatMap(([name, value]) => [name, value as string | string[]]) as string[]);
  if (isStream(body)) {
    response.flushHeaders();
    for await (const piece of body) {
      if (gone.aborted) break;
      if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    }
    response.end();
    return;
  }
  response.end(isHead ? undefined : body);
}

async function closeServer(server: Server, stopping: AbortController): Promise<void> {
  stopping.abort();
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const deadline = AbortSignal.timeout(CLOSE_MS);
  deadline.addEventListener('abort', () => server.closeAllConnections());
  await closed;
}
