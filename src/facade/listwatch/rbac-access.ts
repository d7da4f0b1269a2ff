// The objects that each caller may see, by RBAC or because another authorizer allows the caller to list all objects. Watches are notified
// of changes.

import type { Subscription } from 'rxjs';
import { isAllowed, type ReviewAttributes } from '../../access/hub-review.ts';
import { type Permission, type RbacChange, RbacIndex, type RbacInformers, toSubjects } from '../../access/rbac-index.ts';
import { computeUserKey, type User } from '../../access/user.ts';
import { Visibility } from '../../access/visibility.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Clock } from '../../std/clock.ts';
import { SingleFlight } from '../../std/single-flight.ts';
import type { Logger } from '../../telemetry/logger.ts';

/** Listener that receives each new visibility. */
type OnVisibilityChange = (visibility: Visibility) => void;

interface ListPermissionReviewsOptions {
  readonly hub: Pick<KubeClient, 'createReview'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface RbacAccessOptions extends ListPermissionReviewsOptions, RbacInformers {
  readonly random: () => number;
}

/** Duration below which no pause follows an update of viewers, in milliseconds. */
const SHORT_UPDATE_MS = 1;
/** Time after which a pause interrupts an update of viewers, in milliseconds. */
const MAX_UPDATE_MS = 10;
/** Duration of a pause, as a multiple of the duration of the update, and its maximum in milliseconds. */
const PAUSE_FACTOR = 9;
const MAX_PAUSE_MS = 2_000;

export class RbacAccess {
  readonly #options: RbacAccessOptions;
  readonly #index: RbacIndex;
  readonly #reviews: ListPermissionReviews;
  readonly #viewers = new Map<string, Viewer>();
  readonly #bySubject = new Map<string, Set<Viewer>>();
  /** Number of index changes that have been evaluated for `#outdated`. */
  #changes = 0;
  /** Viewers whose permissions may have changed. */
  readonly #outdated = new Set<Viewer>();
  #cancelPause: (() => void) | undefined;
  readonly #salt: number;
  readonly #everything: Visibility;
  readonly #salted = new WeakMap<Visibility, Visibility>();

  /**
   * A caller sees the objects for which RBAC grants `permission`, or all objects if the caller may list them all. A salt other than 0
   * changes all fingerprints.
   */
  constructor(options: RbacAccessOptions, permission: Permission, salt = 0) {
    this.#options = options;
    this.#salt = salt;
    this.#everything = this.#withSalt(Visibility.everything);
    this.#index = new RbacIndex(permission);
    const { group, resource } = permission;
    this.#reviews = new ListPermissionReviews(options, { resourceAttributes: { group, resource, verb: 'list' } });
  }

  /** Follows the roles and bindings of the hub until unsubscribed. */
  run(): Subscription {
    const running = this.#index.follow(this.#options).subscribe((change) => this.#onChange(change));
    running.add(() => this.#cancelPause?.());
    return running;
  }

  /** Returns the objects that a caller may see now. Throws 503 if a SubjectAccessReview is needed and fails. */
  async findVisibility(user: User): Promise<Visibility> {
    this.#updateViewer(user);
    if (this.#findByRules(user).isEverything || (await this.#reviews.allows(user))) return this.#everything;
    return this.#findByRules(user);
  }

  /**
   * Returns the objects that a caller may see, without a review: those of the caller's open watches or, without an open watch, those that
   * RBAC or the cached decision of a recent `findVisibility` allows.
   */
  findVisibilityNow(user: User): Visibility {
    const viewer = this.#updateViewer(user);
    if (viewer !== undefined) return viewer.visibility;
    return this.#reviews.findCached(user) === true ? this.#everything : this.#findByRules(user);
  }

  /** Calls `onVisibilityChange` on every change to the user's visibility until the returned function is called. */
  follow(user: User, onVisibilityChange: OnVisibilityChange): () => void {
    const viewer = this.#updateViewer(user) ?? this.#add(user);
    return viewer.follow(onVisibilityChange);
  }

  /** Updates the viewer of a user with all changes, and returns it. Returns undefined if the user has no watches. */
  #updateViewer(user: User): Viewer | undefined {
    const viewer = this.#viewers.get(computeUserKey(user));
    viewer?.update();
    return viewer;
  }

  #add(user: User): Viewer {
    const { clock, random } = this.#options;
    const key = computeUserKey(user);
    const viewer: Viewer = new Viewer({
      user,
      reviews: this.#reviews,
      findByRules: () => this.#findByRules(user),
      everything: this.#everything,
      visibility: this.findVisibilityNow(user),
      clock,
      random,
      onUnused: () => this.#forget(key, viewer),
    });
    this.#viewers.set(key, viewer);
    for (const subject of toSubjects(user)) this.#bySubject.set(subject, (this.#bySubject.get(subject) ?? new Set()).add(viewer));
    return viewer;
  }

