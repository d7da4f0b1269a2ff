// Requests to the endpoints of the façade, and their responses.

import type { ServerResponse } from 'node:http';
import type { Reply } from '../kubernetes/reply.ts';
import type { Preferences } from '../kubernetes/wire/negotiate.ts';
import type { Caller } from './authenticate.ts';
import type { BodyStream } from './body-stream.ts';

/**
 * Maximum size of a request body, in bytes. A typical body has a few hundred bytes. Parsing a body of the maximum size and encoding the
 * response blocks the event loop for at most about 5 ms.
 */
export const MAX_BODY_BYTES = 8 * 1024;

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
  /**
   * Aborted when the caller disconnects, when the requested timeout has passed, or when the server begins to stop while the response is
   * streamed; no longer aborted after `takeOver`.
   */
  readonly signal: AbortSignal;
  /** Audit-Id of the response. */
  readonly requestId: string;
  readonly caller: Caller;
  /** Key under which limits count the source address. */
  readonly address: string;
  /** True for HTTP/2, whose connection serves several requests at a time. */
  readonly isMultiplexed: boolean;
  /** Size of the large buffers that requests have left on an HTTP/1.1 connection so far, in bytes. */
  readonly bufferBytes: number;
  /** Adds a Warning header to the response. */
  readonly warn: (text: string) => void;
}

/**
 * Waits for earlier responses on the connection, calls `prepare`, and then separates the body from the request. Returns the stream of the
 * body, and the result of `prepare`. Throws if `prepare` throws, or if the signal of the request is aborted before `prepare` has ended.
 */
export type TakeOver = <T>(prepare: () => Promise<T>) => Promise<{ readonly stream: BodyStream; readonly result: T }>;

/** A response that is written in pieces, as fast as the client reads. */
export interface StreamedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Writes the body after the headers. Returns when the whole body is written, or the client has disconnected. To continue the body after
   * the request has ended, calls `takeOver`, and returns early: the stream that `takeOver` returns receives the rest of the body. The
   * headers of a response that may be taken over must contain `connection: close`, which HTTP/2 responses omit.
   */
  readonly write: (response: ServerResponse, takeOver: TakeOver) => Promise<void>;
}

export type FacadeReply = (Reply | StreamedReply) & {
  /**
   * Called when the response has been sent, or the connection closes during the response. Not called if the connection closes earlier: in
   * that case, the signal of the request is aborted.
   */
  readonly onClosed?: () => void;
};

/** Responds to a request. Throws a StatusError to reject it. */
export type Endpoint = (request: FacadeRequest) => Promise<FacadeReply>;
