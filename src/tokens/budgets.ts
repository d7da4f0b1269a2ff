// The share of Purser's work that each namespace may cause. Rates grow with the number of ManagedTokens in the namespace, so that
// renewals never exceed them; a few ManagedTokens that are changed without end do.

import type { Clock } from '../std/clock.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Budget, Excess } from '../telemetry/namespace-budgets.ts';

/** Budgets of which each request spends one. */
export type RateBudget = Extract<Budget, 'reviews' | 'dials'>;

export interface BudgetOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the number of ManagedTokens in a namespace. */
  readonly countInNamespace: (namespace: string) => number;
}

/** Counts the requests of each namespace. A namespace over its budget is so until half of the budget is free again. */
export class NamespaceBudgets {
  readonly #options: BudgetOptions;
  readonly #accounts: Readonly<Record<RateBudget, Map<string, Account>>> = { reviews: new Map(), dials: new Map() };

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  /** Spends one request of a namespace. */
  spend(budget: RateBudget, namespace: string): void {
    const accounts = this.#accounts[budget];
    const known = accounts.get(namespace);
    if (known === undefined && accounts.size >= MAX_CALM) this.#forgetUnused(budget);
    const account = known ?? { spent: 0, at: this.#options.clock.monotonic(), isOver: false };
    accounts.set(namespace, account);
    this.#refill(account, namespace, budget);
    account.spent = Math.min(account.spent + 1, this.#mostSpent(namespace, budget));
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
    // All ManagedTokens of the namespace come back after this time, so it grows with their number.
    const crowdMs = this.#options.countInNamespace(namespace) * WAIT_PER_TOKEN_MS;
    return Math.min(Math.max(longest, crowdMs, SHORTEST_WAIT_MS), LONGEST_WAIT_MS);
  }

  /** Yields the namespaces that are over a budget. */
  *over(): Generator<Excess> {
    for (const budget of RATE_BUDGETS) {
      for (const [namespace, account] of this.#accounts[budget]) {
        this.#refill(account, namespace, budget);
        if (account.isOver) yield [namespace, budget];
      }
    }
  }

  /** Number of namespaces that are remembered. */
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

  /** Returns what a namespace may owe at most: as much as it pays back in the longest wait, because some work is never put off. */
  #mostSpent(namespace: string, budget: RateBudget): number {
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
  /** Instant of the last refill, on the monotonic clock. */
  at: number;
  isOver: boolean;
}

const RATE_BUDGETS: readonly RateBudget[] = ['reviews', 'dials'];
/** Requests for each ManagedToken: a first issuance takes up to three reviews and dials its cluster twice. */
const RATES = { reviews: { burst: 6, perMinute: 2 }, dials: { burst: 10, perMinute: 4 } } as const;
/** Additional ManagedTokens for which each namespace has a budget. */
const BASE = 50;
const WAIT_PER_TOKEN_MS = 10;
const SHORTEST_WAIT_MS = 5_000;
/** The one upper bound: no wait is longer, and no namespace owes more than it pays back in this time. */
const LONGEST_WAIT_MS = 180_000;
/** Number of namespaces from which on those that have spent nothing are forgotten. */
const MAX_CALM = 1_000;