  #forget(key: string, viewer: Viewer): void {
    this.#viewers.delete(key);
    this.#outdated.delete(viewer);
    for (const subject of toSubjects(viewer.user)) {
      const viewers = this.#bySubject.get(subject);
      viewers?.delete(viewer);
      if (viewers?.size === 0) this.#bySubject.delete(subject);
    }
  }

  #findByRules(user: User): Visibility {
    return this.#withSalt(this.#index.namesFor(user));
  }

  #withSalt(visibility: Visibility): Visibility {
    if (this.#salt === 0) return visibility;
    const salted = this.#salted.get(visibility) ?? visibility.withSalt(this.#salt);
    this.#salted.set(visibility, salted);
    return salted;
  }

  #onChange(change: RbacChange): void {
    // A Role or a RoleBinding cannot grant lists in all namespaces, and users can change those in their namespace arbitrarily often.
    if (change.isClusterWide) this.#reviews.invalidate();
    if (this.#cancelPause === undefined) this.#updateViewers();
  }

  /** Updates the outdated viewers. A pause follows a long update, so that many changes to large permissions leave time for requests. */
  #updateViewers(): void {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    this.#markOutdated();
    // The time limit starts here: with many bindings, marking outdated viewers could use it up and leave no time to update them.
    const endsAt = clock.monotonic() + MAX_UPDATE_MS;
    for (const viewer of this.#outdated) {
      this.#outdated.delete(viewer);
      viewer.update();
      if (clock.monotonic() >= endsAt) break;
    }
    const durationMs = clock.monotonic() - startedAt;
    const pauseMs = Math.min(durationMs * PAUSE_FACTOR, MAX_PAUSE_MS);
    this.#cancelPause = durationMs < SHORT_UPDATE_MS ? undefined : clock.wakeAfter(pauseMs, () => this.#updateViewers());
  }

  #markOutdated(): void {
    const since = this.#changes;
    this.#changes = this.#index.changes;
    if (since === this.#changes) return;
    for (const [subject, viewers] of this.#bySubject)
      if (this.#index.hasChanged(subject, since)) for (const viewer of viewers) this.#outdated.add(viewer);
  }
}

interface ViewerOptions {
  readonly user: User;
  readonly reviews: ListPermissionReviews;
  /** Returns the visibility that RBAC currently grants. */
  readonly findByRules: () => Visibility;
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
 * Maximum interval between reviews after a negative decision, in milliseconds. The interval delays only permissions that authorizers other
 * than RBAC grant.
 */
const RECHECK_DENIED_MS = 30_000;
/** Validity of a positive decision while reviews fail, in milliseconds. */
const PATIENCE_MS = 10_000;
const RETRY_MS = 1_000;

/** The visibility of one caller, which all watches of the caller follow. */
class Viewer {
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
    this.#rules = options.findByRules();
    this.#confirmedAt = options.clock.monotonic();
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

  /** Applies a change to the objects that RBAC grants. A caller who sees all objects continues to see them until a review. */
  update(): void {
    const before = this.#rules;
    const now = this.#readRules();
    if (now === before || now.equals(before)) return;
    if (now.isEverything || !this.#visibility.isEverything) this.#show(now);
    // Another authorizer may still allow everything. Without a review, the caller would get DELETED and ADDED events for all objects.
    else if (before.isEverything) void this.#review();
  }

  #readRules(): Visibility {
    this.#rules = this.#options.findByRules();
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

interface Decision {
  readonly allowed: boolean;
  /** Time of the request to the hub, on the monotonic clock. */
  readonly requestedAt: number;
}

const CACHE_MS = 10_000;
/** Maximum delay before the hub itself applies a change to its rules, in milliseconds. */
const HUB_DELAY_MS = 2_000;
/** Cache time of a positive decision for HUB_DELAY_MS after a change to the rules, in milliseconds. */
const UNSETTLED_CACHE_MS = 250;
const MAX_DECISIONS = 10_000;

/**
 * Cached SubjectAccessReviews that decide whether a caller may list all objects: RBAC objects are not sufficient, because the hub can have
 * other authorizers. Failures are thrown and not cached.
 */
class ListPermissionReviews {
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
    return requestedAt < this.#unsettledAt + HUB_DELAY_MS ? UNSETTLED_CACHE_MS : CACHE_MS;
  }
}
