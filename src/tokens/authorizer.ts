// The permission of a ManagedToken's requester to issue the token. The hub reviews the permission before each issuance, and whenever the
// informers suggest that it was withdrawn.

import { clusterSetOf } from '../access/cluster-set.ts';
import { type ReviewAttributes, reviewAccess } from '../access/hub-review.ts';
import {
  explainProtection,
  filterGrantingNames,
  findAllowedName,
  type ReviewedTarget,
  toExactName,
  toIssueNames,
} from '../access/issue-permission.ts';
import { toServiceAccountUser, type User } from '../access/user.ts';
import { Clusters, ServiceAccounts } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { BoundedCache } from '../std/bounded-cache.ts';
import type { Clock } from '../std/clock.ts';
import { IssueError, rethrowAsIssueError } from '../targets/issue-error.ts';
import { type HubView, requesterKeyOf } from './informers.ts';
import { formatForbiddenMessage, formatMissingRequesterMessage } from './policy/messages.ts';
import type { StoredToken } from './policy/spec.ts';
import type { TrackedTokens } from './tracked-token.ts';

export interface TokenAuthorizerOptions {
  readonly hub: Pick<KubeClient, 'createReview' | 'list'>;
  readonly view: Pick<HubView, 'hasRequester' | 'permissions' | 'clusterSetOf'>;
  readonly memory: TrackedTokens;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Namespaces on target clusters that the name of a whole cluster or set in a rule does not cover; see `toIssueNames`. */
  readonly protectedNamespaces: readonly string[];
}

/** Decision about whether a ManagedToken's requester may issue the token. */
export type IssueDecision = Permit | Refusal;

export interface Permit {
  readonly allowed: true;
  /** Set of the cluster during the review. The decision no longer applies if the cluster joins or leaves a set. */
  readonly clusterSet: string;
}

export interface Refusal {
  readonly allowed: false;
  /** Sentence that names the missing permission or service account. */
  readonly message: string;
  /** True if the requester does not exist. Tenants can cause this themselves by deleting the service account. */
  readonly isRequesterMissing: boolean;
  /** True if the indexed RBAC rules allow the token: the hub's authorizer may not have seen a new binding yet. */
  readonly isUnexpected: boolean;
}

/** Names that the indexed RBAC rules allow. */
interface IndexedNames {
  readonly names: readonly string[];
  /** Number of the last change to RBAC that the names reflect. */
  readonly changes: number;
}

/** Maximum number of pairs of requester and target whose indexed names are cached, because a run needs the names several times. */
const MAX_INDEXED = 1_024;

export class TokenAuthorizer {
  readonly #options: TokenAuthorizerOptions;
  /** Indexed names by requester and target. */
  readonly #indexed = new BoundedCache<IndexedNames>(MAX_INDEXED);

  constructor(options: TokenAuthorizerOptions) {
    this.#options = options;
  }

  /**
   * Returns the decision, and records a review that allowed the token. Reviews the names of the permission one after another until the hub
   * allows one that can grant it; refuses a requester that does not exist without a review. Throws an IssueError with reason
   * AuthorizationFailed if a request fails, if the hub could not decide, or if no name is allowed and the cluster has a different set on
   * the hub than in the informer.
   */
  async review(token: StoredToken, signal: AbortSignal): Promise<IssueDecision> {
    const tracked = this.#options.memory.of(token.metadata.uid);
    const { rbacChanges } = tracked;
    if (!(await this.#hasRequester(token, signal))) {
      return { allowed: false, message: formatMissingRequesterMessage(token), isRequesterMissing: true, isUnexpected: false };
    }
    const requester = requesterOf(token);
    const target = this.#targetOf(token);
    const name = await findAllowedName(this.#namesInOrder(token, target), (attributes) =>
      rethrowAsIssueError(isRequesterAllowed(this.#options.hub, requester, attributes, signal), 'AuthorizationFailed', signal),
    );
    const { view, clock, protectedNamespaces } = this.#options;
    const isIndexed = this.#indexedNames(token, target).length > 0;
    const isKnown = view.hasRequester(token);
    if (name === undefined) {
      await this.#confirmClusterSet(target, signal);
      const message = formatForbiddenMessage(token, toExactName(target), explainProtection(target, protectedNamespaces));
      return { allowed: false, message, isRequesterMissing: false, isUnexpected: isIndexed };
    }
    const reviewKey = reviewKeyOf(token, target);
    const allowedReview = { name, reviewKey, rbacChanges, isExpected: isIndexed && isKnown, isLasting: isKnown };
    tracked.recordAllowedReview(allowedReview, clock.monotonic());
    return { allowed: true, clusterSet: target.clusterSet };
  }

  /**
   * Returns whether the permission is uncertain, so that a review must precede every action that needs permission: the informer lacks the
   * requester, the indexed RBAC rules do not allow the token, or the last review denied it. If a review allows the token nevertheless, the
   * next review is due a second later, and further ones after increasing delays. From 30 s after the first such review, another one is due
   * only when RBAC or the cluster's set changes or, if the informer lacks the requester, every 30 s.
   */
  needsReview(token: StoredToken): boolean {
    const { view, memory, clock } = this.#options;
    const tracked = memory.of(token.metadata.uid);
    if (tracked.refusedAt.length > 0) return true;
    const target = this.#targetOf(token);
    // Without this check, no run for a token that only a review allows could connect to a cluster: a run that needs a review holds no
    // cluster slot.
    if (tracked.isConfirmed(reviewKeyOf(token, target), clock.monotonic())) return false;
    return !view.hasRequester(token) || this.#indexedNames(token, target).length === 0;
  }

  #targetOf({ spec: { clusterName, serviceAccount } }: StoredToken): ReviewedTarget {
    const clusterSet = this.#options.view.clusterSetOf(clusterName);
    return { cluster: clusterName, namespace: serviceAccount.namespace, serviceAccount: serviceAccount.name, clusterSet };
  }

  /** Returns the names that can grant the permission and that the indexed RBAC rules allow. */
  #indexedNames(token: StoredToken, target: ReviewedTarget): readonly string[] {
    const { view, protectedNamespaces } = this.#options;
    const { changes } = view.permissions;
    const key = `${token.metadata.namespace} ${reviewKeyOf(token, target)}`;
    const known = this.#indexed.get(key);
    if (known?.changes === changes) return known.names;
    const granting = filterGrantingNames(toIssueNames(target, undefined, protectedNamespaces));
    const names = view.permissions.selectAllowed(requesterOf(token), granting);
    this.#indexed.set(key, { names, changes });
    return names;
  }

  /** Returns the names to review. Names that the indexed RBAC rules allow come first, because one allowed name is enough. */
  #namesInOrder(token: StoredToken, target: ReviewedTarget): readonly string[] {
    const { memory, protectedNamespaces } = this.#options;
    const names = toIssueNames(target, memory.of(token.metadata.uid).allowedAs, protectedNamespaces);
    const indexed = this.#indexedNames(token, target);
    return [...names.filter((name) => indexed.includes(name)), ...names.filter((name) => !indexed.includes(name))];
  }

