// Whether a ManagedToken may have its token: one question, asked of the hub for its requester.

import { accessDecision } from '../access/access-decision.ts';
import { issueNames } from '../access/issue-names.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import { ServiceAccounts } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { SubjectAccessReviews } from '../kube/reviews.ts';
import { IssueError } from '../targets/issue-error.ts';
import { hubResponse } from './hub-request.ts';
import type { HubView } from './informers.ts';
import { IssuePermissions, issueAttributes, type Requester, requesterOf } from './issue-permissions.ts';
import { forbiddenMessage, requesterMissingMessage } from './policy/messages.ts';
import type { TrackedTokens } from './tracked-token.ts';

export interface AuthorityOptions {
  readonly hub: Pick<KubeClient, 'createReview' | 'list'>;
  readonly view: HubView;
  readonly memory: TrackedTokens;
  readonly protectedNamespaces: readonly string[];
}

/** The result of a review. */
export type Review = { readonly allowed: true } | Refusal;

export interface Refusal {
  readonly allowed: false;
  /** Sentence that names the missing permission or requester. */
  readonly message: string;
  /** Whether the requester does not exist, which tenants cause themselves. */
  readonly isRequesterMissing: boolean;
}

export class Authority {
  readonly #options: AuthorityOptions;
  readonly #permissions: IssuePermissions;

  constructor(options: AuthorityOptions) {
    this.#options = options;
    this.#permissions = new IssuePermissions(options.view);
  }

  /** Asks under one name after the other until one allows it. Throws an IssueError, AuthorizationFailed, if there is no answer. */
  async review(token: ManagedToken, signal: AbortSignal): Promise<Review> {
    const tracked = this.#options.memory.of(token.metadata.uid ?? '');
    const { doubts } = tracked;
    const requester = requesterFor(token);
    const names = this.#namesFor(token);
    if (!(await this.#hasRequester(token, signal))) {
      return { allowed: false, message: requesterMissingMessage(token), isRequesterMissing: true };
    }
    for (const name of this.#inOrder(requester, names)) {
      if (!(await this.#isAllowed(requester, name, signal))) continue;
      tracked.allow(name, questionOf(token), doubts);
      return { allowed: true };
    }
    const [mostSpecific = ''] = names.toSorted((a, b) => b.length - a.length);
    return { allowed: false, message: forbiddenMessage(token, mostSpecific), isRequesterMissing: false };
  }

  /**
   * Whether there is cause to ask before the next issuance: RBAC, as far as it is known, no longer allows the token, or the
   * last review said no. Only a yes ends that: the next gap in a binding must find nothing to count on from.
   */
  isDoubtful(token: ManagedToken): boolean {
    const { view, memory } = this.#options;
    const { refusedAt, confirmed } = memory.of(token.metadata.uid ?? '');
    if (!view.hasRequester(token) || refusedAt.length > 0) return true;
    if (confirmed === questionOf(token)) return false;
    return !this.#permissions.allow(requesterFor(token), this.#namesFor(token));
  }

  #namesFor({ metadata, spec }: ManagedToken): readonly string[] {
    const { namespace, name: serviceAccount } = spec.serviceAccount;
    const { memory, protectedNamespaces } = this.#options;
    const target = { cluster: spec.clusterName, namespace, serviceAccount };
    return issueNames(target, memory.of(metadata.uid ?? '').allowedAs, protectedNamespaces);
  }

  /** The one that RBAC is known to allow first, since one yes is enough. */
  #inOrder(requester: Requester, names: readonly string[]): readonly string[] {
    const { likely = [], others = [] } = Object.groupBy(names, (name) =>
      this.#permissions.allow(requester, [name]) ? 'likely' : 'others',
    );
    return [...likely, ...others];
  }

  /** What the informer lacks is asked of the hub: a list that was empty by mistake must cost nobody a Secret. */
  async #hasRequester(token: ManagedToken, signal: AbortSignal): Promise<boolean> {
    const { hub, view } = this.#options;
    if (view.hasRequester(token)) return true;
    const { namespace } = token.metadata;
    const fieldSelector = `metadata.name=${token.spec.requesterServiceAccountName}`;
    const { items } = await hubResponse(hub.list(ServiceAccounts, { namespace, fieldSelector, signal }), 'AuthorizationFailed', signal);
    return items.length > 0;
  }

  async #isAllowed({ user, groups }: Requester, name: string, signal: AbortSignal): Promise<boolean> {
    const { verb, group, resource, subresource } = issueAttributes(name);
    const spec = { user, groups: [...groups], resourceAttributes: { verb, group, resource, subresource, name } };
    const review = this.#options.hub.createReview(SubjectAccessReviews, { spec }, { signal });
    const decision = accessDecision(await hubResponse(review, 'AuthorizationFailed', signal));
    if (decision === undefined) throw new IssueError('AuthorizationFailed', 'the hub answered a SubjectAccessReview with something else');
    if (!decision.allowed && !isHarmless(decision.evaluationError)) throw new IssueError('AuthorizationFailed', decision.evaluationError);
    return decision.allowed;
  }
}

/** RBAC tells of bindings to roles that are gone, and decides all the same. */
function isHarmless(evaluationError: string): boolean {
  return evaluationError === '' || /\brbac\.authorization\.k8s\.io ".*" not found/.test(evaluationError);
}

/** Returns what a review is about; an answer about one question says nothing of another. */
function questionOf({ spec }: ManagedToken): string {
  const { namespace, name } = spec.serviceAccount;
  return `${spec.requesterServiceAccountName} ${spec.clusterName}/${namespace}/${name}`;
}

function requesterFor({ metadata, spec }: ManagedToken): Requester {
  return requesterOf(metadata.namespace ?? '', spec.requesterServiceAccountName);
}
