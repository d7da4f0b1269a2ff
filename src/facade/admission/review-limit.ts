// The limit on TokenReviews for tokens that this process has not seen accepted before. Source addresses whose tokens are rejected
// pay first: other addresses keep their share.

import type { Clock } from '../../std/clock.ts';
import { Recent } from '../../std/recent.ts';
import { type Rate, TokenBucket } from '../../std/token-bucket.ts';

export interface ReviewRates {
  /** Reviews for addresses within their allowance. */
  readonly shared: Rate;
  /** Reviews for all addresses beyond their allowance. */
  readonly suspects: Rate;
  /** Reviews for one address beyond its allowance. */
  readonly suspect: Rate;
}

/** Result of a review; `failed` if the hub gave none. */
export type ReviewOutcome = 'accepted' | 'rejected' | 'failed';

/** A review that may be sent, or the time to wait, in milliseconds. */
export type Admission =
  | { readonly waitMs: number; readonly settle?: never }
  | { readonly waitMs: 0; readonly settle: (outcome: ReviewOutcome) => void };

interface Source {
  /** Reviews without a result. */
  pending: number;
  accepted: number;
  rejected: number;
  /** Time of the last decay, on the monotonic clock. */
  decayedAt: number;
  readonly bucket: TokenBucket;
}

const RATES: ReviewRates = {
  shared: { perSecond: 200, burst: 400 },
  suspects: { perSecond: 20, burst: 40 },
  suspect: { perSecond: 5, burst: 10 },
};
/** Reviews that an unknown address may have pending or rejected. Each accepted token adds one. */
const ALLOWANCE = 32;
const MAX_ALLOWANCE = 400;
/** Time after which half of what an address did is forgotten, in milliseconds. */
const HALF_LIFE_MS = 10_000;
const MAX_SOURCES = 10_000;

/** Decides which reviews are sent. One instance serves the whole process. */
export class ReviewLimit {
  readonly #clock: Clock;
  readonly #rates: ReviewRates;
  readonly #shared: TokenBucket;
  readonly #suspects: TokenBucket;
  readonly #sources = new Recent<Source>(MAX_SOURCES);

  constructor(clock: Clock, rates: ReviewRates = RATES) {
    this.#clock = clock;
    this.#rates = rates;
    this.#shared = new TokenBucket(clock, rates.shared);
    this.#suspects = new TokenBucket(clock, rates.suspects);
  }

  /** Admits a review for a token that came from an address. The caller must call `settle` once, when the review has a result. */
  admit(address: string): Admission {
    const source = this.#sourceOf(address);
    const waitMs = isWithinAllowance(source) ? this.#shared.take() : source.bucket.take() || this.#suspects.take();
    if (waitMs > 0) return { waitMs };
    source.pending += 1;
    return {
      waitMs: 0,
      settle: (outcome) => {
        source.pending -= 1;
        if (outcome !== 'failed') source[outcome] += 1;
      },
    };
  }

  #sourceOf(address: string): Source {
    const now = this.#clock.monotonic();
    const bucket = () => new TokenBucket(this.#clock, this.#rates.suspect);
    const source = this.#sources.get(address) ?? { pending: 0, accepted: 0, rejected: 0, decayedAt: now, bucket: bucket() };
    this.#sources.set(address, source);
    const decay = 0.5 ** ((now - source.decayedAt) / HALF_LIFE_MS);
    source.accepted *= decay;
    source.rejected *= decay;
    source.decayedAt = now;
    return source;
  }
}

function isWithinAllowance({ pending, accepted, rejected }: Source): boolean {
  return pending + rejected < Math.min(ALLOWANCE + accepted, MAX_ALLOWANCE);
}
