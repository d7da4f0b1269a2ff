// Checks of what was asked of the servers: I2 one issuance for each cause, I3 quiet, I7 authority.

import { type Of, ofType, type Recorded } from '../history.ts';
import { isLease, isSecretWrite, isTokenRequest } from '../proxy/rules.ts';
import { withdrawals } from './samples.ts';
import { byToken, type Check, excuses, type Violation } from './violation.ts';

type Request = Of<'request'>;

/** Clocks, whole seconds and the way to the server. */
const SLACK_MS = 2_000;

/** The requests that made a token, each with the name of the ManagedToken: its account has the same name. */
export function issuances(history: readonly Recorded[]): readonly (Request & { readonly token: string })[] {
  return ofType(history, 'request')
    .filter((request) => isTokenRequest(request) && request.forwarded && request.status === 201)
    .map((request) => ({ ...request, token: /\/serviceaccounts\/([^/]+)\/token/.exec(request.path)?.[1] ?? '' }));
}

/** For each cause at most one token is issued; a crash or a fault on the way may cost one more. */
export const oneForEachCause: Check = (history) => {
  const excused = excuses(history, 'I2');
  const credits = creditsOf(history);
  return [...byToken(issuances(history))].flatMap(([token, made]) => {
    const open = credits(token);
    return made.flatMap(({ at }): readonly Violation[] => {
      const index = open.findIndex((creditAt) => creditAt <= at + SLACK_MS);
      if (index >= 0) open.splice(index, 1);
      return index >= 0 || excused(token, at) ? [] : [{ invariant: 'I2', at, token, message: 'a token was issued without a cause' }];
    });
  });
};

/** When each token may be issued once more, in order. */
function creditsOf(history: readonly Recorded[]): (token: string) => number[] {
  const causes = ofType(history, 'cause');
  const crashes = ofType(history, 'process').filter(({ what }) => what === 'crash' || what === 'pause');
  const samples = byToken(ofType(history, 'sample'));
  const failed = failedRequests(history);
  return (token) => {
    const due = new Map((samples.get(token) ?? []).map(({ secret }) => [secret?.digest, secret?.renewAt ?? 0]));
    due.delete(undefined);
    return [
      ...causes.filter((cause) => cause.token === token || cause.token === '*').map(({ at }) => at),
      ...crashes.map(({ at }) => at),
      ...due.values(),
      ...failed.filter(({ path }) => names(path, token)).map(({ at }) => at),
    ].sort((a, b) => a - b);
  };
}

/** Requests for tokens and writes of Secrets that failed, or whose answers may not have arrived. */
function failedRequests(history: readonly Recorded[]): readonly Request[] {
  const faulty = new Set<string>();
  return history.filter((entry): entry is Request => {
    if (entry.type === 'wire' && entry.isFaulty) faulty.add(entry.server);
    if (entry.type === 'wire' && !entry.isFaulty) faulty.delete(entry.server);
    if (entry.type !== 'request' || !(isTokenRequest(entry) || isSecretWrite(entry))) return false;
    return entry.fault !== undefined || entry.status === 0 || entry.status >= 400 || faulty.has(entry.server);
  });
}

/** A Secret that is created is not named in the path: it might be any. */
function names(path: string, token: string): boolean {
  return path.includes(`/${token}/`) || path.includes(`/${token}?`) || path.endsWith(`/${token}`) || /\/secrets(\?|$)/.test(path);
}

/** Where nothing is due, nothing is written but the Lease. */
export const quiet: Check = (history) => {
  const marks = ofType(history, 'quiet');
  const samples = byToken(ofType(history, 'sample'));
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
      .filter(({ path }) => !due.some((token) => names(path, token)))
      .map(({ at, method, path }): Violation => ({ invariant: 'I3', at, message: `nothing was due, and there was ${method} ${path}` }));
  });
};

/** Reviews are questions, and the health of clusters has its own pace. */
function isWrite(request: Request): boolean {
  return request.method !== 'GET' && !isLease(request) && !/reviews(\?|$)|\/clusters\/|\/namespaces\/default\/events/.test(request.path);
}

/** Nothing is issued without permission. */
export const authority: Check = (history) => {
  const withdrawn = withdrawals(history);
  return issuances(history)
    .filter(({ token, at, tookMs }) => withdrawn(token, at - tookMs - 1_000) && withdrawn(token, at))
    .map(({ token, at }) => ({ invariant: 'I7', at, token, message: 'a token was issued although the permission was withdrawn' }));
};
