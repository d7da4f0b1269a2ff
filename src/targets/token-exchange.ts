// One TokenRequest to a target, and what comes back. Everything is checked: a target may be hostile.

import { ServiceAccounts } from '../api/resources.ts';
import { objectPath } from '../kube/paths.ts';
import { type HttpResponse, toStatusError, warningTexts } from '../kube/response.ts';
import { StatusError } from '../kubernetes/status.ts';
import { type Fields, fieldsOf, isKind, textOf, uidOf } from '../kubernetes/untrusted.ts';
import { instantOf } from '../std/instant.ts';
import { Sensitive, withoutSecret, withoutTokens } from '../std/sensitive.ts';
import { statusFailure } from './failure.ts';
import { ownUsername } from './identity.ts';
import { IssueError } from './issue-error.ts';
import { accountMissing, boundObjectMissing } from './missing.ts';
import type { Grant } from './policy/grant.ts';
import { checkGrant, grantedLifetimeMs, maxTokenLength } from './policy/grant-check.ts';
import { type TokenClaims, tokenClaims } from './policy/token-claims.ts';
import { serviceAccountNamespace, type TokenRequest } from './policy/token-request.ts';
import type { TokenSource } from './target.ts';

/** A token, and what else the target said. */
export interface IssuedToken extends Grant {
  /** When the token expires by the target's own word and clock. */
  readonly statedExpiryAt: number;
  /** The lifetime that the target shows, if it shows one. */
  readonly expirationSeconds?: number;
  readonly accountUID?: string;
  readonly warnings: readonly string[];
}

/**
 * Sends `body`, which asks for what `request` says. Answers with a token that is what was asked for. Throws an IssueError
 * otherwise, or the reason of `signal` when that aborts.
 */
export async function exchangeToken(target: TokenSource, request: TokenRequest, body: string, signal: AbortSignal): Promise<IssuedToken> {
  await rejectAccount(target, request, signal);
  const sentAt = target.clock.now();
  const reply = await send(target, request, body, signal);
  const issued = issuedToken(request, { answer: parsed(reply), sentAt, serverAt: serverTime(reply, target.clock.now()) });
  const secret = secretOf(target);
  if (secret !== undefined && issued.token.reveal() === secret) throw new IssueError('AnswerUntrusted', 'the token is our own');
  return { ...issued, warnings: warningTexts(reply.headers).map((text) => withoutTokens(withoutSecret(text, secret))) };
}

/**
 * Throws an IssueError if the credential is not for the namespace of the service account, or if the service account is in the
 * namespace of Purser's own, or may be: a service account beside Purser's can often create tokens of it.
 */
export async function rejectAccount(
  target: TokenSource,
  { namespace }: Pick<TokenRequest, 'namespace'>,
  signal: AbortSignal,
): Promise<void> {
  rejectNamespace(target, namespace);
  const username = await ownUsername(target, signal);
  if (serviceAccountNamespace(username) === namespace) throw new IssueError('OwnAccount');
  const candidate = { credential: target.credential, username, call: target.call.bind(target) };
  if (await target.hub?.isPurserNamespace(namespace, candidate, signal)) throw new IssueError('OwnAccount');
}

/** Throws an IssueError if the credential is not for service accounts of this namespace. Sends nothing. */
function rejectNamespace({ namespaces }: Pick<TokenSource, 'namespaces'>, namespace: string): void {
  if (namespaces?.includes(namespace) === false) throw new IssueError('NamespaceNotAllowed');
}

interface Answered {
  readonly answer: Fields;
  readonly sentAt: number;
  /** When the target answered, by its clock. */
  readonly serverAt: number;
}

/** Clocks that differ by more are not believed. */
const MAX_SKEW_MS = 24 * 3_600_000;
/** An answer has all audiences twice, escaped, and once more in base64. */
const ANSWER_BYTES = 65_536;
const ANSWER_FACTOR = 16;

function secretOf({ credential }: TokenSource): string | undefined {
  return credential?.type === 'token' ? credential.token.reveal() : undefined;
}

async function send(target: TokenSource, request: TokenRequest, body: string, signal: AbortSignal): Promise<HttpResponse> {
  const path = objectPath(ServiceAccounts, request, 'token');
  const headers = { 'content-type': 'application/json' };
  const maxBytes = ANSWER_BYTES + ANSWER_FACTOR * body.length;
  try {
    return await target.call(async ({ transport }, options) => {
      const reply = await transport.request({ method: 'POST', path, headers, body, maxBytes, ...options });
      if (reply.status !== 201 && reply.status !== 200) throw toStatusError(reply);
      return reply;
    }, signal);
  } catch (error) {
    throw error instanceof StatusError ? refusal(error, request) : error;
  }
}

/** Which of the things that were named is missing, or another one of the same name. */
function refusal(error: StatusError, request: TokenRequest): IssueError {
  const { namespace, boundObject, accountUID } = request;
  const { details } = error.status;
  const kind = (details?.kind ?? '').toLowerCase().replace(/s$/, '');
  const isBound = boundObject !== undefined && kind === boundObject.kind.toLowerCase();
  const more = { status: error.status };
  if ((error.code === 404 || error.code === 409) && isBound) return boundObjectMissing(namespace, boundObject, error);
  if (error.code === 404 && (kind === 'serviceaccount' || kind === 'namespace')) return accountMissing(request, more);
  if (error.code === 409 && accountUID !== undefined) return new IssueError('AccountRecreated', error.message, more);
  return statusFailure(error);
}

function parsed({ body }: HttpResponse): Fields {
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch {
    // The parser's own message would quote the body, which may hold a token.
    throw new IssueError('AnswerUntrusted', 'it is not JSON');
  }
  if (!isKind(answer, 'authentication.k8s.io/v1', 'TokenRequest')) throw new IssueError('AnswerUntrusted', 'it is not a TokenRequest');
  return fieldsOf(answer);
}

/** The target's clock by its Date header; ours where that makes no sense. */
function serverTime({ headers }: HttpResponse, now: number): number {
  const { date } = headers;
  const at = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  return Math.abs(at - now) <= MAX_SKEW_MS ? at : now;
}

function issuedToken(request: TokenRequest, { answer, sentAt, serverAt }: Answered): Omit<IssuedToken, 'warnings'> {
  const { token: sent, expirationTimestamp } = fieldsOf(answer['status']);
  const { expirationSeconds } = fieldsOf(answer['spec']);
  const token = textOf(sent);
  const claims = tokenClaims(token, maxTokenLength(request));
  const granted = { token, expirationTimestamp, ...(claims && { claims }) };
  const problems = checkGrant(request, granted, serverAt);
  if (problems.length > 0) throw new IssueError('AnswerUntrusted', problems.join('; '));
  rejectOtherAccount(request, claims);
  const accountUID = claims?.accountUID ?? uidOf(answer);
  return {
    token: new Sensitive(token),
    issuedAt: sentAt,
    expiresAt: sentAt + grantedLifetimeMs(granted, serverAt),
    statedExpiryAt: instantOf(expirationTimestamp) ?? 0,
    ...(claims && { claims }),
    ...(Number.isSafeInteger(expirationSeconds) && { expirationSeconds: expirationSeconds as number }),
    ...(accountUID !== undefined && { accountUID }),
  };
}

/** Servers before 1.34 do not heed the UID that we send, and may repeat it: only the token tells. */
function rejectOtherAccount(request: TokenRequest, claims: TokenClaims | undefined): void {
  if (request.accountUID === undefined || claims?.accountUID === request.accountUID) return;
  throw new IssueError('AccountRecreated', '', { accountUID: claims?.accountUID });
}
