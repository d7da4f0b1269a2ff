// The visibility of one caller. All watches of the caller follow it. SubjectAccessReviews decide whether the caller may list all objects,
// because the hub may have authorizers other than RBAC.

import { isAllowed, type ReviewAttributes } from '../../access/hub-review.ts';
import { type User, userKeyOf } from '../../access/user.ts';
import type { Visibility } from '../../access/visibility.ts';
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
    return this.cached(user) ?? (await this.review(user));
  }

  /** Returns the last decision, or undefined if there is none or it is too old. */
  cached(user: User): boolean | undefined {
    const decision = this.#decisions.get(userKeyOf(user));
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
    const key = userKeyOf(user);
    return this.#pending.do(key, () => this.#review(key, user));
  }

  /** Drops positive decisions after the rules have changed, and shortens the cache time for two seconds. */
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

/** Receives the new visibility. */
export type OnVisibilityChange = (visibility: Visibility) => void;

export interface ViewerOptions {
  readonly user: User;
  readonly reviews: ListPermissionReviews;
  /** Returns the current visibility by RBAC. */
  readonly byRules: () => Visibility;
  /** Visibility of a caller who may list all objects. */
  readonly everything: Visibility;
  /** Initial visibility. */
  readonly visibility: Visibility;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called when the last follower has unsubscribed. */
  readonly onUnused: () => void;
}

/**
 * Interval between reviews after a negative decision, in milliseconds. It delays only permissions that authorizers other than RBAC grant.
 */
const RECHECK_DENIED_MS = 30_000;
/** Validity of a positive decision while the hub does not respond, in milliseconds. */
const PATIENCE_MS = 10_000;
const RETRY_MS = 1_000;

export class Viewer {
  readonly user: User;
  readonly #options: ViewerOptions;
  readonly #followers = new Set<OnVisibilityChange>();
  #visibility: Visibility;
  /** Last visibility by RBAC, which `update` compares with the current one. */
  #rules: Visibility;
  #cancel: () => void = () => {};
  #confirmedAt: number;
  /** Number of the latest review; results of earlier ones are ignored. */
  #reviewNumber = 0;
  #isOver = false;

  constructor(options: ViewerOptions) {
    this.#options = options;
    this.user = options.user;
    this.#visibility = options.visibility;
    this.#rules = options.byRules();
    this.#confirmedAt = options.clock.monotonic();
    this.#schedule();
  }

  get visibility(): Visibility {
    return this.#visibility;
  }

  /** Calls `onVisibilityChange` on every change of the visibility until the returned function is called. */
  follow(onVisibilityChange: OnVisibilityChange): () => void {
    this.#followers.add(onVisibilityChange);
    return () => {
      if (!this.#followers.delete(onVisibilityChange) || this.#followers.size > 0) return;
      this.#isOver = true;
      this.#cancel();
      this.#options.onUnused();
    };
  }

  /** Updates the visibility if RBAC grants different objects than at the last update. */
  update(): void {
    const before = this.#rules;
    const now = this.#readRules();
    if (now === before || now.equals(before)) return;
    if (now.isEverything || !this.#visibility.isEverything) this.#show(now);
    // Another authorizer may still allow everything. Without a review, the caller would get DELETED and ADDED for all objects.
    else if (before.isEverything) void this.#review();
  }

  #readRules(): Visibility {
    this.#rules = this.#options.byRules();
    return this.#rules;
  }

  async #review(): Promise<void> {
    const { reviews, everything, clock } = this.#options;
    this.#cancel();
    const number = ++this.#reviewNumber;
    try {
      const allowed = await reviews.review(this.user);
      if (this.#reviewNumber !== number) return;
      this.#confirmedAt = clock.monotonic();
      this.#show(allowed ? everything : this.#readRules());
    } catch {
      if (this.#reviewNumber !== number) return;
      if (clock.monotonic() - this.#confirmedAt >= PATIENCE_MS) this.#show(this.#readRules());
      this.#schedule(RETRY_MS);
    }
  }

  #show(visibility: Visibility): void {
    const before = this.#visibility;
    this.#visibility = visibility;
    this.#schedule();
    if (before === visibility) return;
    for (const onVisibilityChange of this.#followers) onVisibilityChange(visibility);
  }

  /** Schedules the next review, unless RBAC allows everything: the RBAC watch reports changes. */
  #schedule(ms?: number): void {
    const { clock, random, reviews } = this.#options;
    this.#cancel();
    this.#cancel = () => {};
    if (this.#isOver || this.#readRules().isEverything) return;
    const periodMs = this.#visibility.isEverything ? reviews.cacheMs : RECHECK_DENIED_MS;
    this.#cancel = clock.wakeAfter(ms ?? periodMs * (1 - random() / 5), () => void this.#review());
  }
}
