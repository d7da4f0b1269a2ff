// POST …/serviceaccounts/{name}/token: authorizes the caller, parses the request, has the target cluster issue the token, and
// writes the audit log.

import type { Authorizer } from '../../access/authorizer.ts';
import type { IssueTarget } from '../../access/issue-permission.ts';
import { RegistryGroup } from '../../api/names.ts';
import { FailureReason } from '../../api/reasons.ts';
import { unreachableMs } from '../../clusters/policy/known-unreachable.ts';
import type { KubeObject } from '../../kubernetes/object.ts';
import { type Reply, textReply } from '../../kubernetes/reply.ts';
import { checkAnswerForm, showAnswer } from '../../kubernetes/representation.ts';
import { forbidden, notFound, type Status, StatusError, statusError } from '../../kubernetes/status.ts';
import { answeredTokenRequest, checkUid, TOKEN_REQUEST_KIND } from '../../kubernetes/token-request.ts';
import { negotiate } from '../../kubernetes/wire/negotiate.ts';
import type { Clock } from '../../std/clock.ts';
import { goQuote } from '../../std/go-text.ts';
import { formatTimestamp } from '../../std/timestamp.ts';
import type { ClusterClients } from '../../targets/cluster-clients.ts';
import { IssueError } from '../../targets/issue-error.ts';
import type { RegisteredCluster } from '../../targets/registered-cluster.ts';
import type { TokenSource } from '../../targets/target.ts';
import { exchangeToken, type IssuedToken } from '../../targets/token-exchange.ts';
import type { Endpoint, FacadeRequest } from '../request.ts';
import type { Audit, AuditedRequest } from './audit.ts';
import { dryRun } from './dry-run.ts';
import type { PostedTokenRequest, TokenRequestReader } from './token-request.ts';

export interface TokenEndpointOptions {
  readonly authorizer: Authorizer;
  readonly clients: ClusterClients;
  /** Returns a Cluster and Purser's credential for it; undefined if the Cluster does not exist. */
  readonly registered: (cluster: string) => RegisteredCluster | undefined;
  readonly requests: TokenRequestReader;
  readonly audit: Audit;
  readonly clock: Clock;
  /** Interval of the controller's probes, in milliseconds. */
  readonly probeIntervalMs: number;
}

/** Returns the target of a path with `cluster`, `namespace` and `name`. */
export function issueTargetOf({ cluster = '', namespace = '', name: serviceAccount = '' }: FacadeRequest['params']): IssueTarget {
  return { cluster, namespace, serviceAccount };
}

/** Creates the endpoint. */
export function createTokenEndpoint(options: TokenEndpointOptions): Endpoint {
  return async (request) => {
    const target = issueTargetOf(request.params);
    const issuance = new Issuance(options, request, target);
    try {
      return await issuance.reply();
    } catch (error) {
      const { aborted, reason } = request.signal;
      const rejection: unknown = aborted ? reason : toRejection(error, target);
      options.audit.rejected(request, issuance.audited, rejection, error);
      throw rejection;
    }
  };
}

/** One token request in progress. */
class Issuance {
  readonly #options: TokenEndpointOptions;
  readonly #request: FacadeRequest;
  readonly #target: IssueTarget;
  /** The part of the request that is known so far. */
  audited: AuditedRequest;

  constructor(options: TokenEndpointOptions, request: FacadeRequest, target: IssueTarget) {
    this.#options = options;
    this.#request = request;
    this.#target = target;
    this.audited = { target };
  }

