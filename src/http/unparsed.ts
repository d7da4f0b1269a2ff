// Answers to what is not a request that HTTP knows: too large, too slow, or nonsense. Each ends its connection.

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type Status, StatusError, statusError } from '../api/status.ts';
import { noMethod } from '../apimachinery/refusals.ts';
import { orderedJson } from '../apimachinery/wire/ordered-json.ts';

/** Answers on the bare socket. */
export function unparsedReply({ code = '' }: { readonly code?: string }, socket: Socket): void {
  if (code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0) socket.destroy();
  else socket.end(rawReply(refusalOf(code)), () => socket.destroy());
}

/** The answer to CONNECT, which is no method of ours. */
export function connectRefusal(): string {
  return rawReply(noMethod(), 'allow: POST\r\n');
}

function refusalOf(code: string): StatusError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return unnamed(408, 'the request did not arrive in time');
  if (code === 'HPE_HEADER_OVERFLOW') return unnamed(431, 'the headers of the request are too large');
  return statusError('BadRequest', 'the request is malformed');
}

function unnamed(code: number, message: string): StatusError {
  const status: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code };
  return new StatusError(status);
}

function rawReply({ code, status }: StatusError, more = ''): string {
  const body = `${orderedJson(status)}\n`;
  return `HTTP/1.1 ${code} ${STATUS_CODES[code]}\r\ncontent-type: application/json\r\ncache-control: no-cache, private\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${more}connection: close\r\n\r\n${body}`;
}
