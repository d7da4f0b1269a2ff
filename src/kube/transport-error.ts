// What goes wrong between us and an API server.

import { errors } from 'undici';

/** A request that got no usable answer: refused, reset, too late, too large. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  /** Such as `ECONNREFUSED`, `ETIMEDOUT` or `UND_ERR_SOCKET`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Any error as a TransportError that says `what` was tried. */
export function transportError(what: string, error: unknown): TransportError {
  // A parser error holds the bytes that it could not read: a server may have put our own token there.
  const options = error instanceof errors.HTTPParserError ? undefined : { cause: error };
  return new TransportError(codeOf(error), `${what}: ${messageOf(error)}`, options);
}

/** The code of a system or undici error; `EBADMSG` for an answer that is not HTTP, `UNKNOWN` if it has none. */
export function codeOf(error: unknown): string {
  const isCoded = typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string';
  if (isCoded) return String(error.code);
  return error instanceof errors.HTTPParserError ? 'EBADMSG' : 'UNKNOWN';
}

function messageOf(error: unknown): string {
  const text = typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
  // Several failed addresses come as one error without a message.
  return text === '' ? codeOf(error) : text;
}
