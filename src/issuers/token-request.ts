// Asks a target for a token of one of its service accounts. Everything that comes back is checked: a target may be hostile.

import { ServiceAccounts } from '../api/resources.ts';
import { StatusError } from '../api/status.ts';
import type { Grant } from '../domain/grant.ts';
import { checkGrant, grantedLifetimeMs } from '../domain/grant-check.ts';
import { dns1123LabelProblems, dns1123SubdomainProblems } from '../domain/names.ts';
import { tokenClaims } from '../domain/token-claims.ts';
import { isSilentlyExtended, subjectOf, type TokenRequest } from '../domain/token-request.ts';
import { type Fields, fieldsOf, isKind, textOf } from '../domain/untrusted.ts';
import { objectPath } from '../kube/paths.ts';
import { replyError } from '../kube/reply-error.ts';
import type { Reply } from '../kube/transport.ts';
import { Sensitive } from '../std/sensitive.ts';
import { statusFailure } from './failure.ts';
import { ownUsername } from './identity.ts';
import { IssueError } from './issue-error.ts';
import type { Target } from './target.ts';

/** A token that is what was asked for. Throws an IssueError otherwise, or the reason of `signal` when that aborts. */
export async function issueToken(target: Target, request: TokenRequest, signal: AbortSignal): Promise<Grant> {
  checkNames(request);
  await rejectOwnAccount(target, request, signal);
  const sentAt = target.clock.now();
  const reply = await send(target, request, signal);
  return grantOf(request, { answer: parsed(reply), sentAt, serverAt: serverTime(reply, target.clock.now()) });
}

interface Answered {
  readonly answer: Fields;
  readonly sentAt: number;
  /** When the target answered, by its clock. */
  readonly serverAt: number;
}

const API_VERSION = 'authentication.k8s.io/v1';
const KIND = 'TokenRequest';
/** Clocks that differ by more are not believed. */
const MAX_SKEW_MS = 24 * 3_600_000;

/** The names become part of a path. */
function checkNames({ namespace, name, boundObject }: TokenRequest): void {
  const problems = [
    ...dns1123LabelProblems(namespace).map((problem) => `namespace: ${problem}`),
    ...[name, boundObject?.name ?? name].flatMap(dns1123SubdomainProblems).map((problem) => `name: ${problem}`),
  ];
  if (problems[0] !== undefined) throw new IssueError('InvalidSpec', problems[0]);
}

async function rejectOwnAccount(target: Target, request: TokenRequest, signal: AbortSignal): Promise<void> {
  const username = await ownUsername(target, signal);
  if (username === subjectOf(request) || target.ownNamespace === request.namespace) throw new IssueError('OwnAccount', username);
}

async function send(target: Target, request: TokenRequest, signal: AbortSignal): Promise<Reply> {
  const path = objectPath(ServiceAccounts, request, 'token');
  const body = JSON.stringify(bodyOf(request));
  try {
    return await target.call(async ({ transport }, options) => {
      const headers = { 'content-type': 'application/json' };
      const reply = await transport.request({ method: 'POST', path, headers, body, ...options });
      if (reply.status !== 201 && reply.status !== 200) throw replyError(reply);
      return reply;
    }, signal);
  } catch (error) {
    throw error instanceof StatusError ? refusal(error, request) : error;
  }
}

function bodyOf(request: TokenRequest): object {
  const { audiences, boundObject, accountUID } = request;
  // Asked for a second less, Kubernetes issues what it is asked for.
  const expirationSeconds = isSilentlyExtended(request) ? request.expirationSeconds - 1 : request.expirationSeconds;
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    metadata: { uid: accountUID },
    spec: { audiences, expirationSeconds, boundObjectRef: boundObject && { apiVersion: 'v1', ...boundObject } },
  };
}

/** Which of the things that were named is missing, or another one of the same name. */
function refusal(error: StatusError, { boundObject, accountUID }: TokenRequest): IssueError {
  const { details } = error.status;
  const kind = (details?.kind ?? '').toLowerCase().replace(/s$/, '');
  const isBound = boundObject !== undefined && kind === boundObject.kind.toLowerCase();
  const more = { status: error.status };
  if ((error.code === 404 || error.code === 409) && isBound) return new IssueError('BoundObjectNotFound', error.message, more);
  if (error.code === 404 && (kind === 'serviceaccount' || kind === 'namespace')) {
    return new IssueError('ServiceAccountNotFound', error.message, more);
  }
  if (error.code === 409 && accountUID !== undefined) return new IssueError('AccountRecreated', error.message, more);
  return statusFailure(error);
}

function parsed({ body }: Reply): Fields {
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch {
    // The parser's own message would quote the body, which may hold a token.
    throw new IssueError('AnswerUntrusted', 'it is not JSON');
  }
  if (!isKind(answer, API_VERSION, KIND)) throw new IssueError('AnswerUntrusted', `it is not a ${KIND}`);
  return fieldsOf(answer);
}

/** The target's clock by its Date header; ours where that makes no sense. */
function serverTime({ headers }: Reply, now: number): number {
  const { date } = headers;
  const at = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  return Math.abs(at - now) <= MAX_SKEW_MS ? at : now;
}

function grantOf(request: TokenRequest, { answer, sentAt, serverAt }: Answered): Grant {
  const { token: sent, expirationTimestamp } = fieldsOf(answer['status']);
  const token = textOf(sent);
  const claims = tokenClaims(token);
  const granted = { token, expirationTimestamp, ...(claims && { claims }) };
  const problems = checkGrant(request, granted, serverAt);
  if (problems.length > 0) throw new IssueError('AnswerUntrusted', problems.join('; '));
  // Servers before 1.34 do not heed the UID that we send, and may repeat it: only the token tells.
  if (request.accountUID !== undefined && claims?.accountUID !== request.accountUID) throw new IssueError('AccountRecreated');
  const expiresAt = sentAt + grantedLifetimeMs(granted, serverAt);
  return { token: new Sensitive(token), issuedAt: sentAt, expiresAt, ...(claims && { claims }) };
}
