// One line in the log for every token that is issued or refused. It names the token by its id alone.

import { isStatusReason, StatusError } from '../api/status.ts';
import { instantText } from '../domain/instant.ts';
import type { IssueTarget } from '../domain/issue-names.ts';
import type { IssuedToken } from '../issuers/token-exchange.ts';
import { withoutTokens } from '../std/sensitive.ts';
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

/** Where what is decided is counted. */
export type IssuanceMetrics = Pick<Metrics, 'issued'>;

/** Writes the lines. */
export class Audit {
  readonly #log: Logger;
  readonly #metrics: IssuanceMetrics | undefined;

  constructor(log: Logger, metrics?: IssuanceMetrics) {
    this.#metrics = metrics;
    // What was decided is told at every level but that which tells nothing. Its fields are chosen, so none has to be blanked out.
    this.#log = log.level === 'silent' ? log : log.child({}, { level: 'info', redact: [] });
  }

  issued(request: FacadeRequest, asked: Asked & { readonly durationMs: number }, token: IssuedToken): void {
    const { claims, statedExpiryAt } = token;
    const what = { expiresAt: instantText(statedExpiryAt), ...(claims?.id !== undefined && { credentialID: claims.id }) };
    this.#log.info({ ...line('issued', request, asked), ...what }, 'a token was issued');
    this.#metrics?.issued({ cluster: asked.target.cluster, result: 'success', reason: 'Requested', durationMs: asked.durationMs });
  }

  rehearsed(request: FacadeRequest, asked: Asked): void {
    this.#log.info(line('dry run', request, asked), 'a token would have been issued');
  }

  refused(request: FacadeRequest, asked: Asked, error: unknown): void {
    if (!(error instanceof StatusError) && request.signal.aborted) return this.#abandoned(request, asked);
    const { code, reason, message } = error instanceof StatusError ? error : { code: 500, reason: 'InternalError', message: '' };
    this.#log.info({ ...line('refused', request, asked), code, reason, message: shortened(message) }, 'a token was refused');
    // Targets may invent reasons of their own.
    const known = reason !== undefined && isStatusReason(reason) ? reason : 'InternalError';
    this.#metrics?.issued({ cluster: asked.target.cluster, result: 'failure', reason: known });
  }

  #abandoned(request: FacadeRequest, asked: Asked): void {
    this.#log.info(line('abandoned', request, asked), 'the caller left before there was a token');
  }
}

const MAX_LISTED = 16;
const MAX_CHARS = 256;

function line(decision: string, { caller, requestId }: FacadeRequest, { target, audiences, expirationSeconds, boundObject }: Asked) {
  return {
    audit: 'TokenRequest',
    decision,
    requestID: shortened(requestId),
    user: caller.user.username,
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
