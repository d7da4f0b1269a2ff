// POST …/serviceaccounts/{name}/token: authorizes the caller, parses the request, requests the token from the target cluster, and writes
// the audit log.

import { clusterSetOf } from '../../access/cluster-set.ts';
import type { IssueTarget } from '../../access/issue-permission.ts';
import { RegistryGroup } from '../../api/names.ts';
import { FailureReason } from '../../api/reasons.ts';
import { type ApiObject, Pods, type Resource, Secrets, ServiceAccounts } from '../../api/resources.ts';
import { computeUnreachableMs } from '../../clusters/policy/health.ts';
import type { KubeObject } from '../../kubernetes/object.ts';
import { createTextReply, type Reply } from '../../kubernetes/reply.ts';
import { checkVirtualForm, encodeVirtualObject } from '../../kubernetes/representation.ts';
import { forbidden, notFound, type Status, StatusError, statusError } from '../../kubernetes/status.ts';
import {
  checkBoundKind,
  checkBoundObject,
  checkExpiration,
  checkName,
  checkObjectName,
  checkUid,
  type ServiceAccountName,
  TOKEN_REQUEST_KIND,
  toTokenResponse,
} from '../../kubernetes/token-request.ts';
import { fieldsOf, textOf, uidOf } from '../../kubernetes/untrusted.ts';
import { negotiate } from '../../kubernetes/wire/negotiate.ts';
import type { Clock } from '../../std/clock.ts';
import { quoteGoString } from '../../std/go-text.ts';
import { formatTimestamp } from '../../std/timestamp.ts';
import type { ClusterClients } from '../../targets/cluster-clients.ts';
import { IssueError } from '../../targets/issue-error.ts';
import { checkServiceAccount, type IssuedToken, issueTokenWithBody } from '../../targets/issue-token.ts';
import { type ObjectPart, readObject } from '../../targets/read-object.ts';
import type { RegisteredCluster } from '../../targets/registry.ts';
import type { TokenSource } from '../../targets/target.ts';
import { recheckToken } from '../authenticate.ts';
import type { Endpoint, FacadeRequest } from '../request.ts';
import type { Audit, AuditedRequest } from './audit.ts';
import type { Authorizer } from './authorizer.ts';
import type { ParsedTokenRequest, TokenRequestParser } from './request-parser.ts';

export interface TokenEndpointOptions {
  readonly authorizer: Authorizer;
  readonly clients: ClusterClients;
  /** Returns a Cluster, with Purser's credential for it if there is one; undefined if the Cluster does not exist or is being deleted. */
  readonly findRegistration: (cluster: string) => RegisteredCluster | undefined;
  readonly parser: TokenRequestParser;
  readonly audit: Audit;
  readonly clock: Clock;
  /** Interval at which the controller probes each cluster, in milliseconds. */
  readonly probeIntervalMs: number;
}

/** Returns the service account that the path parameters `cluster`, `namespace` and `name` identify. */
export function toIssueTarget({ cluster = '', namespace = '', name: serviceAccount = '' }: FacadeRequest['params']): IssueTarget {
  return { cluster, namespace, serviceAccount };
}

export function createTokenEndpoint(options: TokenEndpointOptions): Endpoint {
  return async (request) => {
    const target = toIssueTarget(request.params);
    const issuance = new Issuance(options, request, target);
    try {
      return await issuance.reply();
    } catch (error) {
      const { aborted, reason } = request.signal;
      const rejection: unknown = aborted ? reason : toCallerError(error, target);
      options.audit.recordRejected(request, issuance.audited, rejection, error);
      throw rejection;
    }
  };
}

/** One token request in progress. */
class Issuance {
  readonly #options: TokenEndpointOptions;
  readonly #request: FacadeRequest;
  readonly #target: IssueTarget;
  /** Fields of the audit line that are known so far. */
  audited: AuditedRequest;

  constructor(options: TokenEndpointOptions, request: FacadeRequest, target: IssueTarget) {
    this.#options = options;
    this.#request = request;
    this.#target = target;
    this.audited = { target };
  }

