// The objects that one caller may see, which all watches of the caller follow.

import type { User } from '../../access/user.ts';
import type { Visibility } from '../../access/visibility.ts';
import type { Clock } from '../../std/clock.ts';
import { CACHE_MS, type Decision, type ListPermissionReviews, UNSETTLED_CACHE_MS } from './list-permission.ts';

/** Listener that receives each new visibility. */
export type OnVisibilityChange = (visibility: Visibility) => void;

export interface ViewerOptions {
  readonly user: User;
  readonly reviews: ListPermissionReviews;
  /** Returns the visibility that RBAC currently grants. */
  readonly findByRules: () => Visibility;
  /** Visibility of a caller who may list all objects. */
  readonly everything: Visibility;
  /** What was just found for the caller. */
  readonly found: Visibility;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called when the last follower has unsubscribed. */
  readonly onUnused: () => void;
}

/**
 * Maximum interval between reviews after a negative decision, in milliseconds. The interval delays only permissions that authorizers other
 * than RBAC grant.
 */
const RECHECK_DENIED_MS = 30_000;
/** Minimum time between a failed review and the next one, in milliseconds; the maximum is twice as long. */
const RETRY_MS = 1_000;
/** Time after which another review is sent although the last one has no response, in milliseconds. */
const RESEND_MS = 3_000;
/**
 * Age from which a decision does not show hidden objects, in milliseconds. If the next review takes as long, its decision arrives after the
 * end of this one, and clients would delete all objects, and receive them again, at each review.
 */
const MAX_REVIEW_MS = CACHE_MS / 2;
/** Time for a review after RBAC no longer allows everything, in milliseconds: another authorizer may still allow it. */
const WITHDRAWAL_MS = 3_000;

/**
 * A caller sees what RBAC grants, or all objects for CACHE_MS after the request of a review that allows it. The next review begins halfway,
 * so that a short failure of the hub hides nothing: clients would delete all objects, and receive them again.
 */
export class Viewer {
  readonly user: User;
  readonly #options: ViewerOptions;
  readonly #followers = new Set<OnVisibilityChange>();
  #visibility: Visibility;
  /** Last visibility by RBAC, which `update` compares with the current one. */
  #rules: Visibility;
  /** Time of the latest decision that was applied, on the monotonic clock. */
  #decidedAt: number;
  /** Time from which the caller sees only what RBAC grants, unless a review allows more, on the monotonic clock. */
  #expiresAt: number;
  /** Time of the next review, on the monotonic clock. */
  #reviewAt: number;
  #isOver = false;
  #cancel: () => void = () => {};

  constructor(options: ViewerOptions) {
    const { user, reviews, found, clock } = options;
    this.#options = options;
    this.user = user;
    this.#rules = options.findByRules();
    this.#visibility = found.isEverything ? found : this.#rules;
    const now = clock.monotonic();
    const latest = reviews.findLatest(user);
    const isAllowed = latest?.allowed === true && now < latest.requestedAt + CACHE_MS;
    this.#decidedAt = latest?.requestedAt ?? Number.NEGATIVE_INFINITY;
    // If the caller sees all objects without a decision, RBAC has just changed.
    this.#expiresAt = isAllowed ? latest.requestedAt + CACHE_MS : now + WITHDRAWAL_MS;
    this.#reviewAt = found.isEverything && !isAllowed ? now : this.#nextReviewAt(isAllowed ? latest : undefined);
    this.#schedule();
  }

  get visibility(): Visibility {
    return this.#visibility;
  }

