// Errors of requests without a usable response.

import { errors } from 'undici';

/** Error of a request without a usable response: connection refused or reset, timeout, response too long. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  /** Error code, for example `ECONNREFUSED`, `ETIMEDOUT` or `UND_ERR_SOCKET`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Converts any error to a TransportError whose message starts with `request`, the description of the request. */
export function toTransportError(request: string, error: unknown): TransportError {
  // A parser error contains the unparsed bytes, in which a server can return the token that Purser sent.
  const options = error instanceof errors.HTTPParserError ? undefined : { cause: error };
  return new TransportError(codeOf(error), `${request}: ${messageOf(error)}`, options);
}

/** Returns the code of a system or undici error; without a code, `EBADMSG` for a response that is not HTTP, and `UNKNOWN` otherwise. */
export function codeOf(error: unknown): string {
  const isCoded = typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string';
  if (isCoded) return String(error.code);
  return error instanceof errors.HTTPParserError ? 'EBADMSG' : 'UNKNOWN';
}

function messageOf(error: unknown): string {
  const text = typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
  // The AggregateError of several failed addresses has no message.
  return text === '' ? codeOf(error) : text;
}
