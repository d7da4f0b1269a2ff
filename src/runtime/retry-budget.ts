// How often a lane may try again. What fails in part trips no circuit breaker; the more of it fails, the longer each of
// its keys waits, so that retries do not become the load that keeps it failing.

/** Counts the retries of each lane. Instants are on the monotonic clock. */
export class RetryBudget {
  /** When everything is paid for that each lane has spent. */
  readonly #paidAt = new Map<string, number>();

  /** Spends one retry: how much later than planned it comes. A lane that fails seldom does not notice. */
  spend(lane: string, now: number): number {
    if (!this.#paidAt.has(lane)) this.#forgetPaid(now);
    const paidAt = Math.max(this.#paidAt.get(lane) ?? now, now) + GAP_MS;
    this.#paidAt.set(lane, paidAt);
    return Math.min(Math.max(0, paidAt - now - FREE * GAP_MS), LONGEST_MS);
  }

  /** How many lanes are remembered. */
  get size(): number {
    return this.#paidAt.size;
  }

  #forgetPaid(now: number): void {
    for (const [lane, paidAt] of this.#paidAt) if (paidAt <= now) this.#paidAt.delete(lane);
  }
}

/** After as many at once, one retry in each gap. */
const FREE = 500;
const GAP_MS = 20;
/** What recovers should not be left waiting for long. */
const LONGEST_MS = 60_000;
