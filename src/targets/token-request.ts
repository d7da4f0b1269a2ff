// Asks a target for a token of one of its service accounts, in words of our own.

import { dns1123LabelProblems, dns1123SubdomainProblems } from '../kubernetes/names.ts';
import { IssueError } from './issue-error.ts';
import type { Grant } from './policy/grant.ts';
import { isSilentlyExtended, type TokenRequest } from './policy/token-request.ts';
import type { Target } from './target.ts';
import { exchangeToken } from './token-exchange.ts';

/** A token that is what was asked for. Throws an IssueError otherwise, or the reason of `signal` when that aborts. */
export async function issueToken(target: Target, request: TokenRequest, signal: AbortSignal): Promise<Grant> {
  checkNames(request);
  const { token, issuedAt, expiresAt, claims } = await exchangeToken(target, request, JSON.stringify(bodyOf(request)), signal);
  return { token, issuedAt, expiresAt, ...(claims && { claims }) };
}

/** The names become part of a path. */
function checkNames({ namespace, name, boundObject }: TokenRequest): void {
  const problems = [
    ...dns1123LabelProblems(namespace).map((problem) => `namespace: ${problem}`),
    ...[name, boundObject?.name ?? name].flatMap(dns1123SubdomainProblems).map((problem) => `name: ${problem}`),
  ];
  if (problems[0] !== undefined) throw new IssueError('InvalidSpec', problems[0]);
}

function bodyOf(request: TokenRequest): object {
  const { audiences, boundObject, accountUID } = request;
  // Asked for a second less, Kubernetes issues what it is asked for.
  const expirationSeconds = isSilentlyExtended(request) ? request.expirationSeconds - 1 : request.expirationSeconds;
  return {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { uid: accountUID },
    spec: { audiences, expirationSeconds, boundObjectRef: boundObject && { apiVersion: 'v1', ...boundObject } },
  };
}
