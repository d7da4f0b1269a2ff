// SubjectAccessReviews that decide whether a caller is authorized to list all objects. RBAC objects are not sufficient for this decision,
// because the hub can have other authorizers.

import { isAllowed, type ReviewAttributes } from '../../access/hub-review.ts';
import { computeUserKey, type User } from '../../access/user.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Clock } from '../../std/clock.ts';
import { SingleFlight } from '../../std/single-flight.ts';
import type { Logger } from '../../telemetry/logger.ts';

export interface ListPermissionReviewsOptions {
  readonly hub: Pick<KubeClient, 'createReview'>;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Decision {
  readonly allowed: boolean;
  /** Time of the request to the hub, on the monotonic clock. */
  readonly requestedAt: number;
}

const CACHE_MS = 10_000;
/** Maximum delay before the hub itself applies a change to its rules, in milliseconds. */
const UNSETTLED_MS = 2_000;
/** Cache time of a positive decision for UNSETTLED_MS after a change to the rules, in milliseconds. */
const UNSETTLED_CACHE_MS = 250;
const MAX_DECISIONS = 10_000;

/** Cached SubjectAccessReviews for listing all objects. Failures are thrown and not cached. */
export class ListPermissionReviews {
  readonly #options: ListPermissionReviewsOptions;
  readonly #attributes: ReviewAttributes;
  readonly #decisions = new Map<string, Decision>();
  readonly #pending = new SingleFlight<boolean>();
  #unsettledAt = Number.NEGATIVE_INFINITY;

  constructor(options: ListPermissionReviewsOptions, attributes: ReviewAttributes) {
    this.#options = options;
    this.#attributes = attributes;
  }

  /** Returns the cached decision, or the decision of a new review. */
  async allows(user: User): Promise<boolean> {
    return this.findCached(user) ?? (await this.review(user));
  }

  /** Returns the cached decision, or undefined if the cache has none or the decision is too old. */
  findCached(user: User): boolean | undefined {
    const decision = this.#decisions.get(computeUserKey(user));
    return decision === undefined || this.#options.clock.monotonic() - decision.requestedAt >= this.#validMs(decision)
      ? undefined
      : decision.allowed;
  }

  /** Cache time of a positive decision that is requested now, in milliseconds. */
  get cacheMs(): number {
    const now = this.#options.clock.monotonic();
    return this.#validMs({ allowed: true, requestedAt: now });
  }

  /** Sends a review; concurrent calls for the same user share it. */
  review(user: User): Promise<boolean> {
    const key = computeUserKey(user);
    return this.#pending.do(key, () => this.#review(key, user));
  }

  /** Drops positive decisions after the rules have changed, and shortens the cache time of new ones for two seconds. */
  invalidate(): void {
    this.#unsettledAt = this.#options.clock.monotonic();
    this.#pending.clear();
  }

  async #review(key: string, user: User): Promise<boolean> {
    const { hub, clock, log } = this.#options;
    const requestedAt = clock.monotonic();
    const allowed = await isAllowed(hub, user, this.#attributes, log);
    const isOvertaken = (this.#decisions.get(key)?.requestedAt ?? requestedAt) > requestedAt;
    if (this.#decisions.size >= MAX_DECISIONS) this.#decisions.clear();
    if (!isOvertaken) this.#decisions.set(key, { allowed, requestedAt });
    return allowed;
  }

  /**
   * Returns the cache time of a decision, in milliseconds. `invalidate` does not affect negative decisions: the RBAC watch reports new
   * permissions.
   */
  #validMs({ allowed, requestedAt }: Decision): number {
    if (!allowed) return CACHE_MS;
    if (requestedAt < this.#unsettledAt) return 0;
    return requestedAt < this.#unsettledAt + UNSETTLED_MS ? UNSETTLED_CACHE_MS : CACHE_MS;
  }
}
