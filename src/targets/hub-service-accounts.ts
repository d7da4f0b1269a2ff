// Checks the service accounts on the hub whose tokens Purser sends to targets. Such a service account must not be Purser's own, and must
// not have permission for any of the ACTIONS on the hub.

import { RegistryGroup } from '../api/names.ts';
import { SelfSubjectReviews, type SubjectAccessReview, SubjectAccessReviews } from '../kube/reviews.ts';
import { toServiceAccountUsername } from '../kubernetes/service-account.ts';
import { StatusError } from '../kubernetes/status.ts';
import { fieldsOf, textOf } from '../kubernetes/untrusted.ts';
import type { Clock } from '../std/clock.ts';
import { ExpiringCache } from '../std/expiring-cache.ts';
import { ownServiceAccountError } from './credential.ts';
import type { HubSettings } from './hub.ts';
import { IssueError } from './issue-error.ts';

/** Keeps the result of a check for ten minutes if the service account passes, and for 30 s if not; keeps none if a review fails. */
export class HubServiceAccounts {
  readonly #hub: HubSettings;
  readonly #clock: Clock;
  readonly #passed: ExpiringCache<true>;
  /** Problems that recent checks found, so that a check is not repeated for each address that uses the service account. */
  readonly #failed: ExpiringCache<IssueError>;

  constructor(hub: HubSettings, clock: Clock) {
    this.#hub = hub;
    this.#clock = clock;
    this.#passed = new ExpiringCache({ clock, ttlMs: PASSED_MS, maxEntries: MAX_SERVICE_ACCOUNTS });
    this.#failed = new ExpiringCache({ clock, ttlMs: FAILED_MS, maxEntries: MAX_SERVICE_ACCOUNTS });
  }

  /** Throws an IssueError for a service account whose tokens Purser must not send to targets, or if a review fails. */
  async check(name: string): Promise<void> {
    const known = this.#failed.get(name);
    if (known !== undefined) throw known;
    await this.#passed.find(name, async () => {
      const failure = await this.#findFailure(name);
      if (failure === undefined) return true;
      this.#failed.set(name, failure, this.#clock.monotonic());
      throw failure;
    });
  }

  async #findFailure(name: string): Promise<IssueError | undefined> {
    const username = toServiceAccountUsername({ namespace: this.#hub.namespace, name });
    if ((await this.#ownUsername()) === username) return ownServiceAccountError(name);
    const allowed = await Promise.all(ACTIONS.map(async (action) => ((await this.#mayPerform(name, action)) ? action : undefined)));
    const found = allowed.find((action) => action !== undefined);
    return found && excessPermission(username, found, this.#hub.namespace);
  }

  /** Returns Purser's user name on the hub; undefined if the hub forbids or does not serve SelfSubjectReviews. */
  async #ownUsername(): Promise<string | undefined> {
    const review = await ignoreUnavailable(this.#hub.client.createReview(SelfSubjectReviews, {}, REVIEW_OPTIONS));
    return review && textOf(fieldsOf(fieldsOf(fieldsOf(review)['status'])['userInfo'])['username']);
  }

  /** Returns whether the hub allows an action; false if the hub forbids or does not serve SubjectAccessReviews. */
  async #mayPerform(name: string, action: Action): Promise<boolean> {
    const { namespace, client } = this.#hub;
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
    const spec = { user: toServiceAccountUsername({ namespace, name }), groups, resourceAttributes: { ...action, namespace } };
    const review = await ignoreUnavailable(client.createReview(SubjectAccessReviews, { spec }, REVIEW_OPTIONS));
    return fieldsOf(fieldsOf(review)['status'])['allowed'] === true;
  }
}

const PASSED_MS = 600_000;
const FAILED_MS = 30_000;
const MAX_SERVICE_ACCOUNTS = 1_024;
const REVIEW_OPTIONS = { timeoutMs: 5_000 };

type Action = NonNullable<SubjectAccessReview['spec']['resourceAttributes']>;

/** Actions on the hub, in Purser's namespace or on Clusters, that would make a stolen token valuable. */
const ACTIONS: readonly Action[] = [
  { verb: 'get', resource: 'secrets' },
  { verb: 'create', resource: 'serviceaccounts', subresource: 'token' },
  { verb: 'impersonate', resource: 'serviceaccounts' },
  { verb: 'issue', group: RegistryGroup, resource: 'clusters', subresource: 'token' },
  { verb: 'update', group: RegistryGroup, resource: 'clusters' },
];

function excessPermission(username: string, { verb = '', group, resource = '', subresource }: Action, namespace: string): IssueError {
  // Clusters are not namespaced.
  const scope = group === RegistryGroup ? '' : ` in namespace ${namespace}`;
  const action = `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}${scope}`;
  const text = `${username} can ${action} on the hub, so a cluster that receives a token of this service account could do the same`;
  return new IssueError('CredentialMissing', `${text}. Remove the permission, or use another service account`, { isLasting: false });
}

/** Returns the response; undefined if the hub forbids or does not serve the review. Throws an IssueError for all other errors. */
async function ignoreUnavailable<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof StatusError && (error.code === 403 || error.code === 404)) return undefined;
    throw new IssueError('HubTokenFailed', error instanceof Error ? error.message : '');
  }
}
