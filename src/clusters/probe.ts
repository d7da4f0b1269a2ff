// A probe of a cluster: /readyz each time, and at longer intervals the version, Purser's identity and permissions on the cluster and, for a
// federated cluster, the audiences of the API server. If a cluster rejects tokens issued by the hub, Purser also sends an access review to
// the hub.

import { parseAccessDecision, reviewAccess } from '../access/hub-review.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import type { CallOptions, KubeClient } from '../kube/client.ts';
import { ProxyErrorCode } from '../kube/proxy.ts';
import { toStatusError } from '../kube/response.ts';
import { SelfSubjectAccessReviews } from '../kube/reviews.ts';
import { StatusError } from '../kubernetes/status.ts';
import type { Clock } from '../std/clock.ts';
import { IssueError, type IssueErrorReason, isOutage, toStatusFailure } from '../targets/issue-error.ts';
import { isClusterLocalIssuer } from '../targets/policy/token-claims.ts';
import { findAPIAudiences, reviewOwnUsername } from '../targets/reviews.ts';
import type { Target, TargetCaller } from '../targets/target.ts';
import type { Fault, FaultReason } from './policy/conditions.ts';

export interface ProbeScope {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** True if a failure of /readyz is retried immediately. */
  readonly isRetried: boolean;
  /** True if the probe of a responding cluster also checks version, identity and permissions. */
  readonly includesAccess: boolean;
  /** True if the checks also include the audiences of the API server; ignored unless the cluster is federated. */
  readonly includesAudiences: boolean;
  /** Returns the namespaces to review if the credential is not permitted to issue tokens in every namespace. */
  readonly namespaces: () => readonly string[];
}

/** Result of the check of Purser's identity and permissions. */
export interface IssueScope {
  readonly fault?: Fault | undefined;
  /** Phrase about the namespaces in which tokens can be issued, such as `in 2 namespaces`; undefined for all, and after a failed check. */
  readonly scope?: string | undefined;
}

export interface ProbeResult {
  /** Failure of /readyz, or the reason why Purser could not request it; undefined if the cluster is ready. */
  readonly fault?: Fault | undefined;
  /** Duration of the last /readyz request, in milliseconds; undefined unless it succeeded or failed with the reason NotReady. */
  readonly latencyMs?: number | undefined;
  /** Result of the check of Purser's identity and permissions on the cluster; undefined if they were not checked. */
  readonly access?: IssueScope | undefined;
  /** Version of the cluster; undefined if it was not checked or is unknown. */
  readonly version?: string | undefined;
  /**
   * Audiences of the API server; empty if it states none or forbids the review, undefined if the review failed otherwise or was not sent.
   */
  readonly apiAudiences?: readonly string[] | undefined;
}

/** Probes the target. Throws only when `signal` aborts, or for a defect. */
export async function probe(
  target: Target,
  { clock, isRetried, includesAccess, includesAudiences, namespaces }: ProbeScope,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const prober = target.createProber(DEADLINE_MS);
  const check = async () => {
    const startedAt = clock.monotonic();
    return { fault: await checkReadiness(prober, signal), latencyMs: clock.monotonic() - startedAt };
  };
  const first = await check();
  const { fault, latencyMs } = first.fault !== undefined && isRetried ? await check() : first;
  const isResponding = fault === undefined || fault.reason === 'NotReady';
  if (!isResponding) return { fault };
  if (!includesAccess) return { fault, latencyMs };
  // Sequential, so that one connection to each cluster is enough.
  const access = await checkAccess(prober, namespaces, signal);
  const version = await fetchVersion(prober, signal);
  // Only federated clusters need a review: a stored JWT contains its audiences, and other stored credentials contain none.
  const isReviewed = includesAudiences && target.credential?.type === 'serviceAccount';
  return { fault, latencyMs, access, version, apiAudiences: isReviewed ? await findAPIAudiences(prober, signal) : undefined };
}

/** Converts a StatusError or an IssueError to a Fault. Rethrows other errors. */
export function toFault(error: unknown): Fault {
  if (error instanceof StatusError) return toStatusFault(error);
  if (!(error instanceof IssueError)) throw error;
  const { code = '', reason } = error;
  return { reason: REASONS_BY_CODE[code] ?? REASONS_BY_FAILURE[reason] ?? 'Unreachable', detail: error.detail };
}

/** Deadline of each request of a probe, in milliseconds. */
const DEADLINE_MS = 5_000;

/** Reasons of faults, by network error code. */
const REASONS_BY_CODE: Readonly<Record<string, FaultReason>> = {
  ENOTFOUND: 'DNSFailed',
  EAI_AGAIN: 'DNSFailed',
  EAI_FAIL: 'DNSFailed',
  ECONNREFUSED: 'ConnectionRefused',
  [ProxyErrorCode.unreachable]: 'ProxyUnreachable',
  [ProxyErrorCode.rejected]: 'ProxyRejected',
  // The node or container that Purser runs on lacks resources.
  EMFILE: 'ProbeFailed',
  ENFILE: 'ProbeFailed',
  ENOBUFS: 'ProbeFailed',
  ENOMEM: 'ProbeFailed',
  EADDRNOTAVAIL: 'ProbeFailed',
};

