// A request as handlers see it: parsed once, its body read on demand.

import type { Preferences } from '../src/kubernetes/wire/negotiate.ts';
import type { User } from './access/user.ts';
import type { RequestInfo } from './request-info.ts';

/** What arrived, before anybody has looked at it. */
export interface Incoming {
  readonly method: string;
  /** Path and query as they came. */
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
  /** Reads the whole body; 413 when it is too large. */
  readonly body: () => Promise<Buffer>;
  /** Aborted when the caller goes away or the server stops. */
  readonly signal: AbortSignal;
}

/** A request that has been authenticated and may proceed. */
export interface ApiRequest extends Pick<Incoming, 'method' | 'body' | 'signal'> {
  readonly info: RequestInfo;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly user: User;
  readonly preferences: Preferences;
  readonly contentType: string | undefined;
  readonly userAgent: string | undefined;
  header(name: string): string | undefined;
  /** Refuses, by throwing 403, callers who may not do this, too, at the same place. */
  authorize(verb: string): void;
  /** Adds a Warning header to whatever the answer will be. */
  readonly warn: (text: string) => void;
}
