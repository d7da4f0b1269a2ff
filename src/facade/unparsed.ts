// Answers to what is not a request that HTTP knows: too large, too slow, or nonsense. Each ends its connection.

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { noMethod } from '../kubernetes/refusals.ts';
import { type StatusError, statusError, unclassified } from '../kubernetes/status.ts';
import { orderedJson } from '../kubernetes/wire/ordered-json.ts';

/** Answers on the bare socket. */
export function refuseUnparsed({ code = '' }: { readonly code?: string }, socket: Socket): void {
  if (code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else endSoon(socket, rawReply(refusalOf(code)));
}

/** Answers to CONNECT, which is no method of ours. */
export function refuseConnect(socket: Socket): void {
  endSoon(socket, rawReply(noMethod(), 'allow: POST\r\n'));
}

/** Ends a connection behind what was written on it: Node has let go of it, and no longer looks after its errors, its end and its time. */
export function endSoon(socket: Socket, text = ''): void {
  socket.on('error', () => {});
  socket.setTimeout(UNREAD_MS, () => socket.destroy());
  socket.end(text, () => socket.destroy());
}

/** How long a caller may leave an answer unread. */
const UNREAD_MS = 1_000;

function refusalOf(code: string): StatusError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return unclassified('the request did not arrive in time', 408);
  if (code === 'HPE_HEADER_OVERFLOW') return unclassified('the headers of the request are too large', 431);
  return statusError('BadRequest', 'the request is malformed');
}

function rawReply({ code, status }: StatusError, more = ''): string {
  const body = `${orderedJson(status)}\n`;
  return `HTTP/1.1 ${code} ${STATUS_CODES[code]}\r\ncontent-type: application/json\r\ncache-control: no-cache, private\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${more}connection: close\r\n\r\n${body}`;
}
