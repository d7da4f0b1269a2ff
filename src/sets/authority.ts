// The clusters that the requester of a set may issue tokens for. The indexed RBAC rules are sufficient for a positive decision, because
// each ManagedToken is authorized by itself; a negative one is reviewed on the hub, and cached until RBAC or the Cluster changes.

import { setOf } from '../access/cluster-set.ts';
import { exactName, grantingNames, issueNames, type ReviewedTarget, reviewIssue } from '../access/issue-permission.ts';
import { serviceAccountUser, type User } from '../access/user.ts';
import type { Cluster } from '../api/cluster.gen.ts';
import type { Stored } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { orIssueError } from '../targets/issue-error.ts';
import { findRequester, isRequesterAllowed } from '../tokens/authority.ts';
import { requesterKeyOf, type SetView } from './informers.ts';
import type { StoredSet } from './policy/template.ts';
import type { TrackedSet } from './tracked-set.ts';

export interface SetAuthorityOptions {
  readonly hub: Pick<KubeClient, 'createReview' | 'list'>;
  readonly view: Pick<SetView, 'permissions' | 'hasRequester'>;
  /** Namespaces whose service accounts a rule must name. */
  readonly protectedNamespaces: readonly string[];
}

export class SetAuthority {
  readonly #options: SetAuthorityOptions;

  constructor(options: SetAuthorityOptions) {
    this.#options = options;
  }

  /** Returns whether the requester may issue the token of a cluster; undefined before a review. Sends no requests. */
  decide(set: StoredSet, tracked: TrackedSet, cluster: Stored<Cluster>): boolean | undefined {
    const { view } = this.#options;
    if (!view.hasRequester(set)) return tracked.isRequesterMissing === true ? false : undefined;
    if (view.permissions.allows(requesterOf(set), grantingNames(this.#namesFor(set, cluster)))) return true;
    const decision = tracked.decisions.get(cluster.metadata.name);
    return decision?.key === keyOf(set, cluster) ? decision.isAllowed : undefined;
  }

  /** Reviews the permission on the hub, and records the decision. Throws an IssueError if the review fails. */
  async review(set: StoredSet, tracked: TrackedSet, cluster: Stored<Cluster>, signal: AbortSignal): Promise<boolean> {
    const { hub, view } = this.#options;
    if (!view.hasRequester(set)) {
      tracked.isRequesterMissing = !(await findRequester(hub, requesterKeyOf(set), signal));
      if (tracked.isRequesterMissing) return false;
    }
    const requester = requesterOf(set);
    const name = await reviewIssue(this.#namesFor(set, cluster), (attributes) =>
      orIssueError(isRequesterAllowed(hub, requester, attributes, signal), 'AuthorizationFailed', signal),
    );
    const isAllowed = name !== undefined;
    tracked.decisions.set(cluster.metadata.name, { key: keyOf(set, cluster), isAllowed });
    return isAllowed;
  }

  #namesFor(set: StoredSet, cluster: Stored<Cluster>): readonly string[] {
    return issueNames(targetOf(set, cluster), undefined, this.#options.protectedNamespaces);
  }
}

/** Returns the subject of a review. A Cluster that is re-created or joins another set of Clusters is reviewed again. */
function keyOf(set: StoredSet, cluster: Stored<Cluster>): string {
  const target = targetOf(set, cluster);
  return `${requesterKeyOf(set)} ${exactName(target)} ${cluster.metadata.uid} ${target.set}`;
}

function targetOf({ spec }: StoredSet, cluster: Stored<Cluster>): ReviewedTarget {
  const { namespace, name } = spec.template.spec.serviceAccount;
  return { cluster: cluster.metadata.name, namespace, serviceAccount: name, set: setOf(cluster) };
}

function requesterOf({ metadata, spec }: StoredSet): User {
  return serviceAccountUser(metadata.namespace, spec.template.spec.requesterServiceAccountName);
}
