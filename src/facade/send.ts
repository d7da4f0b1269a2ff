// An answer on its way out: with the headers that every answer has, and an end for callers who go on sending.

import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { errorReply, isStream, type Reply } from '../kubernetes/reply.ts';
import { internalError, StatusError } from '../kubernetes/status.ts';
import type { Preferences } from '../kubernetes/wire/negotiate.ts';
import { warningHeaders } from '../kubernetes/wire/warning.ts';
import type { Exchange } from './exchange.ts';
import type { FacadeReply } from './request.ts';

/** Sends an answer. Never rejects: when it breaks on the way, so does the connection. */
export async function send(exchange: Exchange, reply: FacadeReply): Promise<void> {
  const { message, response } = exchange;
  if (response.destroyed || response.headersSent) return;
  const isLast = !message.complete && !isShort(message);
  if (isLast) response.setHeader('connection', 'close');
  try {
    await write(exchange, reply, isLast);
    if (!isLast) return;
    await drained(exchange);
    response.end();
  } catch {
    response.destroy();
  }
}

/** Whether what is left of a body is worth reading for the sake of the connection. */
function isShort({ headers }: IncomingMessage): boolean {
  // Without a go-ahead, what follows may as well be the next request.
  if (headers.expect !== undefined) return false;
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return length === undefined ? encoding === undefined : Number(length) <= MAX_LEFT_BYTES;
}

/** Anything that was thrown, as the caller is told. What nobody expected is given a number instead of a reason. */
export function errorAnswer(error: unknown, preferences: Preferences, requestId: string): Reply {
  const known = error instanceof StatusError ? error : internalError(`the request ${requestId} could not be completed`, { cause: error });
  const reply = errorReply(known, preferences);
  return known.code === 401 ? { ...reply, headers: { ...reply.headers, 'www-authenticate': 'Bearer' } } : reply;
}

const MAX_LEFT_BYTES = 256 << 10;
/** How much of a long body is taken, and for how long, so that the answer gets through before the connection ends. */
const MAX_DRAINED_BYTES = 1 << 20;
const MAX_DRAIN_MS = 1_000;

/** Writes all of an answer; its end, too, unless something has to come before that. */
async function write(exchange: Exchange, reply: FacadeReply, isLast: boolean): Promise<void> {
  const { response, message } = exchange;
  if ('write' in reply || isStream(reply.body)) {
    exchange.startStreaming();
    response.writeHead(reply.status, headersOf(exchange, reply));
    response.flushHeaders();
    await ('write' in reply ? reply.write(response) : pipeline(reply.body as AsyncIterable<string>, response));
    if (!isLast) response.end();
  } else {
    const length = { 'content-length': Buffer.byteLength(reply.body) };
    response.writeHead(reply.status, { ...headersOf(exchange, reply), ...length });
    const body = message.method === 'HEAD' ? '' : reply.body;
    if (!isLast) response.end(body);
    else {
      response.flushHeaders();
      response.write(body);
    }
  }
}

/** Node's type allows one Warning only. */
function headersOf({ requestId, warnings }: Exchange, { headers }: FacadeReply): OutgoingHttpHeaders {
  const all: Record<string, string | readonly string[]> = {
    'audit-id': requestId,
    'cache-control': 'no-cache, private',
    ...headers,
  };
  if (warnings.length > 0) all['warning'] = warningHeaders(warnings);
  return all as OutgoingHttpHeaders;
}

/** A connection that ends on bytes nobody has read is reset, and the answer with it: waits until its reader has what they need. */
function drained({ message, clock }: Exchange): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.wakeAfter(MAX_DRAIN_MS, resolve);
    let bytes = 0;
    message.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_DRAINED_BYTES) message.pause();
    });
    message.on('error', () => {});
    message.on('close', () => {
      cancel();
      resolve();
    });
    message.resume();
  });
}
