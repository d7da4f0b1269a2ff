// Budgets for the work that each namespace causes. A budget grows with the number of ManagedTokens in the namespace: renewals stay within
// the budget, but a few ManagedTokens that change constantly exceed it.

import { Annotation } from '../api/names.ts';
import type { KubeClient } from '../kube/client.ts';
import { BYTES_PER_NAMESPACE, recordedBytes } from '../kube/namespace-bytes.ts';
import type { Clock } from '../std/clock.ts';
import { IssueError } from '../targets/issue-error.ts';
import type { Budget, ExceededBudget } from '../telemetry/exposition.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { TokenAuthorizerOptions } from './authorizer.ts';
import { anchorsOf } from './policy/anchors.ts';
import { requestOf } from './policy/record.ts';
import { latestRetryAt } from './policy/rotation.ts';
import type { StoredToken } from './policy/spec.ts';
import { findExpiry } from './priority.ts';
import type { TokenDeps } from './run.ts';

/** Budgets for requests, and for reconciles after changes in the namespace. */
export type RateBudget = Extract<Budget, 'reviews' | 'dials' | 'runs'>;

export interface BudgetOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the number of ManagedTokens in a namespace. */
  readonly countInNamespace: (namespace: string) => number;
}

/**
 * Counts the reviews, dials and reconciles of each namespace. Reports a namespace as over its budget until half of the burst is free again.
 */