  /** Calls `onVisibilityChange` on every change to the visibility until the returned function is called. */
  follow(onVisibilityChange: OnVisibilityChange): () => void {
    this.#followers.add(onVisibilityChange);
    return () => {
      if (!this.#followers.delete(onVisibilityChange) || this.#followers.size > 0) return;
      this.#isOver = true;
      this.#cancel();
      this.#options.onUnused();
    };
  }

  /** Applies a decision, unless a later one has been applied. A decision that took long does not show hidden objects. */
  apply(decision: Decision): void {
    if (decision.requestedAt < this.#decidedAt) return;
    if (decision.requestedAt > this.#decidedAt) this.#reviewAt = Math.min(this.#reviewAt, this.#nextReviewAt(decision));
    this.#decidedAt = decision.requestedAt;
    if (decision.allowed) this.#expiresAt = Math.max(this.#expiresAt, decision.requestedAt + CACHE_MS);
    const isShown =
      decision.allowed && (this.#visibility.isEverything || this.#options.clock.monotonic() < decision.requestedAt + MAX_REVIEW_MS);
    this.#show(isShown ? this.#options.everything : this.#readRules());
  }

  /** Applies a change to the objects that RBAC grants. A caller who sees all objects continues to see them until a review. */
  update(): void {
    const before = this.#rules;
    const now = this.#readRules();
    // An earlier change that has been reverted since may have cancelled the timer.
    if (now === before || now.equals(before)) return this.#schedule();
    if (now.isEverything || !this.#visibility.isEverything) return this.#show(now);
    if (!before.isEverything) return this.#schedule();
    // Another authorizer may still allow everything. Without a review, the caller would get DELETED and ADDED events for all objects.
    this.#expiresAt = Math.max(this.#expiresAt, this.#options.clock.monotonic() + WITHDRAWAL_MS);
    void this.#review();
  }

  #readRules(): Visibility {
    this.#rules = this.#options.findByRules();
    return this.#rules;
  }

  async #review(): Promise<void> {
    const { reviews, clock, random } = this.#options;
    const resendAt = clock.monotonic() + RESEND_MS;
    this.#reviewAt = resendAt;
    this.#schedule();
    const decision = await reviews.review(this.user).catch(() => undefined);
    // A later review may have changed the time of the next one.
    if (this.#reviewAt === resendAt)
      this.#reviewAt = decision === undefined ? clock.monotonic() + RETRY_MS * (1 + random()) : this.#nextReviewAt(decision);
    if (decision === undefined) this.#schedule();
    else this.apply(decision);
  }

  #show(visibility: Visibility): void {
    const before = this.#visibility;
    this.#visibility = visibility;
    this.#schedule();
    if (before === visibility || before.equals(visibility)) return;
    for (const onVisibilityChange of this.#followers) onVisibilityChange(visibility);
  }

  /** Returns the time of the next review after a decision; without a decision, that after a refusal. */
  #nextReviewAt(decision: Decision | undefined): number {
    const { reviews, clock, random } = this.#options;
    const [from, periodMs] = decision?.allowed
      ? [decision.requestedAt, Math.max(reviews.validMs(decision) / 2, UNSETTLED_CACHE_MS)]
      : [clock.monotonic(), RECHECK_DENIED_MS];
    return from + periodMs * (1 - random() / 5);
  }

  /** Sets the timer for the next review or the end of a decision, unless RBAC allows everything: the RBAC watch reports changes. */
  #schedule(): void {
    const { clock } = this.#options;
    this.#cancel();
    this.#cancel = () => {};
    // Leaves `#rules` unchanged, so that `update` finds a change of RBAC.
    if (this.#isOver || this.#options.findByRules().isEverything) return;
    const nextAt = Math.min(this.#reviewAt, this.#visibility.isEverything ? this.#expiresAt : Number.POSITIVE_INFINITY);
    if (nextAt === Number.POSITIVE_INFINITY) return;
    this.#cancel = clock.wakeAfter(Math.max(nextAt - clock.monotonic(), 0), () => this.#onTimer());
  }

  #onTimer(): void {
    const now = this.#options.clock.monotonic();
    if (this.#visibility.isEverything && now >= this.#expiresAt) this.#show(this.#readRules());
    if (now >= this.#reviewAt) void this.#review();
    else this.#schedule();
  }
}