  async reply(): Promise<Reply> {
    const { authorizer, requests } = this.#options;
    const { caller, preferences, signal } = this.#request;
    // Before any lookup: a caller without permission cannot find out which clusters exist.
    await authorizer.authorize(caller.user, this.#target, signal);
    const representation = negotiate(preferences, { builtIn: true, tables: false });
    const posted = await requests.read(this.#request, this.#account, (decoded) => {
      this.audited = { target: this.#target, ...summary(decoded) };
    });
    // Before the token is issued: the caller would not receive it.
    checkAnswerForm(TOKEN_REQUEST_KIND, representation.as);
    const reply = textReply(201, showAnswer(await this.#perform(posted), TOKEN_REQUEST_KIND, representation.as), representation);
    return { ...reply, headers: { ...reply.headers, 'cache-control': 'no-cache, no-store, private' } };
  }

  get #account() {
    return { namespace: this.#target.namespace, name: this.#target.serviceAccount };
  }

  async #perform(posted: PostedTokenRequest): Promise<KubeObject> {
    const { clients, registered, clock, probeIntervalMs } = this.#options;
    const cluster = registered(this.#target.cluster);
    if (cluster === undefined) throw new IssueError('ClusterNotFound');
    const retryAfterMs = unreachableMs(cluster.cluster, probeIntervalMs, clock.now());
    if (retryAfterMs > 0) throw new IssueError('ClusterUnreachable', '', { retryAfterMs });
    return await clients.use(cluster, async (all) => {
      const target = all.forCalls();
      return posted.dryRun ? await this.#dryRun(target, posted) : await this.#issue(target, posted);
    });
  }

  async #dryRun(target: TokenSource, posted: PostedTokenRequest): Promise<KubeObject> {
    const { warn, signal } = this.#request;
    const response = await dryRun(posted, { target, account: this.#account, warn, signal });
    this.#options.audit.dryRun(this.#request, this.audited);
    return response;
  }

  async #issue(target: TokenSource, posted: PostedTokenRequest): Promise<KubeObject> {
    const { request, audiences, expirationSeconds } = posted;
    const startedAt = target.clock.monotonic();
    const token = await exchange(target, posted, this.#request.signal);
    const now = target.clock.now();
    const granted = {
      account: { ...this.#account, uid: token.accountUID },
      audiences,
      expirationSeconds: token.expirationSeconds ?? expirationSeconds,
      status: { token: token.token.reveal(), expirationTimestamp: formatTimestamp(token.statedExpiryAt) },
    };
    const response = answeredTokenRequest(request, granted, now);
    token.warnings.forEach(this.#request.warn);
    this.#options.audit.issued(this.#request, { ...this.audited, durationMs: target.clock.monotonic() - startedAt }, token);
    return response;
  }
}

/** Requests the token from the target. Throws an IssueError, or 409 for another service account of the same name. */
async function exchange(target: TokenSource, { request, outgoing }: PostedTokenRequest, signal: AbortSignal): Promise<IssuedToken> {
  const { expected, body } = outgoing;
  try {
    return await exchangeToken(target, expected, body, signal);
  } catch (error) {
    // An older server ignores the UID of the request, and issues a token that is discarded here.
    if (error instanceof IssueError && error.reason === 'ServiceAccountRecreated' && error.status === undefined) {
      const { accountUID: uid = 'unknown' } = error;
      checkUid(request, { ...expected, uid });
    }
    throw error;
  }
}

function summary({ request, audiences }: Pick<PostedTokenRequest, 'request' | 'audiences'>): Omit<AuditedRequest, 'target'> {
  const { expirationSeconds, boundObjectRef } = request.spec;
  const bound = boundObjectRef && { boundObject: `${boundObjectRef.kind ?? ''}/${boundObjectRef.name ?? ''}` };
  return { audiences, expirationSeconds, ...bound };
}

/** Default of Retry-After, in milliseconds. */
const RETRY_MS = 5_000;

/** Returns the error for the caller. A problem with Purser's own credential is never reported as one of the caller's. */
function toRejection(error: unknown, { cluster, serviceAccount }: IssueTarget): unknown {
  if (!(error instanceof IssueError)) return error;
  const { reason, status, retryAfterMs = RETRY_MS } = error;
  const retryAfterSeconds = Math.ceil(retryAfterMs / 1000);
  if (status !== undefined) return relayed(status, retryAfterSeconds);
  if (reason === 'ClusterNotFound') return notFound({ group: RegistryGroup, name: 'clusters' }, cluster);
  const why = (FailureReason as Readonly<Record<string, string>>)[reason] ?? reason;
  if (reason === 'OwnNamespace' || reason === 'NamespaceNotAllowed')
    return forbidden({ group: '', name: 'serviceaccounts' }, serviceAccount, why);
  const message = `cluster ${goQuote(cluster)} cannot issue a token now: ${why}`;
  const causes = [{ reason, message: why }];
  if (reason === 'ClusterTimeout') return statusError('Timeout', `Timeout: ${message}`, { causes });
  return statusError('ServiceUnavailable', message, { causes, retryAfterSeconds });
}

/** Returns the target's own error. Its Retry-After is limited. */
function relayed(status: Status, retryAfterSeconds: number): StatusError {
  if (status.details?.retryAfterSeconds === undefined && status.code !== 429) return new StatusError(status);
  return new StatusError({ ...status, details: { ...status.details, retryAfterSeconds } });
}
