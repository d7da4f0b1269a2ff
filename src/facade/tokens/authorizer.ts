// The authorization of the façade's callers to request tokens, with cached decisions. src/tokens/authorizer.ts authorizes the requesters
// of ManagedTokens.

import { isAllowed } from '../../access/hub-review.ts';
import {
  explainProtection,
  findAllowedName,
  type IssueTarget,
  type ReviewedTarget,
  toExactName,
  toIssueNames,
} from '../../access/issue-permission.ts';
import { computeUserKey, type User } from '../../access/user.ts';
import { RegistryGroup } from '../../api/names.ts';
import type { KubeClient } from '../../kube/client.ts';
import { rejectOnAbort } from '../../kube/deadline.ts';
import { accessForbidden } from '../../kubernetes/access-forbidden.ts';
import { BoundedCache } from '../../std/bounded-cache.ts';
import type { Clock } from '../../std/clock.ts';
import { ExpiringCache } from '../../std/expiring-cache.ts';
import { quoteGoString } from '../../std/go-text.ts';
import type { Logger } from '../../telemetry/logger.ts';

export interface AuthorizerOptions {
  readonly hub: Pick<KubeClient, 'createReview'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Namespaces on target clusters that a resource name for a whole cluster or set does not cover. */
  readonly protectedNamespaces: readonly string[];
}

/** Authorizes callers of the façade. Decisions are cached for ten seconds. */
export class Authorizer {
  readonly #options: AuthorizerOptions;
  /** Decisions by user, cluster set and service account. A Cluster that joins another set requires new reviews. */
  readonly #decisions: ExpiringCache<boolean>;
  /** The name that was allowed last, by the same keys as `#decisions`. */
  readonly #allowedAs = new BoundedCache<string>(MAX_NAMES);

  constructor(options: AuthorizerOptions) {
    this.#options = options;
    this.#decisions = new ExpiringCache({ clock: options.clock, ttlMs: TTL_MS, maxEntries: MAX_DECISIONS });
  }

  /** Throws 403 if the user may not issue a token for the target, 503 if a review fails, or the reason of the aborted signal. */
  async authorize(user: User, target: ReviewedTarget, signal: AbortSignal): Promise<void> {
    const key = `${computeUserKey(user)}/${target.clusterSet}/${toExactName(target)}`;
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

/** Returns the error that the target cluster would return, with the permission that is missing on the hub. */
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
  const missing = `issue clusters/token ${quoteGoString(toExactName(target))} in ${RegistryGroup}`;
  return accessForbidden({ name: username }, attributes, protection === '' ? missing : `${missing}; ${protection}`);
}
