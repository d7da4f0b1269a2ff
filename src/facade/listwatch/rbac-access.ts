// The objects that each caller may see, by RBAC or because another authorizer allows the caller to list all objects. Watches are notified
// of changes.

import type { Subscription } from 'rxjs';
import { type Permission, type RbacChange, RbacIndex, type RbacInformers, toSubjects } from '../../access/rbac-index.ts';
import { computeUserKey, type User } from '../../access/user.ts';
import { Visibility } from '../../access/visibility.ts';
import { ListPermissionReviews, type ListPermissionReviewsOptions } from './list-permission.ts';
import { type OnVisibilityChange, Viewer } from './viewer.ts';

export interface RbacAccessOptions extends ListPermissionReviewsOptions, RbacInformers {
  readonly random: () => number;
}

/** What a caller sees, and the function that ends the notifications of changes. */
interface Following {
  readonly visibility: Visibility;
  readonly stop: () => void;
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

  /**
   * Returns the objects that a caller may see now, and shows them to the caller's open watches. Throws 503 if a SubjectAccessReview is needed
   * and fails.
   */
  async findVisibility(user: User): Promise<Visibility> {
    const decision = this.#findByRules(user).isEverything ? undefined : await this.#reviews.decide(user);
    const viewer = this.#updateViewer(user);
    if (decision !== undefined) viewer?.apply(decision);
    // Lists and watches of a caller must agree: a watch from the version of a list would otherwise end with 410.
    return decision?.allowed ? (viewer?.visibility ?? this.#everything) : this.#findByRules(user);
  }

  /**
   * Returns what a caller sees, and calls `onVisibilityChange` on every change until `stop` is called. `found` is the visibility that was
   * just found for the caller. A caller without other watches sees all objects if `found` contains them, otherwise what RBAC grants now.
   */
  follow(user: User, found: Visibility, onVisibilityChange: OnVisibilityChange): Following {
    const viewer = this.#updateViewer(user) ?? this.#add(user, found);
    const stop = viewer.follow(onVisibilityChange);
    return { visibility: viewer.visibility, stop };
  }

  /** Updates the viewer of a user with all changes, and returns it. Returns undefined if the user has no watches. */
  #updateViewer(user: User): Viewer | undefined {
    const key = computeUserKey(user);
    this.#viewers.get(key)?.update();
    // A change may end the last watch of the user.
    return this.#viewers.get(key);
  }

  #add(user: User, found: Visibility): Viewer {
    const { clock, random } = this.#options;
    const key = computeUserKey(user);
    const viewer: Viewer = new Viewer({
      user,
      reviews: this.#reviews,
      findByRules: () => this.#findByRules(user),
      everything: this.#everything,
      found,
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
