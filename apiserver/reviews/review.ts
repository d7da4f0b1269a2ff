// Reviews: objects that are posted, answered and forgotten.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { Policy } from '../../src/kubernetes/rbac.ts';
import type { ReviewKind } from '../../src/kubernetes/reviews.ts';
import { badRequest } from '../../src/kubernetes/status.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import type { Authenticators } from '../access/authenticate.ts';
import type { User } from '../access/user.ts';
import { withTrackedUpdate } from '../fields/managed-fields.ts';
import { reviewLocalSubjectAccess, reviewSelfSubjectAccess, reviewSubjectAccess } from './access-review.ts';
import { reviewSelfSubject } from './self-subject-review.ts';
import { reviewSelfSubjectRules } from './self-subject-rules-review.ts';
import { reviewToken } from './token-review.ts';

/** What answers depend on. */
export interface ReviewContext {
  /** Who asks. */
  readonly user: User;
  readonly policy: Policy;
  readonly authenticators: Authenticators;
  readonly now: number;
}

/** A decoded review and how it was posted. */
export interface PostedReview {
  readonly object: KubeObject;
  /** The namespace of the URL, or ''. */
  readonly namespace: string;
  /** The name under which fields are owned. */
  readonly manager: string;
}

/** Answers a review of any kind. Throws a StatusError if it is not valid. */
export function answerReview(kind: ReviewKind, posted: PostedReview, context: ReviewContext): KubeObject {
  const answer = ANSWERS[kind.kind];
  if (answer === undefined) throw new Error(`no answer to ${kind.kind}`);
  return answer(received(kind, posted, context.now), context);
}

type Answer = (object: KubeObject, context: ReviewContext) => KubeObject;

const ANSWERS: Readonly<Record<string, Answer | undefined>> = {
  LocalSubjectAccessReview: reviewLocalSubjectAccess,
  SelfSubjectAccessReview: reviewSelfSubjectAccess,
  SelfSubjectReview: reviewSelfSubject,
  SelfSubjectRulesReview: reviewSelfSubjectRules,
  SubjectAccessReview: reviewSubjectAccess,
  TokenReview: reviewToken,
};

/** The review as any create receives an object: fields owned, without what only the server sets, in the namespace of the URL. */
function received(kind: ReviewKind, { object, namespace, manager }: PostedReview, now: number): KubeObject {
  const apiVersion = `${kind.group}/${kind.version}`;
  const next = withTrackedUpdate({ live: undefined, next: object, manager, apiVersion, now: formatTimestamp(now), schema: kind.schema });
  const { namespace: own = '' } = next.metadata;
  if (kind.namespaced && own !== '' && own !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  const kept = Object.entries(next.metadata).filter(([field]) => !SERVER_FIELDS.has(field));
  return { ...next, metadata: { ...Object.fromEntries(kept), ...(kind.namespaced && { namespace }) } };
}

/** Metadata that a client cannot set; the namespace comes from the URL. */
const SERVER_FIELDS: ReadonlySet<string> = new Set([
  'namespace',
  'selfLink',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
]);
