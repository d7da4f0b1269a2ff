// Reconciles of namespaces over their budget: put off, except where a token may have to go.

import type { ManagedToken } from '../api/managed-token.gen.ts';
import { Annotation } from '../api/names.ts';
import { IssueError } from '../targets/issue-error.ts';
import type { NamespaceBudgets } from './budgets.ts';
import type { TokenDeps } from './deps.ts';
import { expiresAt, namespaceOf } from './place.ts';
import { anchorsOf } from './policy/anchors.ts';
import { requestOf } from './policy/record.ts';
import { latestRetryAt } from './policy/rotation.ts';
import { createReconcile } from './reconcile.ts';

type Reconcile = ReturnType<typeof createReconcile>;

/**
 * Puts off the ManagedTokens of a namespace over its budget, in time for renewals. Withdrawal, revocation, deletion and expiry of tokens
 * that exist are never put off for longer than a second: no namespace may keep a token by overspending.
 */
export function withinBudget(deps: TokenDeps, namespaces: NamespaceBudgets): Reconcile {
  const { clients } = deps;
  return async (key, signal) => {
    const namespace = namespaceOf(key);
    const waitMs = namespaces.waitMs(namespace);
    const requeueAt = waitMs > 0 ? putOffUntil(key, waitMs, deps) : undefined;
    if (requeueAt !== undefined) return { requeueAt };
    const use: TokenDeps['clients']['use'] = async (registered, work) => {
      const result = await clients.use(registered, work).catch((error: unknown) => {
        // Nothing is sent while the circuit is open.
        if (!(error instanceof IssueError && error.reason === 'CircuitOpen')) namespaces.spend('dials', namespace);
        throw error;
      });
      namespaces.spend('dials', namespace);
      return result;
    };
    const counting = { use, endpointsOf: clients.endpointsOf.bind(clients) };
    return await createReconcile({ ...deps, clients: counting })(key, signal);
  };
}

/** Returns the time until which a ManagedToken of a namespace over its budget has to wait; undefined if it runs now. */
function putOffUntil(key: string, waitMs: number, deps: TokenDeps): number | undefined {
  const { view, clock, memory } = deps;
  const token = view.tokens.get(key);
  const now = clock.now();
  const endsAt = expiresAt(token, view);
  if (token === undefined || !mayHaveToGo(token, deps)) {
    return Math.min(now + waitMs, endsAt === undefined ? Infinity : latestRetryAt(endsAt, now));
  }
  const recollection = memory.of(token.metadata.uid ?? '');
  if (clock.monotonic() - recollection.urgentAt < URGENT_MS) return now + URGENT_MS;
  recollection.urgentAt = clock.monotonic();
  return undefined;
}

/** Returns whether a token may have to go now. The Secret alone does not decide it: tenants write it, and could delete it to keep a copy. */
function mayHaveToGo(token: ManagedToken, { view, clock, authority }: TokenDeps): boolean {
  const { metadata, status } = token;
  if ((expiresAt(token, view) ?? Infinity) <= clock.now()) return true;
  const isIssued = status?.issuedAt !== undefined || anchorsOf(token).length > 0;
  return isIssued && (metadata.deletionTimestamp !== undefined || hasNewRevocation(token) || authority.isDoubtful(token));
}

function hasNewRevocation(token: ManagedToken): boolean {
  const request = requestOf(token, Annotation.revoke);
  return request !== undefined && request !== token.status?.lastRevokeRequest;
}

const URGENT_MS = 1_000;
