// Whether a caller may have a token: one question, asked of the hub under up to three names. Answers are kept for ten seconds.

import { type IssueTarget, issueNames } from '../access/issue-names.ts';
import { RegistryGroup } from '../api/names.ts';
import type { KubeClient } from '../kube/client.ts';
import { untilAborted } from '../kube/deadline.ts';
import { accessForbidden } from '../kubernetes/access-forbidden.ts';
import type { Clock } from '../std/clock.ts';
import { goQuote } from '../std/go-text.ts';
import { Recent } from '../std/recent.ts';
import type { Logger } from '../telemetry/logger.ts';
import { FreshCache } from './fresh-cache.ts';
import { isAllowed } from './hub-answer.ts';
import type { User } from './request.ts';
import { userKey } from './user-key.ts';

export interface AuthorizerOptions {
  readonly hub: Pick<KubeClient, 'createReview'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Namespaces whose accounts must be named in a rule. */
  readonly protectedNamespaces: readonly string[];
}

/** Asks the hub who may have which token. */
export class Authorizer {
  readonly #options: AuthorizerOptions;
  /** By the user as the hub described them, and what they ask for: with another description, everything is asked anew. */
  readonly #decisions: FreshCache<boolean>;
  /** The names that allowed it last time. */
  readonly #allowedAs = new Recent<string>(MAX_NAMES);

  constructor(options: AuthorizerOptions) {
    this.#options = options;
    this.#decisions = new FreshCache({ clock: options.clock, ttlMs: TTL_MS, maxEntries: MAX_DECISIONS });
  }

  /** Returns if the user may have a token of this account. Throws 403, or 503 when the hub gives no answer. */
  async authorize(user: User, target: IssueTarget, signal: AbortSignal): Promise<void> {
    const key = `${userKey(user)}/${target.cluster}/${target.namespace}/${target.serviceAccount}`;
    // Several may wait for one answer, so none of them can call the question off.
    const allowed =
      this.#decisions.get(key) ??
      (await untilAborted(
        this.#decisions.find(key, () => this.#ask(key, user, target)),
        signal,
      ));
    if (!allowed) throw forbidden(user, target);
  }

  async #ask(key: string, user: User, target: IssueTarget): Promise<boolean> {
    const { hub, log, protectedNamespaces } = this.#options;
    for (const name of issueNames(target, this.#allowedAs.get(key), protectedNamespaces)) {
      if (!(await isAllowed(hub, user, { resourceAttributes: { ...ATTRIBUTES, name } }, log))) continue;
      this.#allowedAs.set(key, name);
      return true;
    }
    return false;
  }
}

const ATTRIBUTES = { group: RegistryGroup, resource: 'clusters', subresource: 'token', verb: 'issue' };
const TTL_MS = 10_000;
/** Some ten megabytes, if all of them are kept. */
const MAX_DECISIONS = 50_000;
const MAX_NAMES = 10_000;

/** What the target would say, and which permission on the hub is missing. */
function forbidden({ username }: User, { cluster, namespace, serviceAccount }: IssueTarget): Error {
  const attributes = {
    type: 'resource',
    verb: 'create',
    group: '',
    resource: 'serviceaccounts',
    subresource: 'token',
    namespace,
    name: serviceAccount,
  } as const;
  const missing = `issue clusters/token ${goQuote(`${cluster}/${namespace}/${serviceAccount}`)} in ${RegistryGroup}`;
  return accessForbidden({ name: username }, attributes, missing);
}
