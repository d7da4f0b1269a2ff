// Checks of requests: one issuance per cause (I2), no writes while nothing is due (I3), no issuance without permission (I7).

import { type Of, ofType, type Recorded } from '../history.ts';
import { isLease, isSecretWrite, isTokenRequest } from '../proxy/rules.ts';
import { PURSER_NAMESPACE } from '../seed.ts';
import { findWithdrawals } from './samples.ts';
import { type Check, findExcuses, groupByToken, type Violation } from './violation.ts';

type Request = Of<'request'>;

/** Tolerance for clock differences, rounding to seconds and network delay, in milliseconds. */
const SLACK_MS = 2_000;

/**
 * Returns the requests that issued a token of a ManagedToken, with its name, which is also the name of its service account. Purser also
 * requests tokens for its own service account.
 */
export function findIssuances(history: readonly Recorded[]): readonly (Request & { readonly token: string })[] {
  return ofType(history, 'request')
    .filter((request) => isTokenRequest(request) && request.forwarded && request.status === 201)
    .filter(({ path }) => !path.includes(`/namespaces/${PURSER_NAMESPACE}/`))
    .map((request) => ({ ...request, token: /\/serviceaccounts\/([^/]+)\/token/.exec(request.path)?.[1] ?? '' }));
}

/** Finds issuances without a cause; a crash or a failed request allows one more. */
export const issuancesPerCause: Check = (history) => {
  const excused = findExcuses(history, 'I2');
  const allowances = findAllowances(history);
  return [...groupByToken(findIssuances(history))].flatMap(([token, issued]) => {
    const open = allowances(token);
    return issued.flatMap(({ at }): readonly Violation[] => {
      const index = open.findIndex((allowedAt) => allowedAt <= at + SLACK_MS);
      if (index >= 0) open.splice(index, 1);
      return index >= 0 || excused(token, at) ? [] : [{ invariant: 'I2', at, token, message: 'token issued without a cause' }];
    });
  });
};

/** Returns a function that lists the times from which a token may be issued once more, in order. */
function findAllowances(history: readonly Recorded[]): (token: string) => number[] {
  const causes = ofType(history, 'cause');
  const crashes = ofType(history, 'process').filter(({ event }) => event === 'crash' || event === 'pause');
  const samples = groupByToken(ofType(history, 'sample'));
  const failed = findFailedRequests(history);
  return (token) => {
    const due = new Map((samples.get(token) ?? []).map(({ secret }) => [secret?.digest, secret?.renewAt ?? 0]));
    due.delete(undefined);
    return [
      ...causes.filter((cause) => cause.token === token || cause.token === '*').map(({ at }) => at),
      ...crashes.map(({ at }) => at),
      ...due.values(),
      ...failed.filter(({ path }) => belongsTo(path, token)).map(({ at }) => at),
    ].sort((a, b) => a - b);
  };
}

/** Returns token requests and Secret writes that failed, or whose responses may have been lost. */
function findFailedRequests(history: readonly Recorded[]): readonly Request[] {
  const faulty = new Set<string>();
  return history.filter((entry): entry is Request => {
    if (entry.type === 'wire' && entry.isFaulty) faulty.add(entry.server);
    if (entry.type === 'wire' && !entry.isFaulty) faulty.delete(entry.server);
    if (entry.type !== 'request' || !(isTokenRequest(entry) || isSecretWrite(entry))) return false;
    return entry.fault !== undefined || entry.status === 0 || entry.status >= 400 || faulty.has(entry.server);
  });
}

/** Returns true if a path belongs to a token. The path of a new Secret has no name and may belong to any token. */
function belongsTo(path: string, token: string): boolean {
  return path.includes(`/${token}/`) || path.includes(`/${token}?`) || path.endsWith(`/${token}`) || /\/secrets(\?|$)/.test(path);
}

/** Finds writes of objects other than the Lease while nothing is due. */
export const idleWrites: Check = (history) => {
  const marks = ofType(history, 'quiet');
  const samples = groupByToken(ofType(history, 'sample'));
  return marks.flatMap((begin, index) => {
    const end = marks[index + 1];
    if (!begin.begins || end === undefined) return [];
    const isDue = (token: string) =>
      samples
        .get(token)
        ?.some(({ secret }) => secret !== undefined && secret.renewAt > begin.at - 5_000 && secret.renewAt < end.at + SLACK_MS);
    const due = [...samples.keys()].filter(isDue);
    const writes = ofType(history, 'request')
      .filter(({ at, tookMs }) => at - tookMs > begin.at && at < end.at)
      .filter(isWrite);
    return writes
      .filter(({ path }) => !due.some((token) => belongsTo(path, token)))
      .map(({ at, method, path }): Violation => ({ invariant: 'I3', at, message: `${method} ${path} while nothing was due` }));
  });
};

/** Returns true for requests that write an object; excludes the Lease, and status and Events of Clusters, which are written at any time. */
function isWrite(request: Request): boolean {
  return request.method !== 'GET' && !isLease(request) && !/reviews(\?|$)|\/clusters\/|\/namespaces\/default\/events/.test(request.path);
}

/** Finds issuances without permission. */
export const permissions: Check = (history) => {
  const withdrawn = findWithdrawals(history);
  return findIssuances(history)
    .filter(({ token, at, tookMs }) => withdrawn(token, at - tookMs - 1_000) && withdrawn(token, at))
    .map(({ token, at }) => ({ invariant: 'I7', at, token, message: 'token issued after its permission was withdrawn' }));
};
