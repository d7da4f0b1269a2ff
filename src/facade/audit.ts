// One line in the log for every token that is issued or refused. It names the token by its id alone.

import type { IssueTarget } from '../access/issue-permission.ts';
import type { User } from '../access/user.ts';
import { isStatusReason, StatusError } from '../kubernetes/status.ts';
import type { Clock } from '../std/clock.ts';
import { instantText } from '../std/instant.ts';
import { withoutTokens } from '../std/sensitive.ts';
import { TokenBucket } from '../std/token-bucket.ts';
import { IssueError } from '../targets/issue-error.ts';
import type { IssuedToken } from '../targets/token-exchange.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { FacadeRequest } from './request.ts';

/** What a request was about, as far as it was read. */
export interface Asked {
  readonly target: IssueTarget;
  readonly audiences?: readonly string[];
  readonly expirationSeconds?: number | bigint;
  readonly boundObject?: string;
}

/** A request that was refused before its endpoint saw it. */
export interface TurnedAway extends Pick<FacadeRequest, 'requestId' | 'signal'> {
  /** Undefined where nobody knows who asked. */
  readonly user: User | undefined;
}

export interface AuditOptions {
  readonly log: Logger;
  readonly clock: Clock;
  /** Where what is decided is counted. */
  readonly metrics?: Pick<Metrics, 'issued'> | undefined;
}

/** Writes the lines. */
export class Audit {
  readonly #log: Logger;
  readonly #metrics: AuditOptions['metrics'];
  /** Strangers cost nothing to send, and a log is not endless: so many lines a second are theirs, and the rest is a number. */
  readonly #strangers: TokenBucket;
  #untold = 0;

  constructor({ log, clock, metrics }: AuditOptions) {
    this.#metrics = metrics;
    this.#strangers = new TokenBucket(clock, STRANGERS);
    // What was decided is told at every level but that which tells nothing. Its fields are chosen, so none has to be blanked out.
    this.#log = log.level === 'silent' ? log : log.child({}, { level: 'info', redact: [] });
  }

  issued(request: FacadeRequest, asked: Asked & { readonly durationMs: number }, token: IssuedToken): void {
    const { claims, statedExpiryAt } = token;
    const what = { expiresAt: instantText(statedExpiryAt), ...(claims?.id !== undefined && { credentialID: claims.id }) };
    this.#log.info({ ...line('issued', of(request), asked), ...what }, 'a token was issued');
    this.#metrics?.issued({ cluster: asked.target.cluster, result: 'success', reason: 'Requested', durationMs: asked.durationMs });
  }

  rehearsed(request: FacadeRequest, asked: Asked): void {
    this.#log.info(line('dry run', of(request), asked), 'a token would have been issued');
  }

  /** What the caller was told, and what that came from. */
  refused(request: FacadeRequest, asked: Asked, refusal: unknown, cause: unknown): void {
    const told = this.#tell(of(request), asked, refusal);
    if (told === undefined) return;
    const { code, reason } = told;
    // Targets may invent reasons of their own.
    const known = reason !== undefined && isStatusReason(reason) ? reason : 'InternalError';
    const failure = code >= 500 && cause instanceof IssueError ? cause.reason : known;
    this.#metrics?.issued({ cluster: asked.target.cluster, result: 'failure', reason: failure });
  }

  /** Not counted as an issuance that failed: anybody can bring it about, for any cluster. */
  turnedAway(request: TurnedAway, asked: Asked, refusal: unknown): void {
    if (request.user !== undefined) this.#tell(request, asked, refusal);
    else if (this.#strangers.take() > 0) this.#untold += 1;
    else {
      this.#tell(request, asked, refusal, this.#untold > 0 ? { untold: this.#untold } : {});
      this.#untold = 0;
    }
  }

  /** Undefined when the caller has left. */
  #tell(request: TurnedAway, asked: Asked, refusal: unknown, more: object = {}): Told | undefined {
    if (!(refusal instanceof StatusError) && request.signal.aborted) {
      this.#log.info({ ...line('abandoned', request, asked), ...more }, 'the caller left before there was a token');
      return undefined;
    }
    const { code, reason, message } = refusal instanceof StatusError ? refusal : { code: 500, reason: 'InternalError', message: '' };
    this.#log.info({ ...line('refused', request, asked), code, reason, message: shortened(message), ...more }, 'a token was refused');
    return { code, reason };
  }
}

interface Told {
  readonly code: number;
  readonly reason: string | undefined;
}

const STRANGERS = { perSecond: 10, burst: 100 };
const MAX_LISTED = 16;
const MAX_CHARS = 256;

function of({ requestId, signal, caller }: FacadeRequest): TurnedAway {
  return { requestId, signal, user: caller.user };
}

function line(decision: string, { requestId, user }: TurnedAway, { target, audiences, expirationSeconds, boundObject }: Asked) {
  return {
    audit: 'TokenRequest',
    decision,
    requestID: shortened(requestId),
    ...(user && { user: shortened(user.username) }),
    ...target,
    ...(audiences && { audiences: audiences.slice(0, MAX_LISTED).map(shortened) }),
    ...(expirationSeconds !== undefined && { expirationSeconds: Number(expirationSeconds) }),
    ...(boundObject !== undefined && { boundObject: shortened(boundObject) }),
  };
}

/** Callers choose these texts. */
function shortened(text: string): string {
  return withoutTokens(text.slice(0, MAX_CHARS));
}
