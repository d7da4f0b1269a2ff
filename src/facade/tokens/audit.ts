// The audit log: one line for every token request of an authenticated caller, and a limited number for other token requests. A line
// identifies an issued token only by its ID.

import type { IssueTarget } from '../../access/issue-permission.ts';
import type { User } from '../../access/user.ts';
import { isStatusReason, StatusError } from '../../kubernetes/status.ts';
import type { Clock } from '../../std/clock.ts';
import { redactTokens } from '../../std/sensitive.ts';
import { formatTimestamp } from '../../std/timestamp.ts';
import { TokenBucket } from '../../std/token-bucket.ts';
import { IssueError } from '../../targets/issue-error.ts';
import type { IssuedToken } from '../../targets/issue-token.ts';
import { createAuditLogger, type Logger } from '../../telemetry/logger.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { FacadeRequest } from '../request.ts';

/** Fields of a token request for its audit line. The fields after `target` are undefined until the body is decoded. */
export interface AuditedRequest {
  readonly target: IssueTarget;
  readonly audiences?: readonly string[];
  readonly expirationSeconds?: number | bigint;
  /** Kind and name of the bound object, separated by a slash; undefined if the request has none. */
  readonly boundObject?: string;
}

/** Parts of a request that its audit line needs. */
export interface LoggedRequest extends Pick<FacadeRequest, 'requestId' | 'signal'> {
  /** User of the caller; undefined if the caller is not authenticated. */
  readonly user: User | undefined;
}

export interface AuditOptions {
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics?: Pick<Metrics, 'recordIssuance'> | undefined;
}

/** Limit on audit lines for requests without an authenticated caller. Any client can send such requests. */
const UNAUTHENTICATED_LIMIT = { perSecond: 10, burst: 100 };
const MAX_LISTED = 16;
const MAX_CHARS = 256;

export class Audit {
  readonly #log: Logger;
  readonly #metrics: AuditOptions['metrics'];
  readonly #unauthenticated: TokenBucket;
  /** Number of lines that the limit has suppressed since the last line for an unauthenticated request. */
  #suppressed = 0;

  constructor({ log, clock, metrics }: AuditOptions) {
    this.#metrics = metrics;
    this.#unauthenticated = new TokenBucket(clock, UNAUTHENTICATED_LIMIT);
    this.#log = createAuditLogger(log);
  }

  recordIssued(request: FacadeRequest, audited: AuditedRequest & { readonly durationMs: number }, token: IssuedToken): void {
    const { claims, statedExpiryAt } = token;
    const credential = { expiresAt: formatTimestamp(statedExpiryAt), ...(claims?.id !== undefined && { credentialID: claims.id }) };
    this.#log.info({ ...toLine('issued', toLoggedRequest(request), audited), ...credential }, 'token issued');
    this.#metrics?.recordIssuance({
      cluster: audited.target.cluster,
      result: 'success',
      reason: 'Requested',
      durationMs: audited.durationMs,
    });
  }

  recordDryRun(request: FacadeRequest, audited: AuditedRequest): void {
    this.#log.info(toLine('dry run', toLoggedRequest(request), audited), 'token request checked');
  }

  /** Records the error that the caller receives; `cause` is the underlying failure. */
  recordRejected(request: FacadeRequest, audited: AuditedRequest, rejection: unknown, cause: unknown): void {
    const logged = this.#logRejection(toLoggedRequest(request), audited, rejection);
    if (logged === undefined) return;
    const { code, reason } = logged;
    // Targets may return reasons that Kubernetes does not define.
    const known = reason !== undefined && isStatusReason(reason) ? reason : 'InternalError';
    const failure = code >= 500 && cause instanceof IssueError ? cause.reason : known;
    this.#metrics?.recordIssuance({ cluster: audited.target.cluster, result: 'failure', reason: failure });
  }

  /** Logs a request that did not reach its endpoint. Issuance metrics omit such requests: any client can send them for any cluster. */
  recordRejectedEarly(request: LoggedRequest, audited: AuditedRequest, rejection: unknown): void {
    if (request.user !== undefined) this.#logRejection(request, audited, rejection);
    else if (this.#unauthenticated.take() > 0) this.#suppressed += 1;
    else {
      this.#logRejection(request, audited, rejection, this.#suppressed > 0 ? { suppressed: this.#suppressed } : {});
      this.#suppressed = 0;
    }
  }

  /** Logs a rejection. Returns its code and reason, or undefined if the caller has disconnected. */
  #logRejection(request: LoggedRequest, audited: AuditedRequest, rejection: unknown, more: object = {}): Rejection | undefined {
    if (!(rejection instanceof StatusError) && request.signal.aborted) {
      this.#log.info({ ...toLine('abandoned', request, audited), ...more }, 'caller disconnected');
      return undefined;
    }
    const { code, reason, message } = rejection instanceof StatusError ? rejection : { code: 500, reason: 'InternalError', message: '' };
    this.#log.info({ ...toLine('rejected', request, audited), code, reason, message: shorten(message), ...more }, 'token request rejected');
    return { code, reason };
  }
}

interface Rejection {
  readonly code: number;
  readonly reason: string | undefined;
}

function toLoggedRequest({ requestId, signal, caller }: FacadeRequest): LoggedRequest {
  return { requestId, signal, user: caller.user };
}

function toLine(
  decision: string,
  { requestId, user }: LoggedRequest,
  { target, audiences, expirationSeconds, boundObject }: AuditedRequest,
) {
  return {
    audit: 'TokenRequest',
    decision,
    requestID: shorten(requestId),
    ...(user && { user: shorten(user.username) }),
    ...target,
    ...(audiences && { audiences: audiences.slice(0, MAX_LISTED).map(shorten) }),
    ...(expirationSeconds !== undefined && { expirationSeconds: Number(expirationSeconds) }),
    ...(boundObject !== undefined && { boundObject: shorten(boundObject) }),
  };
}

/** Returns the first MAX_CHARS characters of a text, with tokens redacted. */
function shorten(text: string): string {
  return redactTokens(text.slice(0, MAX_CHARS));
}