const REASONS_BY_FAILURE: Readonly<Partial<Record<IssueErrorReason, FaultReason>>> = {
  ClusterTimeout: 'Timeout',
  TLSVerifyFailed: 'TLSVerifyFailed',
  AddressNotAllowed: 'AddressNotAllowed',
  ResponseUntrusted: 'ResponseUntrusted',
  CredentialMissing: 'CredentialMissing',
  CredentialRejected: 'CredentialRejected',
  CredentialNotForCluster: 'CredentialNotForCluster',
  EndpointNotPinned: 'EndpointNotPinned',
  CANotPinned: 'CANotPinned',
  EndpointConflict: 'EndpointConflict',
  HubTokenForbidden: 'HubTokenForbidden',
  HubTokenFailed: 'HubTokenFailed',
  TargetThrottled: 'Throttled',
  IdentityUnknown: 'PermissionsUnknown',
};

function toStatusFault(error: StatusError): Fault {
  const detail = error.message;
  const { reason } = toStatusFailure(error);
  if (reason === 'CredentialRejected') return { reason, detail };
  if (reason === 'TargetThrottled') return { reason: 'Throttled', detail };
  if (error.code < 400 || error.code === 404) return { reason: 'ResponseUntrusted', detail };
  return { reason: isOutage(error) ? 'Unreachable' : 'NotReady', detail };
}

/** Converts the error of a review to a Fault: PermissionsUnknown, unless the target rejects the credential. */
function toAccessFault(error: unknown): Fault {
  const { reason, detail } = toFault(error);
  return { reason: reason === 'CredentialRejected' ? reason : 'PermissionsUnknown', detail };
}

async function checkReadiness(prober: TargetCaller, signal: AbortSignal): Promise<Fault | undefined> {
  try {
    return await prober.call(requestReadiness, signal);
  } catch (error) {
    signal.throwIfAborted();
    return toFault(error);
  }
}

async function requestReadiness({ transport }: KubeClient, options: CallOptions): Promise<Fault | undefined> {
  const response = await transport.request({ method: 'GET', path: '/readyz', headers: { accept: '*/*' }, ...options });
  if (response.status >= 200 && response.status < 300) return undefined;
  if (response.status === 500) return { reason: 'NotReady', detail: formatFailedChecks(response.body) };
  const error = toStatusError(response);
  // A user without permission for /readyz is still authenticated.
  if (error.code === 403 && !error.message.includes('system:anonymous')) return undefined;
  throw error;
}

/** Returns a phrase with up to five failed checks in the body of a /readyz response; empty if there are none. */
function formatFailedChecks(body: string): string {
  const names = [...body.slice(0, 8_192).matchAll(/^\[-\]([\w./-]{1,63}) /gm)].map(([, name]) => name);
  return names.length === 0 ? '' : `failed checks: ${names.slice(0, 5).join(', ')}`;
}

/** Returns the version; undefined if it is unknown. An unknown version is not a fault. */
async function fetchVersion(prober: TargetCaller, signal: AbortSignal): Promise<string | undefined> {
  try {
    const text = await prober.call((client, options) => client.getText('/version', options), signal);
    return parseVersion((JSON.parse(text) as { readonly gitVersion?: unknown } | null)?.gitVersion);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SyntaxError || error instanceof IssueError || error instanceof StatusError) return undefined;
    throw error;
  }
}

/**
 * Returns the version that a cluster reports, shortened to 64 characters, without characters that cannot occur in versions. Returns
 * undefined if no character is left, or if `gitVersion`, which is untrusted, is not a string.
 */
export function parseVersion(gitVersion: unknown): string | undefined {
  if (typeof gitVersion !== 'string') return undefined;
  const text = gitVersion
    .slice(0, MAX_READ)
    .replace(ANSI, '')
    .replace(/[^\w.+~-]/g, '')
    .slice(0, MAX_VERSION_LENGTH);
  return text === '' ? undefined : text;
}

