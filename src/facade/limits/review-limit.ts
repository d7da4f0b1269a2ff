// The limits on TokenReviews. A token is known if the hub accepted it in its last review. The limit on unknown tokens first affects source
// addresses that send rejected tokens, or many tokens of one tenant, so that other addresses keep their share.

import { BoundedCache } from '../../std/bounded-cache.ts';
import type { Clock } from '../../std/clock.ts';
import { type Rate, TokenBucket } from '../../std/token-bucket.ts';
import { TenantRates, toTenant } from './tenant.ts';

export interface ReviewRates {
  /** Total rate for unknown tokens from all addresses within their allowance (see ALLOWANCE). */
  readonly shared: Rate;
  /** Total rate for unknown tokens from all addresses beyond their allowance. */
  readonly allOverAllowance: Rate;
  /** Rate for unknown tokens from one address beyond its allowance. */
  readonly perAddressOverAllowance: Rate;
  /** Rate for known tokens of one tenant. Each token is reviewed at most every ten seconds, so only many active tokens reach this rate. */
  readonly known: Rate;
  /** Rate for unknown tokens of one tenant that the hub has signed, for reviews that `admit` rejects. */
  readonly signed: Rate;
}

/** Result of a review: the user of an accepted token, `rejected`, or `failed` if the hub returned no result. */
export type ReviewOutcome = { readonly username: string } | 'rejected' | 'failed';

/** Admission of a review, or the time to wait before a retry, in milliseconds. */
export type ReviewAdmission =
  | { readonly waitMs: number; readonly settle?: never }
  | { readonly waitMs: 0; readonly settle: (outcome: ReviewOutcome) => void };

interface Source {
  /** Number of reviews in progress. */
  pending: number;
  /** Number of accepted tokens, up to TENANT_ALLOWANCE for each tenant. */
  readonly credit: DecayingCount;
  /** Number of rejected tokens, and of accepted tokens beyond TENANT_ALLOWANCE. */
  readonly debit: DecayingCount;
  readonly bucket: TokenBucket;
}

const RATES: ReviewRates = {
  shared: { perSecond: 200, burst: 400 },
  allOverAllowance: { perSecond: 20, burst: 40 },
  perAddressOverAllowance: { perSecond: 5, burst: 10 },
  known: { perSecond: 100, burst: 200 },
  signed: { perSecond: 20, burst: 64 },
};
/**
 * Allowance of a new address: the maximum sum of its pending reviews and debited tokens. Each credited token adds one, up to MAX_ALLOWANCE.
 */
const ALLOWANCE = 32;
const MAX_ALLOWANCE = 400;
/** Maximum number of accepted tokens of one tenant that are credited to their addresses; additional ones are debited. */
const TENANT_ALLOWANCE = 64;
/** Time after which counts are halved, in milliseconds. */
const HALF_LIFE_MS = 10_000;
const MAX_SOURCES = 10_000;
const MAX_TENANTS = 10_000;

/** Decides which reviews are sent. One instance serves the whole process. */
export class ReviewLimit {
  readonly #clock: Clock;
  readonly #rates: ReviewRates;
  readonly #shared: TokenBucket;
  readonly #allOverAllowance: TokenBucket;
  readonly #sources = new BoundedCache<Source>(MAX_SOURCES);
  /** Accepted tokens by tenant. */
  readonly #tenants = new BoundedCache<DecayingCount>(MAX_TENANTS);
  /** Rates of known tokens by tenant. */
  readonly #known: TenantRates;
  /** Rates of signed tokens by tenant. */
  readonly #signed: TenantRates;

  constructor(clock: Clock, rates: ReviewRates = RATES) {
    this.#clock = clock;
    this.#rates = rates;
    this.#shared = new TokenBucket(clock, rates.shared);
    this.#allOverAllowance = new TokenBucket(clock, rates.allOverAllowance);
    this.#known = new TenantRates(clock, rates.known);
    this.#signed = new TenantRates(clock, rates.signed);
  }

  /** Admits the review of a known token of a user, within the rate of the user's tenant. */
  admitKnown(username: string): ReviewAdmission {
    return toAdmission(this.#known.take(toTenant(username)));
  }

  /** Admits the review of an unknown token that the hub has signed for a user, within the rate of the tenant, from any address. */
  admitSigned(username: string): ReviewAdmission {
    return toAdmission(this.#signed.take(toTenant(username)));
  }

  /** Admits the review of an unknown token from an address, within the limits. After an admission, the caller must call `settle` once. */
  admit(address: string): ReviewAdmission {
    const source = this.#findOrAddSource(address);
    const waitMs = isWithinAllowance(source) ? this.#shared.take() : source.bucket.take() || this.#allOverAllowance.take();
    if (waitMs > 0) return { waitMs };
    source.pending += 1;
    return {
      waitMs: 0,
      settle: (outcome) => {
        source.pending -= 1;
        if (outcome === 'failed') return;
        const isCredited = outcome !== 'rejected' && this.#countToken(toTenant(outcome.username)) <= TENANT_ALLOWANCE;
        (isCredited ? source.credit : source.debit).add();
      },
    };
  }

  #findOrAddSource(address: string): Source {
    const count = () => new DecayingCount(this.#clock);
    const bucket = () => new TokenBucket(this.#clock, this.#rates.perAddressOverAllowance);
    const source = this.#sources.get(address) ?? { pending: 0, credit: count(), debit: count(), bucket: bucket() };
    this.#sources.set(address, source);
    return source;
  }

  /** Counts an accepted token of a tenant; returns the count. */
  #countToken(tenant: string): number {
    const count = this.#tenants.get(tenant) ?? new DecayingCount(this.#clock);
    this.#tenants.set(tenant, count);
    return count.add();
  }
}

function toAdmission(waitMs: number): ReviewAdmission {
  return waitMs > 0 ? { waitMs } : { waitMs: 0, settle: () => {} };
}

/** A count that is halved every `HALF_LIFE_MS`. */
class DecayingCount {
  readonly #clock: Clock;
  #value = 0;
  #decayedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#decayedAt = clock.monotonic();
  }

  get value(): number {
    const now = this.#clock.monotonic();
    this.#value *= 0.5 ** ((now - this.#decayedAt) / HALF_LIFE_MS);
    this.#decayedAt = now;
    return this.#value;
  }

  /** Adds one; returns the new value. */
  add(): number {
    this.#value = this.value + 1;
    return this.#value;
  }
}

function isWithinAllowance({ pending, credit, debit }: Source): boolean {
  return pending + debit.value < Math.min(ALLOWANCE + credit.value, MAX_ALLOWANCE);
}
