// What a transport is asked for, and what undici makes of it.

import type { Dispatcher } from 'undici';
import type { Identity } from './credentials.ts';
import type { Reply } from './reply.ts';

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute path on the API server, encoded, without query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** From sending to the last byte of the answer; for streams, to the first. */
  readonly timeoutMs?: number | undefined;
  /** How long the answer may be, where that is not what the transport allows. */
  readonly maxBytes?: number;
}

export interface StreamRequest extends TransportRequest {
  /** A stream without a byte for this long is taken for dead. */
  readonly idleMs: number;
}

/** A successful stream, or a whole answer that says why there is none. */
export type StreamReply =
  | { readonly type: 'stream'; readonly chunks: AsyncIterable<Uint8Array> }
  | { readonly type: 'refused'; readonly reply: Reply };

/** Where an API server is; behind a proxy, all its paths may begin with one of the proxy's. */
export interface Base {
  readonly origin: string;
  readonly path: string;
}

const USER_AGENT = 'purser';

/** The request as somebody. */
export function dispatchOptions(request: TransportRequest, { origin, path }: Base, { headers }: Identity): Dispatcher.RequestOptions {
  return {
    origin,
    method: request.method,
    path: `${path}${request.path}${queryText(request.query)}`,
    headers: { accept: 'application/json', 'user-agent': USER_AGENT, ...request.headers, ...headers },
    body: request.body ?? null,
  };
}

function queryText(query: TransportRequest['query']): string {
  if (query === undefined) return '';
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
