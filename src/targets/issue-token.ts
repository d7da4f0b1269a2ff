// One TokenRequest to a target, and its response. Purser checks the whole response, because a target may be hostile.

import { ServiceAccounts } from '../api/resources.ts';
import { objectPath } from '../kube/paths.ts';
import { type HttpResponse, parseWarnings, toStatusError } from '../kube/response.ts';
import { validateDns1123Label, validateDns1123Subdomain } from '../kubernetes/names.ts';
import type { Fields } from '../kubernetes/object.ts';
import { parseServiceAccountNamespace, toServiceAccountUsername } from '../kubernetes/service-account.ts';
import { StatusError } from '../kubernetes/status.ts';
import { fieldsOf, isKind, textOf, uidOf } from '../kubernetes/untrusted.ts';
import type { Clock } from '../std/clock.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import { redactSecret, redactTokens, Sensitive } from '../std/sensitive.ts';
import { parseTimestamp } from '../std/timestamp.ts';
import { secretsOf } from './credential.ts';
import type { HubSettings } from './hub.ts';
import { IssueError, type IssueErrorOptions, toStatusFailure } from './issue-error.ts';
import {
  type BoundObject,
  checkGrant,
  computeGrantedLifetimeMs,
  computeMaxTokenLength,
  type Grant,
  type GrantResponse,
  isReservedAudience,
  isSilentlyExtended,
  selectGrantedAudiences,
  type TargetTokenRequest,
} from './policy/grant.ts';
import { parseTokenClaims, type TokenClaims } from './policy/token-claims.ts';
import { findOwnUsername } from './reviews.ts';
import type { Target, TokenSource } from './target.ts';

/** A token with the other fields of the response. */
export interface IssuedToken extends Grant {
  /** Expiry in the response, on the target's clock, in milliseconds since the epoch. */
  readonly statedExpiryAt: number;
  /** Lifetime in the response, in seconds; absent if there is none. */
  readonly expirationSeconds?: number;
  readonly accountUID?: string;
  readonly warnings: readonly string[];
}

/** Requests a token. Throws an IssueError if the request fails, or the reason of `signal` if it is aborted. */
export async function issueToken(target: Target, request: TargetTokenRequest, signal: AbortSignal): Promise<Grant> {
  checkNames(request);
  const { token, issuedAt, expiresAt, audiences, claims } = await issueTokenWithBody(
    target,
    request,
    JSON.stringify(toBody(request)),
    signal,
  );
  return omitUndefined({ token, issuedAt, expiresAt, audiences, claims });
}

/**
 * Sends `body`, which must be equivalent to `request`. Returns a token that was checked against `request`. Throws an IssueError if the
 * request fails, or the reason of `signal` if it is aborted.
 */
export async function issueTokenWithBody(
  target: TokenSource,
  request: TargetTokenRequest,
  body: string,
  signal: AbortSignal,
): Promise<IssuedToken> {
  const reserved = request.audiences.find(isReservedAudience);
  if (reserved !== undefined) throw new IssueError('InvalidSpec', `the audience ${reserved} is reserved for Purser's own tokens`);
  await checkServiceAccount(target, request, signal);
  return await postTokenRequest(target, request, body, signal);
}

/**
 * Requests a token for Purser's own service account, which `issueToken` rejects, with the audiences of the API server. Only the renewal of
 * Purser's credential may call this function. Throws an IssueError if the request fails, or the reason of `signal` if it is aborted.
 */
export async function issueOwnToken(target: Target, request: Omit<TargetTokenRequest, 'audiences'>, signal: AbortSignal): Promise<Grant> {
  const own = { ...request, audiences: [] };
  checkNames(own);
  if ((await findOwnUsername(target, signal)) !== toServiceAccountUsername(own))
    throw new IssueError('IdentityUnknown', "the request is not for Purser's own service account");
  const { token, issuedAt, expiresAt, audiences, claims } = await postTokenRequest(target, own, JSON.stringify(toBody(own)), signal);
  return omitUndefined({ token, issuedAt, expiresAt, audiences, claims });
}

/** A service account on the hub and the audience of its token. */
export interface HubTokenName {
  /** Name of the service account in Purser's namespace. */
  readonly serviceAccount: string;
  readonly audience: string;
}

/**
 * Requests a token for a service account in Purser's namespace from the hub, for one address of a target. Throws an IssueError with reason
 * HubTokenForbidden or HubTokenFailed. The error does not contain the hub's Status, because the façade would return it to callers.
 */
