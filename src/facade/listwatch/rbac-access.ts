// The objects that RBAC allows each caller to see, for lists, pages, single objects and watches. Watches are notified of changes.

import type { Subscription } from 'rxjs';
import { type Permission, RbacIndex, type RbacInformers, subjectsOf } from '../../access/rbac-index.ts';
import { type User, userKey } from '../../access/user.ts';
import { Visibility } from '../../access/visibility.ts';
import { ListReviews, type ListReviewsOptions, type OnVisibility, Viewer } from './viewer.ts';

export interface RbacAccessOptions extends ListReviewsOptions, RbacInformers {
  readonly random: () => number;
}

export class RbacAccess {
  readonly #options: RbacAccessOptions;
  readonly #index: RbacIndex;
  readonly #reviews: ListReviews;
  readonly #viewers = new Map<string, Viewer>();
  readonly #bySubject = new Map<string, Set<Viewer>>();

  /** `permission` allows a caller to see the named objects. A caller that may list the resource sees all objects. */
  constructor(options: RbacAccessOptions, permission: Permission) {
    this.#options = options;
    this.#index = new RbacIndex(permission);
    const { group, resource } = permission;
    this.#reviews = new ListReviews(options, { resourceAttributes: { group, resource, verb: 'list' } });
  }

  /** Follows the roles and bindings of the hub until unsubscribed. */
  run(): Subscription {
    return this.#index.follow(this.#options).subscribe((subjects) => this.#updateViewers(subjects));
  }

  /** Returns the objects that a caller may see now. Throws 503 if the review fails. */
  async visibleTo(user: User): Promise<Visibility> {
    if (this.#byRules(user).isEverything || (await this.#reviews.allows(user))) return Visibility.everything;
    return this.#byRules(user);
  }

  /** Returns the objects that a caller may see by the cached decision. Never sends a review: `visibleTo` must have been called just before. */
  visibleNow(user: User): Visibility {
    const viewer = this.#viewers.get(userKey(user));
    if (viewer !== undefined) return viewer.visibility;
    return this.#reviews.cached(user) === true ? Visibility.everything : this.#byRules(user);
  }

  /** Calls `onVisibility` on every change until the returned function is called. */
  follow(user: User, onVisibility: OnVisibility): () => void {
    const viewer = this.#viewers.get(userKey(user)) ?? this.#add(user);
    return viewer.follow(onVisibility);
  }

  #add(user: User): Viewer {
    const { clock, random } = this.#options;
    const key = userKey(user);
    const viewer: Viewer = new Viewer({
      user,
      reviews: this.#reviews,
      byRules: () => this.#byRules(user),
      visibility: this.visibleNow(user),
      clock,
      random,
      onUnused: () => this.#forget(key, viewer),
    });
    this.#viewers.set(key, viewer);
    for (const subject of subjectsOf(user)) this.#bySubject.set(subject, (this.#bySubject.get(subject) ?? new Set()).add(viewer));
    return viewer;
  }

  #forget(key: string, viewer: Viewer): void {
    this.#viewers.delete(key);
    for (const subject of subjectsOf(viewer.user)) {
      const viewers = this.#bySubject.get(subject);
      viewers?.delete(viewer);
      if (viewers?.size === 0) this.#bySubject.delete(subject);
    }
  }

  #byRules(user: User): Visibility {
    return this.#index.namesFor(user);
  }

  #updateViewers(subjects: ReadonlySet<string>): void {
    if (subjects.size === 0) return;
    this.#reviews.invalidate();
    const affected = new Set([...subjects].flatMap((subject) => [...(this.#bySubject.get(subject) ?? [])]));
    for (const viewer of affected) viewer.update();
  }
}