/** Maximum lengths of the text that is read and of the result, in characters. */
const MAX_READ = 1_024;
const MAX_VERSION_LENGTH = 64;
/** Terminal escape sequences. */
// oxlint-disable-next-line no-control-regex
const ANSI = /\x1b\[[0-9;?]*[ -/]*[@-~]/g;

async function checkAccess(prober: TargetCaller, namespaces: () => readonly string[], signal: AbortSignal): Promise<IssueScope> {
  try {
    const username = await reviewOwnUsername(prober, signal);
    if (await mayIssue(prober, {}, signal)) return {};
    const reviews: boolean[] = [];
    for (const namespace of namespaces()) reviews.push(await mayIssue(prober, { namespace }, signal));
    return toIssueScope(username, reviews);
  } catch (error) {
    signal.throwIfAborted();
    return { fault: toAccessFault(error) };
  }
}

/** Maximum number of reviewed namespaces; each costs one SelfSubjectAccessReview per check. */
const MAX_NAMESPACES = 10;

/**
 * Returns the namespaces to review if Purser is not permitted to issue tokens in every namespace: at most 10, beginning with those for
 * which tokens were issued. `allowed` lists the namespaces in the credential Secret; undefined if the Secret allows all. Listed namespaces
 * are reviewed even before the first ManagedToken names them, so that a new cluster can become Ready.
 */
export function selectNamespaces(tokens: readonly ManagedToken[], allowed: readonly string[] | undefined): readonly string[] {
  // After a change to the spec, the status may describe a token for another cluster or namespace.
  const wasIssued = ({ metadata, status }: ManagedToken) =>
    status?.issuedAt !== undefined && status.observedGeneration === metadata.generation;
  const [issued, others] = [tokens.filter(wasIssued), tokens.filter((token) => !wasIssued(token))].map(namespacesOf);
  const named = [...new Set([...(issued ?? []), ...(others ?? [])])];
  const listed = new Set(allowed);
  const candidates = allowed === undefined ? named : [...named.filter((namespace) => listed.has(namespace)), ...listed];
  return [...new Set(candidates)].slice(0, MAX_NAMESPACES);
}

/**
 * Returns the scope of a user that is not permitted to issue tokens in every namespace, from one review per namespace. One allowed
 * namespace is enough: a ManagedToken for a namespace that is not allowed must not affect other ManagedTokens.
 */
export function toIssueScope(username: string, reviews: readonly boolean[]): IssueScope {
  const allowed = reviews.filter(Boolean).length;
  if (allowed === 0) return { fault: { reason: 'Forbidden', detail: `user ${username}` } };
  const namespaces = reviews.length === 1 ? 'namespace' : 'namespaces';
  return {
    scope: allowed === reviews.length ? `in ${allowed} ${namespaces}` : `in ${allowed} of ${reviews.length} reviewed ${namespaces}`,
  };
}

function namespacesOf(tokens: readonly ManagedToken[]): readonly string[] {
  return tokens.map(({ spec }) => spec.serviceAccount.namespace).sort();
}

/** Returns whether Purser may issue tokens in a namespace or, if `namespace` is undefined, in all namespaces. */
async function mayIssue(prober: TargetCaller, scope: { readonly namespace?: string }, signal: AbortSignal): Promise<boolean> {
  const spec = { resourceAttributes: { verb: 'create', resource: 'serviceaccounts', subresource: 'token', ...scope } };
  const review: unknown = await prober.call((client, options) => client.createReview(SelfSubjectAccessReviews, { spec }, options), signal);
  return parseAccessDecision(review)?.allowed === true;
}

/**
 * Returns a fault with issuer, audience and remedy if the cluster rejected a token that the hub issued; any other fault unchanged. In the
 * first case, checks with a SubjectAccessReview whether the hub publishes its keys. Throws only when `signal` aborts.
 */
export async function explainRejection(
  fault: Fault,
  { credential, activeServer = '' }: Pick<Target, 'credential' | 'activeServer'>,
  hub: Pick<KubeClient, 'createReview'>,
  signal: AbortSignal,
): Promise<Fault> {
  const token = credential?.type === 'serviceAccount' ? credential.tokens.get(activeServer) : undefined;
  if (fault.reason !== 'CredentialRejected' || token === undefined) return fault;
  return toFederationFault(token, await areKeysPublic(hub, signal));
}

/** A token that the hub issued and a cluster rejected. */
export interface RejectedToken {
  readonly audience: string;
  /** Issuer of the token; undefined if unknown. */
  readonly issuer: string | undefined;
}

/** Returns the fault of a rejected token, with a remedy. `isPublished` is false if the hub rejects anonymous requests for its keys. */
export function toFederationFault({ audience, issuer = 'unknown' }: RejectedToken, isPublished: boolean): Fault {
  return {
    reason: 'CredentialRejected',
    detail: `tokens issued by the hub, with issuer ${issuer} and audience ${audience}`,
    remedy: [
      ...(isClusterLocalIssuer(issuer) ? [OTHER_ISSUER] : []),
      ...(isPublished ? [] : [PUBLISH_KEYS]),
      "compare the configuration of the cluster's API server with the output of purser print authentication-config --issuer ISSUER --server ADDRESS",
    ].join('; '),
  };
}

const OTHER_ISSUER =
  "set --service-account-issuer of the hub's API server to the hub's own URL: many clusters have the current issuer by default, and a cluster cannot trust a hub with the same issuer";
const PUBLISH_KEYS =
  'on the hub, bind the ClusterRole system:service-account-issuer-discovery to the group system:unauthenticated, unless the issuer publishes its keys elsewhere';

const ANONYMOUS_USER = { username: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} };
const KEYS = { nonResourceAttributes: { path: '/openid/v1/jwks', verb: 'get' } };

/** Returns whether the hub publishes its keys; true if that is unknown. */
async function areKeysPublic(hub: Pick<KubeClient, 'createReview'>, signal: AbortSignal): Promise<boolean> {
  try {
    return (await reviewAccess(hub, ANONYMOUS_USER, KEYS, { signal, timeoutMs: DEADLINE_MS })).allowed;
  } catch {
    signal.throwIfAborted();
    return true;
  }
}