export async function issueHubToken(
  { client, namespace }: HubSettings,
  { serviceAccount, audience }: HubTokenName,
  clock: Clock,
): Promise<Grant> {
  const call: Target['call'] = (sendTo, signal) => sendTo(client, { signal, timeoutMs: HUB_TIMEOUT_MS });
  const request = { namespace, name: serviceAccount, audiences: [audience], expirationSeconds: HUB_TOKEN_SECONDS };
  try {
    const hub = { call, clock, credential: undefined };
    const { token, issuedAt, expiresAt, audiences, claims } = await postTokenRequest(
      hub,
      request,
      JSON.stringify(toBody(request)),
      new AbortController().signal,
    );
    // Only the claims prove that the token is not valid at another address.
    if (claims === undefined) throw new IssueError('ResponseUntrusted', 'the token from the hub is not a JWT');
    return { token, issuedAt, expiresAt, audiences, claims };
  } catch (error) {
    throw toHubFailure(error, request);
  }
}

function toHubFailure(error: unknown, { namespace, name }: TargetTokenRequest): IssueError {
  if (!(error instanceof IssueError)) return new IssueError('HubTokenFailed', error instanceof Error ? error.message : '');
  const { reason, detail, retryAfterMs } = error;
  const options = omitUndefined({ retryAfterMs });
  if (reason === 'TargetForbidden') return new IssueError('HubTokenForbidden', detail, options);
  const cause = reason === 'ServiceAccountNotFound' ? `the hub has no service account ${namespace}/${name}` : detail || reason;
  return new IssueError('HubTokenFailed', cause, options);
}

const HUB_TIMEOUT_MS = 5_000;
/** Requested lifetime of tokens from the hub, in seconds. */
const HUB_TOKEN_SECONDS = 3_600;

type RequestTarget = Pick<TokenSource, 'call' | 'clock' | 'credential'>;

async function postTokenRequest(
  target: RequestTarget,
  request: TargetTokenRequest,
  body: string,
  signal: AbortSignal,
): Promise<IssuedToken> {
  const sentAt = target.clock.now();
  const response = await send(target, request, body, signal);
  const serverAt = readServerTime(response, target.clock.now());
  const issued = toIssuedToken(request, { fields: parseResponse(response), sentAt, serverAt });
  const secrets = secretsOf(target.credential);
  if (secrets.includes(issued.token.reveal())) throw new IssueError('ResponseUntrusted', "the response contains Purser's own token");
  const warnings = parseWarnings(response.headers).map((text) => redactTokens(secrets.reduce(redactSecret, text)));
  return { ...issued, warnings };
}

/**
 * Throws an IssueError if the credential does not allow the namespace, if Purser's own service account is, or may be, in the namespace, or
 * if a request fails. Other service accounts in that namespace can often create tokens for Purser's service account.
 */
export async function checkServiceAccount(
  target: TokenSource,
  { namespace }: Pick<TargetTokenRequest, 'namespace'>,
  signal: AbortSignal,
): Promise<void> {
  if (target.namespaces?.includes(namespace) === false) throw new IssueError('NamespaceNotAllowed');
  const username = await findOwnUsername(target, signal);
  if (parseServiceAccountNamespace(username) === namespace) throw new IssueError('OwnNamespace');
  const candidate = { credential: target.credential, username, call: target.call.bind(target) };
  if (await target.hub?.isPurserNamespace(namespace, candidate, signal)) throw new IssueError('OwnNamespace');
}

/** Returns the error for a service account that does not exist on the target, with a remedy. */
export function serviceAccountNotFound(
  { namespace, name }: Pick<TargetTokenRequest, 'namespace' | 'name'>,
  options?: IssueErrorOptions,
): IssueError {
  const text = `the cluster has no service account ${namespace}/${name}. Create it on the cluster. If spec.serviceAccount of a ManagedToken names it, you can change spec.serviceAccount instead`;
  return new IssueError('ServiceAccountNotFound', text, options);
}

/** Returns the error for a bound object that does not exist on the target, or that has a different UID, with a remedy. */
function boundObjectNotFound(namespace: string, { kind, name }: BoundObject, { code, status }: StatusError): IssueError {
  const text =
    code === 404
      ? `the cluster has no ${kind} ${namespace}/${name}. If spec.boundObjectRef names it, create it on the cluster or change spec.boundObjectRef`
      : `the ${kind} ${namespace}/${name} has a different UID. If spec.boundObjectRef names it, change or remove spec.boundObjectRef.uid`;
  return new IssueError('BoundObjectNotFound', text, { status });
}

interface TimedResponse {
  readonly fields: Fields;
  readonly sentAt: number;
  /** Time of the response on the target's clock. */
  readonly serverAt: number;
}

/** Maximum difference between the clocks of Purser and the target, in milliseconds; a Date header with a larger difference is ignored. */
const MAX_SKEW_MS = 24 * 3_600_000;
/** Maximum length of a response to an empty request, in bytes. */
const RESPONSE_BYTES = 65_536;
/**
 * Additional bytes of a response for each character of the request: the response repeats the audiences twice, escaped, and once in base64.
 */
const RESPONSE_FACTOR = 16;

/** Throws an IssueError for invalid names, which would become part of a path. */
function checkNames({ namespace, name, boundObject }: TargetTokenRequest): void {
  const problems = [
    ...validateDns1123Label(namespace).map((problem) => `namespace: ${problem}`),
    ...[name, boundObject?.name ?? name].flatMap(validateDns1123Subdomain).map((problem) => `name: ${problem}`),
  ];
  if (problems[0] !== undefined) throw new IssueError('InvalidSpec', problems[0]);
}

