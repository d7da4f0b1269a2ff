// The permission to issue a token for a service account on a target cluster: the verb `issue` on `clusters/token`. Each of up to six
// resource names is enough: three with the name of the cluster, and three with its set. Callers of the façade are authorized here;
// tokens/authorizer.ts reviews the requesters of ManagedTokens.

import { RegistryGroup } from '../api/names.ts';
import { Clusters } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { rejectOnAbort } from '../kube/deadline.ts';
import { accessForbidden } from '../kubernetes/access-forbidden.ts';
import { BoundedCache } from '../std/bounded-cache.ts';
import type { Clock } from '../std/clock.ts';
import { ExpiringCache } from '../std/expiring-cache.ts';
import { goQuote } from '../std/go-text.ts';
import type { Logger } from '../telemetry/logger.ts';
import { NO_CLUSTER_SET, toClusterSetName } from './cluster-set.ts';
import { isAllowed, type ReviewAttributes } from './hub-review.ts';
import type { Permission } from './rbac-index.ts';
import { type User, userKeyOf } from './user.ts';

/** The permission to issue tokens on target clusters. */
export const IssueTokens = {
  verbs: ['issue'],
  group: RegistryGroup,
  resource: Clusters.plural,
  subresource: 'token',
} as const satisfies Permission;

/** The service account that a token is requested for. */
export interface IssueTarget {
  readonly cluster: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** The service account in a review, and the set of its cluster at the time of the review. */
export interface ReviewedTarget extends IssueTarget {
  /** Set of the cluster; NO_CLUSTER_SET if the cluster has none or does not exist. */
  readonly clusterSet: string;
}

/**
 * Namespaces that are protected by default: a rule for a whole cluster or set does not cover their service accounts. A rule must name the
 * namespace or the service account.
 */
export const PROTECTED_NAMESPACES: readonly string[] = ['kube-system', 'kube-public', 'kube-node-lease'];

/** Returns the resource name that covers only this service account, for messages about a missing permission. */
export function exactNameOf({ cluster, namespace, serviceAccount }: IssueTarget): string {
  return `${cluster}/${namespace}/${serviceAccount}`;
}

/**
 * Returns the reason why a rule for the whole cluster does not cover the namespace, for messages about a missing permission. Returns an
 * empty string if the namespace is not protected.
 */
export function explainProtection({ namespace }: IssueTarget, protectedNamespaces: readonly string[]): string {
  return protectedNamespaces.includes(namespace)
    ? `namespace ${namespace} is protected: a rule must name the namespace or the service account`
    : '';
}

/**
 * Returns the resource names to review, in order: the name that was allowed last time, then the names with the cluster, then those with its
 * set, each from the most to the least specific. One allowed name is enough, unless it is a name of NO_CLUSTER_SET: `grantsPermission`
 * excludes these names.
 */
export function toIssueNames(target: ReviewedTarget, lastAllowed?: string, protectedNamespaces = PROTECTED_NAMESPACES): readonly string[] {
  const { cluster, namespace, serviceAccount, clusterSet } = target;
  const isProtected = protectedNamespaces.includes(namespace);
  const names = [cluster, toClusterSetName(clusterSet)].flatMap((scope) => [
    `${scope}/${namespace}/${serviceAccount}`,
    `${scope}/${namespace}`,
    ...(isProtected ? [] : [scope]),
  ]);
  return lastAllowed !== undefined && names.includes(lastAllowed) ? [...new Set([lastAllowed, ...names])] : names;
}

/** Returns only the names that can grant the permission. */
export function filterGrantingNames(names: readonly string[]): readonly string[] {
  return names.filter(grantsPermission);
}

/**
 * Returns true if a rule for the name can grant the permission. The names of NO_CLUSTER_SET cannot: otherwise, the removal of a label could
 * grant the permission. They are reviewed only so that a refusal takes the same number of reviews for all clusters, even for a cluster
 * that has no set or does not exist.
 */
function grantsPermission(name: string): boolean {
  return name !== toClusterSetName(NO_CLUSTER_SET) && !name.startsWith(`${toClusterSetName(NO_CLUSTER_SET)}/`);
}

/** Reviews one name after another. Returns the first name that grants the permission, or undefined if none does. */
export async function findAllowedName(
  names: readonly string[],
  review: (attributes: ReviewAttributes) => Promise<boolean>,
): Promise<string | undefined> {
  const { verbs, group, resource, subresource } = IssueTokens;
  const [verb] = verbs;
  for (const name of names) {
    const isNameAllowed = await review({ resourceAttributes: { verb, group, resource, subresource, name } });
    if (isNameAllowed && grantsPermission(name)) return name;
  }
  return undefined;
}

export interface AuthorizerOptions {
  readonly hub: Pick<KubeClient, 'createReview'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Namespaces whose service accounts require an RBAC rule that names the namespace or the service account. */
  readonly protectedNamespaces: readonly string[];
}

/** Authorizes callers of the façade. Decisions are cached for ten seconds. */
export class Authorizer {
  readonly #options: AuthorizerOptions;
  /** Decisions by user, cluster set and service account. The set is part of the key, so that a change of the set requires new reviews. */
  readonly #decisions: ExpiringCache<boolean>;
  /** The name that was allowed last, by the same keys as `#decisions`. */
  readonly #allowedAs = new BoundedCache<string>(MAX_NAMES);

  constructor(options: AuthorizerOptions) {
    this.#options = options;
    this.#decisions = new ExpiringCache({ clock: options.clock, ttlMs: TTL_MS, maxEntries: MAX_DECISIONS });
  }

  /** Resolves if the user is permitted to issue a token for this service account. Otherwise throws 403, or 503 if the review fails. */
  async authorize(user: User, target: ReviewedTarget, signal: AbortSignal): Promise<void> {
    const key = `${userKeyOf(user)}/${target.clusterSet}/${exactNameOf(target)}`;
    // Several requests may wait for one review, so none of them can cancel it.
    const allowed =
      this.#decisions.get(key) ??
      (await rejectOnAbort(
        this.#decisions.find(key, () => this.#review(key, user, target)),
        signal,
      ));
    if (!allowed) throw forbidden(user, target, explainProtection(target, this.#options.protectedNamespaces));
  }

  async #review(key: string, user: User, target: ReviewedTarget): Promise<boolean> {
    const { hub, log, protectedNamespaces } = this.#options;
    const names = toIssueNames(target, this.#allowedAs.get(key), protectedNamespaces);
    const name = await findAllowedName(names, (attributes) => isAllowed(hub, user, attributes, log));
    if (name !== undefined) this.#allowedAs.set(key, name);
    return name !== undefined;
  }
}

const TTL_MS = 10_000;
/** Maximum number of cached decisions, which take about ten megabytes. */
const MAX_DECISIONS = 50_000;
const MAX_NAMES = 10_000;

/** Returns the error that the target cluster would return, with the permission that is missing on the hub at the end of its message. */
function forbidden({ username }: User, target: IssueTarget, protection: string): Error {
  const attributes = {
    type: 'resource',
    verb: 'create',
    group: '',
    resource: 'serviceaccounts',
    subresource: 'token',
    namespace: target.namespace,
    name: target.serviceAccount,
  } as const;
  const missing = `issue clusters/token ${goQuote(exactNameOf(target))} in ${RegistryGroup}`;
  return accessForbidden({ name: username }, attributes, protection === '' ? missing : `${missing}; ${protection}`);
}
