// Cached SubjectAccessReviews that decide whether a caller may list all objects of a kind.

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

/** The hub's decision whether a caller may list all objects. */
export interface Decision {
  readonly allowed: boolean;
  /** Time of the request to the hub, on the monotonic clock. */
  readonly requestedAt: number;
}

/** Maximum time for which a decision is valid, in milliseconds. */
export const CACHE_MS = 10_000;
/** Maximum delay before the hub itself applies a change to its rules, in milliseconds. */
const HUB_DELAY_MS = 2_000;
/** Cache time of a positive decision for HUB_DELAY_MS after a change to the rules, in milliseconds. */
export const UNSETTLED_CACHE_MS = 250;
/** Maximum time for which concurrent calls share a review, in milliseconds: the hub may never respond to it. */
const SHARED_MS = 3_000;
const MAX_DECISIONS = 10_000;

/** Reviews by caller. RBAC objects are not sufficient, because the hub can have other authorizers. Failures are thrown and not cached. */
export class ListPermissionReviews {
  readonly #options: ListPermissionReviewsOptions;
  readonly #attributes: ReviewAttributes;
  readonly #decisions = new Map<string, Decision>();
  readonly #pending = new SingleFlight<Decision>();
  #unsettledAt = Number.NEGATIVE_INFINITY;

  constructor(options: ListPermissionReviewsOptions, attributes: ReviewAttributes) {
    this.#options = options;
    this.#attributes = attributes;
  }

  /** Returns the cached decision, or that of a new review if the cache has none or it is too old. */
  async decide(user: User): Promise<Decision> {
    const decision = this.findLatest(user);
    const isValid = decision !== undefined && this.#options.clock.monotonic() - decision.requestedAt < this.validMs(decision);
    return isValid ? decision : await this.review(user);
  }

  /** Returns the latest decision, which may be too old; undefined if there is none. */
  findLatest(user: User): Decision | undefined {
    return this.#decisions.get(computeUserKey(user));
  }

  /**
   * Sends a review; concurrent calls for the same user share it for up to SHARED_MS. Returns the decision of a later review if that has ended
   * first.
   */
  review(user: User): Promise<Decision> {
    const key = computeUserKey(user);
    const period = Math.floor(this.#options.clock.monotonic() / SHARED_MS);
    return this.#pending.do(`${period} ${key}`, () => this.#review(key, user));
  }

  /** Drops positive decisions after the rules have changed, and shortens the cache time of new ones for two seconds. */
  invalidate(): void {
    this.#unsettledAt = this.#options.clock.monotonic();
    this.#pending.clear();
  }

  /**
   * Returns the cache time of a decision, in milliseconds. `invalidate` does not affect negative decisions: the RBAC watch reports new
   * permissions.
   */
  validMs({ allowed, requestedAt }: Decision): number {
    if (!allowed) return CACHE_MS;
    if (requestedAt < this.#unsettledAt) return 0;
    return requestedAt < this.#unsettledAt + HUB_DELAY_MS ? UNSETTLED_CACHE_MS : CACHE_MS;
  }

  async #review(key: string, user: User): Promise<Decision> {
    const { hub, clock, log } = this.#options;
    const requestedAt = clock.monotonic();
    const decision = { allowed: await isAllowed(hub, user, this.#attributes, log), requestedAt };
    const latest = this.#decisions.get(key);
    if (latest !== undefined && latest.requestedAt > requestedAt) return latest;
    if (this.#decisions.size >= MAX_DECISIONS) this.#decisions.clear();
    this.#decisions.set(key, decision);
    return decision;
  }
}
