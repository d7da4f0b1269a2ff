// Requests to the endpoints of the façade, and their responses.

import type { ServerResponse } from 'node:http';
import type { User } from '../access/user.ts';
import { rejectOnAbort } from '../kube/deadline.ts';
import type { Reply } from '../kubernetes/reply.ts';
import { unauthorized } from '../kubernetes/status.ts';
import type { Preferences } from '../kubernetes/wire/negotiate.ts';
import type { BodyStream } from './body-stream.ts';

/**
 * Maximum size of a body, in bytes. A typical body has a few hundred bytes. Parsing a body of the maximum size and encoding its response
 * blocks the event loop for at most about 5 ms.
 */
export const MAX_BODY_BYTES = 8 * 1024;

/** An authenticated caller. */
export interface Caller {
  readonly user: User;
  /** Digest of the bearer token, equal for all requests with this token. */
  readonly tokenId: string;
  /**
   * Returns true if the hub accepts the token for the same user. A cached review may be up to ten seconds old for a request, and up to
   * four for a stream. Throws 429 above the limit on reviews, and 503 if the review fails.
   */
  isStillValid(use: TokenUse): Promise<boolean>;
}

/** Use of a token, which determines how long its review is cached. */
export type TokenUse = 'request' | 'stream';

/** Throws 401 if the hub no longer accepts the token of a request that has waited, and 429 or 503 if the token cannot be reviewed. */
export async function checkCaller({ caller, signal }: Pick<FacadeRequest, 'caller' | 'signal'>): Promise<void> {
  if (!(await rejectOnAbort(caller.isStillValid('request'), signal))) throw unauthorized();
}

/** A request that has been authenticated. */
export interface FacadeRequest {
  readonly method: string;
  /** Decoded path parameters of the route. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly preferences: Preferences;
  readonly contentType: string | undefined;
  readonly userAgent: string | undefined;
  header(name: string): string | undefined;
  /** Reads the whole body. Throws 413 if it is longer than `maxBytes`. */
  body(maxBytes: number): Promise<Buffer>;
  /** Aborted when the caller disconnects or the server stops. */
  readonly signal: AbortSignal;
  /** Audit-Id of the response. */
  readonly requestId: string;
  readonly caller: Caller;
  /** Key of the source address. */
  readonly address: string;
  /** True for HTTP/2, whose connection serves several requests at a time. */
  readonly isMultiplexed: boolean;
  /** Size of the buffers that earlier requests left on an HTTP/1.1 connection, in bytes. */
  readonly bufferBytes: number;
  /** Adds a Warning header to the response. */
  readonly warn: (text: string) => void;
}

/** A response that is written in pieces, as fast as the client reads. */
export interface StreamedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Writes the body after the headers. Returns when all is written, or the client has disconnected. To continue the body after the request
   * has ended, calls `takeOver`, and writes the rest to the returned stream. The headers of such a response must contain
   * `connection: close`, which HTTP/2 responses omit.
   */
  readonly write: (response: ServerResponse, takeOver: () => Promise<BodyStream>) => Promise<void>;
}

export type FacadeReply = (Reply | StreamedReply) & {
  /** Called when the response has been sent or the connection is closed, unless the signal of the request is aborted. */
  readonly onClosed?: () => void;
};

/** Responds to a request. Throws a StatusError to reject it. */
export type Endpoint = (request: FacadeRequest) => Promise<FacadeReply>;
