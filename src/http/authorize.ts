// Whether a caller may have a token: one question, asked of the hub under up to three names. Answers are kept for ten seconds.

import { RegistryGroup } from '../api/names.ts';
import { accessForbidden } from '../apimachinery/access-forbidden.ts';
import { type IssueTarget, issueNames } from '../domain/issue-names.ts';
import type { KubeClient } from '../kube/client.ts';
import { untilAborted } from '../kube/deadline.ts';
import { SubjectAccessReviews } from '../kube/reviews.ts';
import type { Clock } from '../std/clock.ts';
import { goQuote } from '../std/go-text.ts';
import type { Logger } from '../telemetry/logger.ts';
import { FreshCache } from './fresh-cache.ts';
import { decisionOf, reviewStatus } from './hub-answer.ts';
import type { User } from './request.ts';

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
  /** By the user as the hub described them last: with a new description, everything is asked anew. */
  readonly #decisions = new WeakMap<User, FreshCache<boolean>>();
  /** The names that allowed it last time. */
  readonly #allowedAs: FreshCache<string>;

  constructor(options: AuthorizerOptions) {
    this.#options = options;
    this.#allowedAs = new FreshCache({ clock: options.clock, ttlMs: Infinity, maxEntries: MAX_ENTRIES });
  }

  /** Returns if the user may have a token of this account. Throws 403, or 503 when the hub gives no answer. */
  async authorize(user: User, target: IssueTarget, signal: AbortSignal): Promise<void> {
    const key = `${target.cluster}/${target.namespace}/${target.serviceAccount}`;
    const decisions = this.#decisionsOf(user);
    // Several may wait for one answer, so none of them can call the question off.
    const allowed =
      decisions.get(key) ??
      (await untilAborted(
        decisions.find(key, () => this.#ask(user, target)),
        signal,
      ));
    if (!allowed) throw forbidden(user, target);
  }

  #decisionsOf(user: User): FreshCache<boolean> {
    const known = this.#decisions.get(user);
    if (known !== undefined) return known;
    const decisions = new FreshCache<boolean>({ clock: this.#options.clock, ttlMs: TTL_MS, maxEntries: MAX_DECISIONS });
    this.#decisions.set(user, decisions);
    return decisions;
  }

  async #ask(user: User, target: IssueTarget): Promise<boolean> {
    const key = JSON.stringify([user.username, target.cluster, target.namespace, target.serviceAccount]);
    for (const name of issueNames(target, this.#allowedAs.get(key), this.#options.protectedNamespaces)) {
      if (!(await this.#isAllowed(user, name))) continue;
      this.#allowedAs.set(key, name, 0);
      return true;
    }
    return false;
  }

  async #isAllowed({ username, uid, groups, extra }: User, name: string): Promise<boolean> {
    const { hub, log } = this.#options;
    const resourceAttributes = { group: RegistryGroup, resource: 'clusters', subresource: 'token', verb: 'issue', name };
    const spec = { user: username, uid, groups: [...groups], extra: listsOf(extra), resourceAttributes };
    const status = await reviewStatus(REVIEW, hub.createReview(SubjectAccessReviews, { spec }, { timeoutMs: DEADLINE_MS }), log);
    return decisionOf(REVIEW, status, 'allowed', log) && !decisionOf(REVIEW, status, 'denied', log);
  }
}

const REVIEW = 'SubjectAccessReview';
const TTL_MS = 10_000;
const DEADLINE_MS = 10_000;
const MAX_ENTRIES = 10_000;
const MAX_DECISIONS = 1_000;

function listsOf(extra: User['extra']): Record<string, string[]> {
  return Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]]));
}

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