  async reply(): Promise<Reply> {
    const { parser } = this.#options;
    const { preferences } = this.#request;
    // Authorization comes before anything that depends on the cluster: a caller without permission must not find out which clusters exist.
    await this.#authorize();
    const representation = negotiate(preferences, { builtIn: true, tables: false });
    const posted = await parser.parse(this.#request, this.#serviceAccount, (decoded) => {
      this.audited = { target: this.#target, ...toAudited(decoded) };
    });
    // The form is checked before the token is issued: with an unsupported form, the caller would not receive the token.
    checkVirtualForm(TOKEN_REQUEST_KIND, representation.as);
    const reply = createTextReply(
      201,
      encodeVirtualObject(await this.#issueOrDryRun(posted), TOKEN_REQUEST_KIND, representation.as),
      representation,
    );
    return { ...reply, headers: { ...reply.headers, 'cache-control': 'no-cache, no-store, private' } };
  }

  get #serviceAccount() {
    return { namespace: this.#target.namespace, name: this.#target.serviceAccount };
  }

  /**
   * Authorizes the caller for the cluster in its current set. Returns the registered cluster; undefined if the Cluster does not exist or is
   * being deleted.
   */
  async #authorize(): Promise<RegisteredCluster | undefined> {
    const { authorizer, findRegistration } = this.#options;
    const { caller, signal } = this.#request;
    for (;;) {
      const clusterSet = clusterSetOf(findRegistration(this.#target.cluster)?.cluster);
      await authorizer.authorize(caller.user, { ...this.#target, clusterSet }, signal);
      const registration = findRegistration(this.#target.cluster);
      // A relabeled Cluster needs another review.
      if (clusterSetOf(registration?.cluster) === clusterSet) return registration;
    }
  }

  async #issueOrDryRun(posted: ParsedTokenRequest): Promise<KubeObject> {
    const { clients, clock, probeIntervalMs } = this.#options;
    // The body may have arrived late, so the caller's token or permission may have become invalid since the request began.
    await recheckToken(this.#request);
    const registration = await this.#authorize();
    if (registration === undefined) throw new IssueError('ClusterNotFound');
    const retryAfterMs = computeUnreachableMs(registration.cluster, probeIntervalMs, clock.now());
    if (retryAfterMs > 0) throw new IssueError('ClusterUnreachable', '', { retryAfterMs });
    return await clients.use(registration, async (target) => {
      const source = target.forFacade();
      return posted.dryRun ? await this.#dryRun(source, posted) : await this.#issue(source, posted);
    });
  }

  async #dryRun(source: TokenSource, posted: ParsedTokenRequest): Promise<KubeObject> {
    const { warn, signal } = this.#request;
    const response = await dryRun(posted, { source, serviceAccount: this.#serviceAccount, warn, signal });
    this.#options.audit.recordDryRun(this.#request, this.audited);
    return response;
  }

  async #issue(source: TokenSource, posted: ParsedTokenRequest): Promise<KubeObject> {
    const { tokenRequest, audiences, expirationSeconds } = posted;
    const startedAt = source.clock.monotonic();
    const token = await issueAndCheckUid(source, posted, this.#request.signal);
    const now = source.clock.now();
    const granted = {
      serviceAccount: { ...this.#serviceAccount, uid: token.accountUID },
      audiences,
      expirationSeconds: token.expirationSeconds ?? expirationSeconds,
      status: { token: token.token.reveal(), expirationTimestamp: formatTimestamp(token.statedExpiryAt) },
    };
    const response = toTokenResponse(tokenRequest, granted, now);
    token.warnings.forEach(this.#request.warn);
    this.#options.audit.recordIssued(this.#request, { ...this.audited, durationMs: source.clock.monotonic() - startedAt }, token);
    return response;
  }
}

/** Issues the token on the target cluster. Throws an IssueError, or 409 if the request has a different UID than the service account. */
async function issueAndCheckUid(
  source: TokenSource,
  { tokenRequest, outgoing }: ParsedTokenRequest,
  signal: AbortSignal,
): Promise<IssuedToken> {
  const { expected, body } = outgoing;
  try {
    return await issueTokenWithBody(source, expected, body, signal);
  } catch (error) {
    // A kube-apiserver before 1.34 ignores the UID in the request. Discards the token that the server has issued.
    if (error instanceof IssueError && error.reason === 'ServiceAccountRecreated' && error.status === undefined) {
      const { accountUID: uid = 'unknown' } = error;
      checkUid(tokenRequest, { ...expected, uid });
    }
    throw error;
  }
}

function toAudited({ tokenRequest, audiences }: Pick<ParsedTokenRequest, 'tokenRequest' | 'audiences'>): Omit<AuditedRequest, 'target'> {
  const { expirationSeconds, boundObjectRef } = tokenRequest.spec;
  const bound = boundObjectRef && { boundObject: `${boundObjectRef.kind ?? ''}/${boundObjectRef.name ?? ''}` };
  return { audiences, expirationSeconds, ...bound };
}

/** Default of Retry-After, in milliseconds. */
const RETRY_MS = 5_000;

/** Returns the error for the caller. If the target cluster rejected Purser's credential, the error is neither 401 nor 403. */
function toCallerError(error: unknown, { cluster, serviceAccount }: IssueTarget): unknown {
  if (!(error instanceof IssueError)) return error;
  const { reason, status, retryAfterMs = RETRY_MS } = error;
  const retryAfterSeconds = Math.ceil(retryAfterMs / 1000);
  if (status !== undefined) return toRelayed(status, retryAfterSeconds);
  if (reason === 'ClusterNotFound') return notFound({ group: RegistryGroup, name: 'clusters' }, cluster);
  const why = (FailureReason as Readonly<Record<string, string>>)[reason] ?? reason;
  if (reason === 'OwnNamespace' || reason === 'NamespaceNotAllowed')
    return forbidden({ group: '', name: 'serviceaccounts' }, serviceAccount, why);
  const message = `cluster ${quoteGoString(cluster)} cannot issue a token now: ${why}`;
  const causes = [{ reason, message: why }];
  if (reason === 'ClusterTimeout') return statusError('Timeout', `Timeout: ${message}`, { causes });
  return statusError('ServiceUnavailable', message, { causes, retryAfterSeconds });
}

/** Returns the error from the target cluster. Limits its Retry-After, and adds a Retry-After to a 429 without one. */
function toRelayed(status: Status, retryAfterSeconds: number): StatusError {
  if (status.details?.retryAfterSeconds === undefined && status.code !== 429) return new StatusError(status);
  return new StatusError({ ...status, details: { ...status.details, retryAfterSeconds } });
}

interface DryRunOptions {
  readonly source: TokenSource;
  readonly serviceAccount: ServiceAccountName;
  /** Warns the caller about a check that was not possible. */
  readonly warn: (text: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Checks a token request without sending it to the target, which would issue a token even in a dry run. Returns the response to the caller.
 * Throws an IssueError, or the StatusError that the target would return.
 */
async function dryRun(posted: ParsedTokenRequest, options: DryRunOptions): Promise<KubeObject> {
  const { tokenRequest, audiences, expirationSeconds } = posted;
  const { source, serviceAccount, signal } = options;
  await checkServiceAccount(source, serviceAccount, signal);
  checkName(tokenRequest, serviceAccount);
  const uid = uidOf(await readOrWarn(ServiceAccounts, serviceAccount, 'metadata', options));
  if (uid !== undefined) checkUid(tokenRequest, { ...serviceAccount, uid });
  checkExpiration(tokenRequest);
  await checkBoundReference(tokenRequest.spec.boundObjectRef, options);
  const now = source.clock.now();
  const response = { serviceAccount: { ...serviceAccount, uid }, audiences, expirationSeconds, status: { token: '' } };
  return toTokenResponse(tokenRequest, response, now);
}

async function checkBoundReference(
  reference: ParsedTokenRequest['tokenRequest']['spec']['boundObjectRef'],
  options: DryRunOptions,
): Promise<void> {
  if (reference === undefined) return;
  const { kind = '', name = '' } = reference;
  checkBoundKind(reference, [Pods.kind, Secrets.kind]);
  checkObjectName(name);
  const { namespace, name: serviceAccount } = options.serviceAccount;
  const found =
    kind === Pods.kind
      ? readOrWarn(Pods, { namespace, name }, 'whole', options)
      : readOrWarn(Secrets, { namespace, name }, 'metadata', options);
  const object = await found;
  if (object === undefined) return;
  const serviceAccountName = textOf(fieldsOf(object['spec'])['serviceAccountName']);
  checkBoundObject(reference, { uid: uidOf(object) ?? '', serviceAccountName }, serviceAccount);
}

async function readOrWarn(
  resource: Resource<ApiObject>,
  name: ServiceAccountName,
  part: ObjectPart,
  { source, warn, signal }: DryRunOptions,
) {
  const object = await readObject(source, resource, name, { part, signal });
  if (object === undefined) warn(`existence not checked: Purser has no permission to read ${resource.plural} on the cluster`);
  return object;
}
