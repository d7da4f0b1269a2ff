// A request to the façade as its endpoints see it, and what they answer with.

import type { ServerResponse } from 'node:http';
import type { User } from '../access/user.ts';
import type { Reply } from '../kubernetes/reply.ts';
import type { Preferences } from '../kubernetes/wire/negotiate.ts';

/** An authenticated caller. */
export interface Caller {
  readonly user: User;
  /** A digest of the bearer token, shared by all requests that carry it. */
  readonly tokenId: string;
  /** Whether the hub still accepts the token, and for this very user, as of at most four seconds ago. Throws 503 when the hub gives no answer. */
  stillValid(): Promise<boolean>;
}

/** A request that has been authenticated. */
export interface FacadeRequest {
  readonly method: string;
  /** The decoded segments of the path that the route names. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly preferences: Preferences;
  readonly contentType: string | undefined;
  readonly userAgent: string | undefined;
  header(name: string): string | undefined;
  /** Reads the whole body; throws 413 when it is too large. */
  body(): Promise<Buffer>;
  /** Aborted when the caller goes away or the server stops. */
  readonly signal: AbortSignal;
  /** The Audit-Id of the answer. */
  readonly requestId: string;
  readonly caller: Caller;
  /** Key of the source address. */
  readonly address: string;
  /** Adds a Warning header to whatever the answer will be. */
  readonly warn: (text: string) => void;
}

/** An answer that writes itself, piece by piece, at the pace of its reader. */
export interface StreamedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Called once the head is on its way; returns when all is written or the reader has left. */
  readonly write: (response: ServerResponse) => Promise<void>;
}

export type FacadeReply = Reply | StreamedReply;

/** Answers a request. Throws a StatusError for what it refuses. */
export type Endpoint = (request: FacadeRequest) => Promise<FacadeReply>;