  /**
   * Looks up the set of a refused token's cluster, whether or not the cluster exists, so that requesters cannot tell whether it does.
   * Throws an IssueError if the request fails or the informer has a different set: a list that is empty by mistake must not cause the
   * removal of a Secret.
   */
  async #confirmClusterSet({ cluster, clusterSet }: ReviewedTarget, signal: AbortSignal): Promise<void> {
    const listed = this.#options.hub.list(Clusters, { fieldSelector: `metadata.name=${cluster}`, signal });
    const { items } = await rethrowAsIssueError(listed, 'AuthorizationFailed', signal);
    if (clusterSetOf(items[0]) !== clusterSet)
      throw new IssueError('AuthorizationFailed', "the cluster's set on the hub differs from the reviewed one");
  }

  /**
   * Returns whether the requester exists. Queries the hub if the informer lacks the requester: a list that is empty by mistake must not
   * cause the removal of a Secret.
   */
  async #hasRequester(token: StoredToken, signal: AbortSignal): Promise<boolean> {
    const { hub, view } = this.#options;
    return view.hasRequester(token) || (await requesterExists(hub, requesterKeyOf(token), signal));
  }
}

/**
 * Returns whether the service account with this key exists on the hub. Throws an IssueError with reason AuthorizationFailed if the request
 * fails.
 */
export async function requesterExists(hub: Pick<KubeClient, 'list'>, key: string, signal: AbortSignal): Promise<boolean> {
  const [namespace = '', name = ''] = key.split('/');
  const found = hub.list(ServiceAccounts, { namespace, fieldSelector: `metadata.name=${name}`, signal });
  return (await rethrowAsIssueError(found, 'AuthorizationFailed', signal)).items.length > 0;
}

/** Returns whether a requester may perform an action. Throws if the review fails or the hub could not decide. */
export async function isRequesterAllowed(
  hub: Pick<KubeClient, 'createReview'>,
  requester: User,
  attributes: ReviewAttributes,
  signal: AbortSignal,
): Promise<boolean> {
  const { allowed, evaluationError } = await reviewAccess(hub, requester, attributes, { signal });
  if (!allowed && !isHarmless(evaluationError)) throw new IssueError('AuthorizationFailed', evaluationError);
  return allowed;
}

/** Returns whether the error only reports bindings to missing roles, which do not prevent a decision. */
function isHarmless(evaluationError: string): boolean {
  return evaluationError === '' || MISSING_ROLES.test(evaluationError);
}

/** Pattern of an error about one missing role, or about several in brackets. The names of roles are quoted as in Go. */
const MISSING_ROLES = /^\[?(?:(?:cluster)?role\.rbac\.authorization\.k8s\.io "(?:[^"\\]|\\.)*" not found(?:, )?)+\]?$/;

/**
 * Returns the key of a review. Its decision applies only while the ManagedToken has the same key: the same requester, target and cluster
 * set.
 */
function reviewKeyOf(token: StoredToken, target: ReviewedTarget): string {
  return `${token.spec.requesterServiceAccountName} ${target.clusterSet} ${toExactName(target)}`;
}

function requesterOf({ metadata, spec }: StoredToken): User {
  return toServiceAccountUser(metadata.namespace, spec.requesterServiceAccountName);
}
