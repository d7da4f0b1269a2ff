// Authorizes callers of the façade to issue tokens. Decisions are cached for ten seconds.

import { RegistryGroup } from '../api/names.ts';
import type { KubeClient } from '../kube/client.ts';
import { untilAborted } from '../kube/deadline.ts';
import { accessForbidden } from '../kubernetes/access-forbidden.ts';
import type { Clock } from '../std/clock.ts';
import { FreshCache } from '../std/fresh-cache.ts';
import { goQuote } from '../std/go-text.ts';
import { Recent } from '../std/recent.ts';
import type { Logger } from '../telemetry/logger.ts';
import { isAllowed } from './hub-review.ts';
import { exactName, type IssueTarget, issueNames, protectionOf, reviewIssue } from './issue-permission.ts';
import { type User, userKey } from './user.ts';

export interface AuthorizerOptions {
  readonly hub: Pick<KubeClient, 'createReview'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Namespaces whose service accounts require an RBAC rule that names the namespace. */
  readonly protectedNamespaces: readonly string[];
}

export class Authorizer {
  readonly #options: AuthorizerOptions;
  /** Decisions by user, with all attributes, and service account. */
  readonly #decisions: FreshCache<boolean>;
  /** Names that were allowed last, by the keys of decisions. */
  readonly #allowedAs = new Recent<string>(MAX_NAMES);

  constructor(options: AuthorizerOptions) {
    this.#options = options;
    this.#decisions = new FreshCache({ clock: options.clock, ttlMs: TTL_MS, maxEntries: MAX_DECISIONS });
  }

  /** Resolves if the user is permitted to issue a token for this service account. Throws 403, or 503 if the review fails. */
  async authorize(user: User, target: IssueTarget, signal: AbortSignal): Promise<void> {
    const key = `${userKey(user)}/${exactName(target)}`;
    // Several requests may wait for one review, so none of them can cancel it.
    const allowed =
      this.#decisions.get(key) ??
      (await untilAborted(
        this.#decisions.find(key, () => this.#review(key, user, target)),
        signal,
      ));
    if (!allowed) throw forbidden(user, target, protectionOf(target, this.#options.protectedNamespaces));
  }

  async #review(key: string, user: User, target: IssueTarget): Promise<boolean> {
    const { hub, log, protectedNamespaces } = this.#options;
    const names = issueNames(target, this.#allowedAs.get(key), protectedNamespaces);
    const name = await reviewIssue(names, (attributes) => isAllowed(hub, user, attributes, log));
    if (name !== undefined) this.#allowedAs.set(key, name);
    return name !== undefined;
  }
}

const TTL_MS = 10_000;
/** Maximum number of cached decisions, about ten megabytes. */
const MAX_DECISIONS = 50_000;
const MAX_NAMES = 10_000;

/** Returns the error of the target cluster, followed by the permission that is missing on the hub. */
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
  const missing = `issue clusters/token ${goQuote(exactName(target))} in ${RegistryGroup}`;
  return accessForbidden({ name: username }, attributes, protection === '' ? missing : `${missing}; ${protection}`);
}