function toBody(request: TargetTokenRequest): object {
  const { audiences, boundObject, accountUID } = request;
  // Kubernetes extends this one lifetime to a year if the token is bound to a Pod, and does not extend a lifetime that is a second shorter.
  const expirationSeconds = isSilentlyExtended(request) ? request.expirationSeconds - 1 : request.expirationSeconds;
  return {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { uid: accountUID },
    spec: { audiences, expirationSeconds, boundObjectRef: boundObject && { apiVersion: 'v1', ...boundObject } },
  };
}

async function send(target: RequestTarget, request: TargetTokenRequest, body: string, signal: AbortSignal): Promise<HttpResponse> {
  const path = objectPath(ServiceAccounts, request, 'token');
  const headers = { 'content-type': 'application/json' };
  const maxBytes = RESPONSE_BYTES + RESPONSE_FACTOR * body.length;
  try {
    return await target.call(async ({ transport }, options) => {
      const response = await transport.request({ method: 'POST', path, headers, body, maxBytes, ...options });
      if (response.status !== 201 && response.status !== 200) throw toStatusError(response);
      return response;
    }, signal);
  } catch (error) {
    throw error instanceof StatusError ? toTokenRequestFailure(error, request) : error;
  }
}

/** Converts an error response to an IssueError that names the object that is missing or has a different UID. */
function toTokenRequestFailure(error: StatusError, request: TargetTokenRequest): IssueError {
  const { namespace, boundObject, accountUID } = request;
  const { details } = error.status;
  const kind = details?.kind?.toLowerCase().replace(/s$/, '');
  const isBound = boundObject !== undefined && kind === boundObject.kind.toLowerCase();
  const more = { status: error.status };
  if ((error.code === 404 || error.code === 409) && isBound) return boundObjectNotFound(namespace, boundObject, error);
  if (error.code === 404 && (kind === 'serviceaccount' || kind === 'namespace')) return serviceAccountNotFound(request, more);
  if (error.code === 409 && accountUID !== undefined) return new IssueError('ServiceAccountRecreated', error.message, more);
  return toStatusFailure(error);
}

function parseResponse({ body }: HttpResponse): Fields {
  let response: unknown;
  try {
    response = JSON.parse(body);
  } catch {
    // The parser's message would quote the body, which may contain a token.
    throw new IssueError('ResponseUntrusted', 'the response is not JSON');
  }
  if (!isKind(response, 'authentication.k8s.io/v1', 'TokenRequest'))
    throw new IssueError('ResponseUntrusted', 'the response is not a TokenRequest');
  return fieldsOf(response);
}

/** Returns the time in the Date header, or Purser's time if the header is missing or implausible. */
function readServerTime({ headers }: HttpResponse, now: number): number {
  const { date } = headers;
  const at = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  return Math.abs(at - now) <= MAX_SKEW_MS ? at : now;
}

function toIssuedToken(request: TargetTokenRequest, { fields, sentAt, serverAt }: TimedResponse): Omit<IssuedToken, 'warnings'> {
  const { token: sent, expirationTimestamp } = fieldsOf(fields['status']);
  const { expirationSeconds, audiences } = fieldsOf(fields['spec']);
  const token = textOf(sent);
  const claims = parseTokenClaims(token, computeMaxTokenLength(request));
  const granted = omitUndefined<GrantResponse>({ token, expirationTimestamp, audiences: textsOf(audiences), claims });
  const problems = checkGrant(request, granted, serverAt);
  if (problems.length > 0) throw new IssueError('ResponseUntrusted', problems.join('; '));
  checkServiceAccountUID(request, claims);
  const accountUID = claims?.accountUID ?? uidOf(fields);
  return omitUndefined({
    token: new Sensitive(token),
    issuedAt: sentAt,
    expiresAt: sentAt + computeGrantedLifetimeMs(granted, serverAt),
    audiences: selectGrantedAudiences(request, granted),
    statedExpiryAt: parseTimestamp(expirationTimestamp) ?? 0,
    claims,
    expirationSeconds: Number.isSafeInteger(expirationSeconds) ? (expirationSeconds as number) : undefined,
    accountUID,
  });
}

function textsOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.length > 0 && value.every((text) => typeof text === 'string') ? value : undefined;
}

/**
 * Throws an IssueError if the request has a UID of the service account and the claims of the token do not state it. Servers before 1.34
 * ignore the UID in the request and may repeat it in the response, so the response does not prove the UID.
 */
function checkServiceAccountUID(request: TargetTokenRequest, claims: TokenClaims | undefined): void {
  if (request.accountUID === undefined || claims?.accountUID === request.accountUID) return;
  throw new IssueError('ServiceAccountRecreated', '', { accountUID: claims?.accountUID });
}