export class NamespaceBudgets {
  readonly #options: BudgetOptions;
  readonly #accounts: Readonly<Record<RateBudget, Map<string, Account>>> = {
    reviews: new Map(),
    dials: new Map(),
    runs: new Map(),
  };

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  /** Charges one review, dial or reconcile to a namespace. */
  spend(budget: RateBudget, namespace: string): void {
    const accounts = this.#accounts[budget];
    const known = accounts.get(namespace);
    if (known === undefined && accounts.size >= MAX_IDLE) this.#forgetUnused(budget);
    const account = known ?? { spent: 0, at: this.#options.clock.monotonic(), isOver: false };
    accounts.set(namespace, account);
    this.#refill(account, namespace, budget);
    account.spent = Math.min(account.spent + 1, this.#maxSpent(namespace, budget));
    if (!account.isOver && account.spent > this.#burst(namespace, budget)) {
      account.isOver = true;
      this.#options.log.warn({ namespace, budget }, 'namespace over budget');
    }
  }

  /** Returns the time in milliseconds for which the namespace has to wait; 0 while it is within its budgets. */
  waitMs(namespace: string): number {
    const waits = RATE_BUDGETS.map((budget) => {
      const account = this.#accounts[budget].get(namespace);
      if (account === undefined) return 0;
      this.#refill(account, namespace, budget);
      const excess = account.spent - this.#burst(namespace, budget);
      return excess <= 0 ? 0 : (excess / this.#perSecond(namespace, budget)) * 1_000;
    });
    const longest = Math.max(...waits);
    if (longest === 0) return 0;
    // All ManagedTokens in the namespace are requeued after this time, so it grows with their number.
    const crowdMs = this.#options.countInNamespace(namespace) * WAIT_PER_TOKEN_MS;
    return Math.min(Math.max(longest, crowdMs, SHORTEST_WAIT_MS), LONGEST_WAIT_MS);
  }

  /** Yields each namespace that is over a budget, with that budget. */
  *over(): Generator<ExceededBudget> {
    for (const budget of RATE_BUDGETS) {
      for (const [namespace, account] of this.#accounts[budget]) {
        this.#refill(account, namespace, budget);
        if (account.isOver) yield [namespace, budget];
      }
    }
  }

  /** Number of accounts: one for each tracked namespace and budget. */
  get size(): number {
    return RATE_BUDGETS.reduce((size, budget) => size + this.#accounts[budget].size, 0);
  }

  #refill(account: Account, namespace: string, budget: RateBudget): void {
    const now = this.#options.clock.monotonic();
    account.spent = Math.max(0, account.spent - ((now - account.at) * this.#perSecond(namespace, budget)) / 1_000);
    account.at = now;
    if (account.isOver && account.spent <= this.#burst(namespace, budget) / 2) {
      account.isOver = false;
      this.#options.log.info({ namespace, budget }, 'namespace within budget');
    }
  }

  #burst(namespace: string, budget: RateBudget): number {
    return RATES[budget].burst * (BASE + this.#options.countInNamespace(namespace));
  }

  /**
   * Returns the upper bound of `spent`: the burst plus the debt that the namespace pays back within LONGEST_WAIT_MS. Without a bound, the
   * debt could grow indefinitely, because some work is charged without waiting.
   */
  #maxSpent(namespace: string, budget: RateBudget): number {
    return this.#burst(namespace, budget) + (this.#perSecond(namespace, budget) * LONGEST_WAIT_MS) / 1_000;
  }

  #perSecond(namespace: string, budget: RateBudget): number {
    return RATES[budget].perMinute * ((BASE + this.#options.countInNamespace(namespace)) / 60);
  }

  #forgetUnused(budget: RateBudget): void {
    for (const [namespace, account] of this.#accounts[budget]) {
      this.#refill(account, namespace, budget);
      if (account.spent === 0) this.#accounts[budget].delete(namespace);
    }
  }
}

interface Account {
  spent: number;
  /** Time of the last refill, on the monotonic clock. */
  at: number;
  isOver: boolean;
}

const RATE_BUDGETS: readonly RateBudget[] = ['reviews', 'dials', 'runs'];
/**
 * Rates for each ManagedToken. A first issuance takes up to six reviews and dials its cluster twice. Another controller that reverts the
 * Secret continually stays within the rate of reconciles, because after five repairs Purser waits at least ten seconds before each further
 * one.
 */
const RATES = {
  reviews: { burst: 6, perMinute: 2 },
  dials: { burst: 10, perMinute: 4 },
  runs: { burst: 20, perMinute: 6 },
} as const;
/** Number that is added to the number of ManagedTokens in a namespace, so that small namespaces also have a sufficient budget. */
const BASE = 50;
const WAIT_PER_TOKEN_MS = 10;
const SHORTEST_WAIT_MS = 5_000;
/** Upper bound of each wait, and of the time in which a namespace pays back its debt. */
const LONGEST_WAIT_MS = 180_000;
/** Minimum number of namespaces tracked for a budget before those whose budget is full again are dropped. */
const MAX_IDLE = 1_000;

/**
 * Returns the hub client for reviews; each review, and each list of service accounts, is charged to the namespace of its requester. Lists
 * of Clusters are not charged, because each of them follows a charged review.
 */
export function chargeReviews(hub: KubeClient, budgets: NamespaceBudgets): TokenAuthorizerOptions['hub'] {
  return {
    list: (resource, options) => {
      if (options?.namespace !== undefined) budgets.spend('reviews', options.namespace);
      return hub.list(resource, options);
    },
    createReview: (resource, review, options) => {
      const { user = '' } = (review as { readonly spec?: { readonly user?: string } }).spec ?? {};
      budgets.spend('reviews', user.split(':')[2] ?? '');
      return hub.createReview(resource, review, options);
    },
  };
}

/**
 * Charges a reconcile to the namespace if a change in the namespace caused it. Changes to RBAC and to Clusters trigger the ManagedTokens of
 * many namespaces, but are not caused by those namespaces.
 */
export function chargeRun(key: string, { view, memory }: TokenDeps, budgets: NamespaceBudgets): void {
  const token = view.tokens.get(key);
  if (token === undefined) return;
  const { uid, namespace } = token.metadata;
  const tracked = memory.of(uid);
  if (tracked.isTriggeredByTenant) budgets.spend('runs', namespace);
  tracked.isTriggeredByTenant = false;
  tracked.deferredAt = undefined;
}

/** Returns the time at which a triggered ManagedToken is due: now, or a second after its last deferral if that is later. */
export function dueAt(key: string, { view, clock, memory }: Pick<TokenDeps, 'view' | 'clock' | 'memory'>): number {
  const { deferredAt = -Infinity } = memory.of(view.tokens.get(key)?.metadata.uid);
  return clock.now() + Math.max(0, deferredAt + URGENT_MS - clock.monotonic());
}

/** Returns the clients of target clusters, wrapped so that each use that may send a request is charged to the namespace. */
export function chargeDials(clients: TokenDeps['clients'], budgets: NamespaceBudgets, namespace: string): TokenDeps['clients'] {
  return {
    endpointsOf: clients.endpointsOf.bind(clients),
    use: async (registered, work) => {
      const result = await clients.use(registered, work).catch((error: unknown) => {
        // Nothing is sent while the circuit is open.
        if (!(error instanceof IssueError && error.reason === 'CircuitOpen')) budgets.spend('dials', namespace);
        throw error;
      });
      budgets.spend('dials', namespace);
      return result;
    },
  };
}

/**
 * Defers a ManagedToken in a namespace over its budget. Returns the time of the next run, early enough for renewals; undefined if the
 * ManagedToken must be reconciled now. Withdrawal, revocation, deletion and expiry of existing tokens are deferred by a second at most: no
 * namespace may keep a token by overspending.
 */
export function deferRun(key: string, waitMs: number, deps: TokenDeps): number | undefined {
  const { view, clock, memory } = deps;
  const token = view.tokens.get(key);
  const now = clock.now();
  const expiry = findExpiry(token, view);
  const tracked = token === undefined ? memory.of(undefined) : memory.keep(token.metadata.uid);
  tracked.deferredAt = clock.monotonic();
  if (token === undefined || !isUrgent(token, deps)) {
    return Math.min(now + waitMs, expiry === undefined ? Infinity : latestRetryAt(expiry, now));
  }
  const { urgentAt = -Infinity } = tracked;
  if (clock.monotonic() - urgentAt < URGENT_MS) return now + URGENT_MS;
  tracked.urgentAt = clock.monotonic();
  return undefined;
}

const URGENT_MS = 1_000;

/**
 * Returns whether a token may have to be removed. A missing Secret does not exclude this: a tenant could copy the token and delete the
 * Secret.
 */
function isUrgent(token: StoredToken, { view, clock, authorizer }: TokenDeps): boolean {
  const { metadata, status } = token;
  if ((findExpiry(token, view) ?? Infinity) <= clock.now()) return true;
  const isIssued = status?.issuedAt !== undefined || anchorsOf(token).length > 0;
  return isIssued && (metadata.deletionTimestamp !== undefined || hasNewRevocation(token) || authorizer.needsReview(token));
}

function hasNewRevocation(token: StoredToken): boolean {
  const request = requestOf(token, Annotation.revoke);
  return request !== undefined && request !== token.status?.lastRevokeRequest;
}

/** Returns the namespaces that hold more slots of the queue than their share. */
export function namespacesOverSlots(held: Iterable<readonly [tenant: string, slots: number]>, share: number): readonly ExceededBudget[] {
  return [...held].filter(([, slots]) => slots > share).map(([namespace]) => [namespace, 'slots']);
}

/**
 * Returns the namespaces over their share of memory: those with objects that are reduced to stubs because of the budget, and those whose
 * objects together exceed the share.
 */
export function namespacesOverBytes(objects: readonly KeptObject[]): readonly ExceededBudget[] {
  const bytes = new Map<string, number>();
  for (const object of objects) {
    const { namespace } = object.metadata;
    bytes.set(namespace, (bytes.get(namespace) ?? 0) + (object.isOverBudget ? Infinity : recordedBytes(object)));
  }
  return [...bytes].filter(([, total]) => total > BYTES_PER_NAMESPACE).map(([namespace]) => [namespace, 'bytes']);
}

/** An object as the informer keeps it. */
interface KeptObject {
  readonly metadata: { readonly namespace: string };
  readonly isOverBudget?: true;
}
