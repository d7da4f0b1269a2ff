// The clusters that the requester of a set may issue tokens for. The indexed RBAC rules alone decide: requests for each selected Cluster
// would reveal, by their number and delay, Clusters that the requester may not know. Each ManagedToken is authorized by itself.

import { setOf } from '../access/cluster-set.ts';
import { grantingNames, issueNames, reviewIssue } from '../access/issue-permission.ts';
import { serviceAccountUser, type User } from '../access/user.ts';
import type { Cluster } from '../api/cluster.gen.ts';
import type { Stored } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { orIssueError } from '../targets/issue-error.ts';
import { findRequester, isRequesterAllowed } from '../tokens/authority.ts';
import { requesterKeyOf, type SetView } from './informers.ts';
import type { StoredSet } from './policy/template.ts';

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

  /** Returns whether the requester exists; looks up one that the informer lacks. Throws an IssueError if that fails. */
  async hasRequester(set: StoredSet, signal: AbortSignal): Promise<boolean> {
    const { hub, view } = this.#options;
    return view.hasRequester(set) || (await findRequester(hub, requesterKeyOf(set), signal));
  }

  /** Returns whether RBAC allows a requester that exists to issue the token of a cluster. Sends no requests. */
  allows(set: StoredSet, cluster: Stored<Cluster>): boolean {
    const names = this.#namesFor(set, cluster.metadata.name, cluster);
    return this.#options.view.permissions.allows(requesterOf(set), grantingNames(names));
  }

  /**
   * Reviews the permission for a cluster on the hub; `cluster` is undefined if it is not registered, which takes as many requests. Throws
   * an IssueError if the review fails.
   */
  async review(set: StoredSet, name: string, cluster: Stored<Cluster> | undefined, signal: AbortSignal): Promise<boolean> {
    const { hub } = this.#options;
    const allowed = await reviewIssue(this.#namesFor(set, name, cluster), (attributes) =>
      orIssueError(isRequesterAllowed(hub, requesterOf(set), attributes, signal), 'AuthorizationFailed', signal),
    );
    return allowed !== undefined;
  }

  #namesFor({ spec }: StoredSet, name: string, cluster: Stored<Cluster> | undefined): readonly string[] {
    const { namespace, name: serviceAccount } = spec.template.spec.serviceAccount;
    const target = { cluster: name, namespace, serviceAccount, set: setOf(cluster) };
    return issueNames(target, undefined, this.#options.protectedNamespaces);
  }
}

function requesterOf({ metadata, spec }: StoredSet): User {
  return serviceAccountUser(metadata.namespace, spec.template.spec.requesterServiceAccountName);
}
