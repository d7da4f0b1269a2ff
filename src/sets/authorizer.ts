// The clusters for which the requester of a set may issue tokens. The indexed RBAC rules alone determine these clusters: the number and the
// delay of reviews would reveal Clusters that the requester must not learn about. The authorizer sends reviews to the hub only before a
// removal. Each ManagedToken is authorized separately.

import { clusterSetOf } from '../access/cluster-set.ts';
import { filterGrantingNames, findAllowedName, toIssueNames } from '../access/issue-permission.ts';
import type { Cluster } from '../api/cluster.gen.ts';
import type { Stored } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { rethrowAsIssueError } from '../targets/issue-error.ts';
import { isRequesterAllowed, requesterExists } from '../tokens/authorizer.ts';
import type { StoredToken } from '../tokens/policy/spec.ts';
import type { SetView } from './informers.ts';
import { type IssueRequest, issueRequestOf, requesterKeyOf, requesterOf } from './issue-request.ts';

export interface SetAuthorizerOptions {
  readonly hub: Pick<KubeClient, 'createReview' | 'list'>;
  readonly view: Pick<SetView, 'permissions' | 'hasRequester'>;
  /** Namespaces on target clusters that the name of a whole cluster or set in a rule does not cover; see `toIssueNames`. */
  readonly protectedNamespaces: readonly string[];
}

export class SetAuthorizer {
  readonly #options: SetAuthorizerOptions;

  constructor(options: SetAuthorizerOptions) {
    this.#options = options;
  }

  /**
   * Returns whether the requester exists. Queries the hub if the informer lacks the requester, and throws an IssueError if that request
   * fails.
   */
  async hasRequester(request: IssueRequest, signal: AbortSignal): Promise<boolean> {
    const { hub, view } = this.#options;
    return view.hasRequester(requesterKeyOf(request)) || (await requesterExists(hub, requesterKeyOf(request), signal));
  }

  /**
   * Returns a predicate that reports whether RBAC allows the requester to issue the token of a cluster. Does not check that the requester
   * exists, and sends no requests. Fast for a requester without any permission, because a tenant can cause many runs, each of which
   * evaluates all Clusters.
   */
  toPermissionCheck(request: IssueRequest): (cluster: Stored<Cluster>) => boolean {
    const granted = this.#options.view.permissions.namesFor(requesterOf(request));
    if (granted.isNothing) return () => false;
    return (cluster) => filterGrantingNames(this.#namesFor(request, cluster.metadata.name, cluster)).some((name) => granted.includes(name));
  }

  /**
   * Returns whether a ManagedToken is for the cluster, the informer has its requester, and RBAC allows the requester to issue the token.
   * Sends no requests.
   */
  allowsToken(token: StoredToken, cluster: Stored<Cluster>): boolean {
    const request = issueRequestOf(token);
    if (token.spec.clusterName !== cluster.metadata.name || !this.#options.view.hasRequester(requesterKeyOf(request))) return false;
    return this.toPermissionCheck(request)(cluster);
  }

  /**
   * Returns whether access reviews on the hub allow the requester to issue the token for a cluster. `cluster` is undefined if the Cluster
   * does not exist; a refusal takes the same number of reviews in either case, so that the number does not reveal which Clusters exist.
   * Throws an IssueError if a review fails.
   */
  async review(request: IssueRequest, name: string, cluster: Stored<Cluster> | undefined, signal: AbortSignal): Promise<boolean> {
    const { hub } = this.#options;
    const allowed = await findAllowedName(this.#namesFor(request, name, cluster), (attributes) =>
      rethrowAsIssueError(isRequesterAllowed(hub, requesterOf(request), attributes, signal), 'AuthorizationFailed', signal),
    );
    return allowed !== undefined;
  }

  #namesFor({ serviceAccount: { namespace, name } }: IssueRequest, clusterName: string, cluster: Stored<Cluster> | undefined) {
    const target = { cluster: clusterName, namespace, serviceAccount: name, clusterSet: clusterSetOf(cluster) };
    return toIssueNames(target, undefined, this.#options.protectedNamespaces);
  }
}
