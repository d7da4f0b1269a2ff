// Which clusters each caller may see: one answer for lists, pages, single clusters and watches.
// Watches are told when theirs changes.

import { map, merge, type OperatorFunction, type Subscription } from 'rxjs';
import { subjectsOf, Visibility, VisibilityIndex } from '../../access/visibility.ts';
import { RegistryGroup } from '../../api/names.ts';
import { type ClusterRole, type ClusterRoleBinding, Clusters } from '../../api/resources.ts';
import type { Batch } from '../../kube/store.ts';
import type { Clock } from '../../std/clock.ts';
import type { Access, Followed, OnVisibility } from '../listwatch/filtered-list.ts';
import { ListReviews, type ListReviewsOptions, Viewer } from '../listwatch/viewer.ts';
import type { User } from '../request.ts';
import { userKey } from '../user-key.ts';

export interface AccessOptions extends ListReviewsOptions {
  readonly roles: Followed<ClusterRole>;
  readonly bindings: Followed<ClusterRoleBinding>;
  readonly clock: Clock;
  readonly random: () => number;
}

const LIST_CLUSTERS = { resourceAttributes: { group: RegistryGroup, resource: Clusters.plural, verb: 'list' } };

export class ClusterAccess implements Access {
  readonly #options: AccessOptions;
  readonly #index = new VisibilityIndex();
  readonly #reviews: ListReviews;
  readonly #viewers = new Map<string, Viewer>();
  readonly #bySubject = new Map<string, Set<Viewer>>();

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#reviews = new ListReviews(options, LIST_CLUSTERS);
  }

  /** Follows the roles and bindings of the hub until unsubscribed. */
  run(): Subscription {
    const { roles, bindings } = this.#options;
    for (const role of roles.store.list()) this.#setRole(role.metadata.name ?? '', role);
    for (const binding of bindings.store.list()) this.#setBinding(binding.metadata.name ?? '', binding);
    const batches$ = merge(
      roles.batches$.pipe(changesBy((name, role: ClusterRole | undefined) => this.#setRole(name, role))),
      bindings.batches$.pipe(changesBy((name, binding: ClusterRoleBinding | undefined) => this.#setBinding(name, binding))),
    );
    return batches$.subscribe((subjects) => this.#changed(subjects));
  }

  /** What a caller may see now. Throws when the hub does not say. */
  async visibleTo(user: User): Promise<Visibility> {
    if (this.#byRules(user).isEverything || (await this.#reviews.allows(user))) return Visibility.everything;
    return this.#byRules(user);
  }

  /** The same without asking, for a caller who has been told a moment ago. */
  visibleNow(user: User): Visibility {
    const viewer = this.#viewers.get(userKey(user));
    if (viewer !== undefined) return viewer.visibility;
    return this.#reviews.cached(user) === true ? Visibility.everything : this.#byRules(user);
  }

  /** Calls back whenever what a caller may see has changed, until the returned function is called. */
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
    for (const subject of subjectsOf(rbacUser(user))) this.#bySubject.set(subject, (this.#bySubject.get(subject) ?? new Set()).add(viewer));
    return viewer;
  }

  #forget(key: string, viewer: Viewer): void {
    this.#viewers.delete(key);
    for (const subject of subjectsOf(rbacUser(viewer.user))) {
      const viewers = this.#bySubject.get(subject);
      viewers?.delete(viewer);
      if (viewers?.size === 0) this.#bySubject.delete(subject);
    }
  }

  #byRules(user: User): Visibility {
    return this.#index.visibleTo(rbacUser(user));
  }

  #setRole(name: string, role: ClusterRole | undefined): readonly string[] {
    return this.#index.setRole(name, role && (role.rules ?? []));
  }

  #setBinding(name: string, binding: ClusterRoleBinding | undefined): readonly string[] {
    return this.#index.setBinding(name, binding && { name, subjects: binding.subjects ?? [], roleRef: binding.roleRef });
  }

  #changed(subjects: ReadonlySet<string>): void {
    if (subjects.size === 0) return;
    this.#reviews.invalidate();
    const concerned = new Set([...subjects].flatMap((subject) => [...(this.#bySubject.get(subject) ?? [])]));
    for (const viewer of concerned) viewer.update();
  }
}

function rbacUser({ username, groups }: User): { readonly name: string; readonly groups: readonly string[] } {
  return { name: username, groups };
}

/** Takes each batch in whole and passes on whom it may concern. */
function changesBy<T>(set: (name: string, object: T | undefined) => readonly string[]): OperatorFunction<Batch<T>, ReadonlySet<string>> {
  return map(({ changes }) => new Set(changes.flatMap((change) => set(change.key, change.type === 'deleted' ? undefined : change.object))));
}
