// Responses of handlers, which a listener writes to a socket.

import type { ServerResponse } from 'node:http';
import type { StatusError } from './status.ts';
import { formatBody } from './wire/encode.ts';
import { negotiateError, type Preferences, type Representation } from './wire/negotiate.ts';
import { encodeOrderedJson } from './wire/ordered-json.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | Buffer | AsyncIterable<string>;
}

/** Returns whether the body is a stream, as in a response to a watch. */
export function isStream(body: Reply['body']): body is AsyncIterable<string> {
  return typeof body === 'object' && Symbol.asyncIterator in body;
}

/** Returns the body of a response as bytes. With a string body, Node would encode the head as UTF-8 too, and change its header values. */
export function toBytes(body: string | Buffer): Buffer {
  return typeof body === 'string' ? Buffer.from(body) : body;
}

/**
 * Sends the head of a response before its body. For a HEAD request, Node sends the head when the response ends. Node's `flushHeaders`
 * would encode header values as UTF-8, although they have one character per byte.
 */
export function sendHead(response: ServerResponse): void {
  response.cork();
  response.write(EMPTY_CHUNK);
  response.uncork();
}

const EMPTY_CHUNK = Buffer.alloc(0);

/** Returns a response with the compact JSON `text`, formatted for the representation. */
export function createTextReply(status: number, text: string, representation: Representation): Reply {
  return { status, headers: { 'content-type': representation.contentType }, body: formatBody(text, representation) };
}

/** Returns an error response in the representation that the caller prefers. */
export function createErrorReply(error: StatusError, preferences: Preferences): Reply {
  const { mediaType, contentType, pretty } = negotiateError(preferences);
  return {
    status: error.code,
    headers: {
      'content-type': contentType,
      ...((error.retryAfterSeconds ?? 0) > 0 && { 'retry-after': String(error.retryAfterSeconds) }),
      ...(error.code === 403 && { 'x-content-type-options': 'nosniff' }),
    },
    body: formatBody(encodeOrderedJson(error.status), { mediaType, pretty }),
  };
}

/** Returns a plain-text response with the headers of Go's http.Error. */
export function createPlainTextReply(status: number, text: string): Reply {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }, body: text };
}
