// How often a lane may try again. What fails in part trips no circuit breaker; the more of it fails, the longer each of
// its keys waits, so that retries do not become the load that keeps it failing.

export interface RetryRate {
  /** Number of retries that a lane may make at once. */
  readonly free: number;
  /** Time between further retries of a lane, in milliseconds. */
  readonly gapMs: number;
}

/** Counts the retries of each lane. Instants are on the monotonic clock. */
export class RetryBudget {
  readonly #rate: RetryRate;
  /** Instant at which each lane has made up for its retries. */
  readonly #paidAt = new Map<string, number>();

  constructor(rate: RetryRate = RETRY_RATE) {
    this.#rate = rate;
  }

  /** Spends one retry and returns its additional delay in milliseconds: 0 for a lane that fails seldom. */
  spend(lane: string, now: number): number {
    const { free, gapMs } = this.#rate;
    if (!this.#paidAt.has(lane)) this.#forgetPaid(now);
    const paidAt = Math.max(this.#paidAt.get(lane) ?? now, now) + gapMs;
    this.#paidAt.set(lane, paidAt);
    return Math.min(Math.max(0, paidAt - now - free * gapMs), LONGEST_MS);
  }

  /** How many lanes are remembered. */
  get size(): number {
    return this.#paidAt.size;
  }

  #forgetPaid(now: number): void {
    for (const [lane, paidAt] of this.#paidAt) if (paidAt <= now) this.#paidAt.delete(lane);
  }
}

const RETRY_RATE: RetryRate = { free: 500, gapMs: 20 };
/** What recovers should not be left waiting for long. */
const LONGEST_MS = 60_000;
