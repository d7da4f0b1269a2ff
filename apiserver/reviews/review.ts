// Reviews: objects that the server evaluates and does not store.

import { type FieldError, forbiddenValue, invalidValue } from '../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { type AccessAttributes, decide, type Policy, rulesFor } from '../../src/kubernetes/rbac.ts';
import { type ReviewKind, SUBJECT_ACCESS_REVIEW } from '../../src/kubernetes/reviews.ts';
import { aggregated, badRequest, invalid } from '../../src/kubernetes/status.ts';
import { structText } from '../../src/kubernetes/wire/struct-text.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import { type Authenticators, authenticate } from '../access/authenticate.ts';
import type { User } from '../access/user.ts';
import { withTrackedUpdate } from '../fields/managed-fields.ts';
import { notServed } from '../refusal.ts';

/** Input of reviews. */
export interface ReviewContext {
  /** The caller. */
  readonly user: User;
  readonly policy: Policy;
  readonly authenticators: Authenticators;
  readonly now: number;
}

/** A decoded review and how it was posted. */
export interface PostedReview {
  readonly object: KubeObject;
  /** Field manager. */
  readonly manager: string;
}

/** Evaluates a review of any kind. Throws a StatusError for an invalid review. */
export async function answerReview(kind: ReviewKind, posted: PostedReview, context: ReviewContext): Promise<KubeObject> {
  const answer = ANSWERS[kind.kind];
  if (answer === undefined) throw new Error(`no answer to ${kind.kind}`);
  return answer(received(kind, posted, context.now), context);
}

type Answer = (object: KubeObject, context: ReviewContext) => KubeObject | Promise<KubeObject>;

const ANSWERS: Readonly<Record<string, Answer | undefined>> = {
  SelfSubjectAccessReview: reviewSelfSubjectAccess,
  SelfSubjectReview: reviewSelfSubject,
  SelfSubjectRulesReview: reviewSelfSubjectRules,
  SubjectAccessReview: reviewSubjectAccess,
  TokenReview: reviewToken,
};

/** Returns the review as any create receives an object: fields owned, without what only the server sets, in the namespace of the URL. */
function received(kind: ReviewKind, { object, manager }: PostedReview, now: number): KubeObject {
  const apiVersion = `${kind.group}/${kind.version}`;
  const next = withTrackedUpdate({ live: undefined, next: object, manager, apiVersion, now: formatTimestamp(now), schema: kind.schema });
  const kept = Object.entries(next.metadata).filter(([field]) => !SERVER_FIELDS.has(field));
  return { ...next, metadata: Object.fromEntries(kept) };
}

/** Metadata that a client cannot set. */
const SERVER_FIELDS: ReadonlySet<string> = new Set([
  'namespace',
  'selfLink',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
]);

export interface AccessReviewContext {
  /** The caller. */
  readonly user: User;
  readonly policy: Policy;
}

/** Evaluates a review about any user. Throws Invalid. */
export function reviewSubjectAccess(object: KubeObject, { policy }: AccessReviewContext): KubeObject {
  const review: AccessReview = object;
  check([...specErrors(review), ...subjectErrors(review), ...selectorErrors(review), ...metadataErrors(review)]);
  return answered(review, subjectOf(review), policy);
}

/** Evaluates a review about the caller. Throws Invalid. */
export function reviewSelfSubjectAccess(object: KubeObject, { user, policy }: AccessReviewContext): KubeObject {
  const review: AccessReview = object;
  check([...specErrors(review), ...selectorErrors(review), ...metadataErrors(review)]);
  return answered(review, user, policy);
}

interface ResourceAttributes {
  readonly fieldSelector?: object;
  readonly labelSelector?: object;
  readonly namespace?: string;
  readonly verb?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly name?: string;
}

interface PathAttributes {
  readonly path?: string;
  readonly verb?: string;
}

interface AccessReview extends KubeObject {
  readonly spec?: {
    readonly resourceAttributes?: ResourceAttributes;
    readonly nonResourceAttributes?: PathAttributes;
    readonly user?: string;
    readonly groups?: readonly string[];
  };
}

function check(errors: readonly FieldError[]): void {
  // Kubernetes has lost the kind by the time it validates.
  if (errors.length > 0) throw invalid({ group: 'authorization.k8s.io', name: '' }, '', errors);
}

function specErrors({ spec: { resourceAttributes, nonResourceAttributes } = {} }: AccessReview): readonly FieldError[] {
  if (resourceAttributes && nonResourceAttributes) {
    return [pathInvalid(nonResourceAttributes, 'cannot be specified in combination with resourceAttributes')];
  }
  if (resourceAttributes || nonResourceAttributes) return [];
  const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  return [invalidValue('spec.resourceAttributes', null, why)];
}

function selectorErrors({ spec: { resourceAttributes = {} } = {} }: AccessReview): readonly FieldError[] {
  const names = (['fieldSelector', 'labelSelector'] as const).filter((name) => resourceAttributes[name] !== undefined);
  return names.map((name) => forbiddenValue(`spec.resourceAttributes.${name}`, notServed('selectors in access reviews')));
}

function subjectErrors({ spec: { user = '', groups = [] } = {} }: AccessReview): readonly FieldError[] {
  return user === '' && groups.length === 0 ? [invalidValue('spec.user', '', 'at least one of user or group must be specified')] : [];
}

function metadataErrors({ metadata }: AccessReview): readonly FieldError[] {
  const taken = Object.keys(metadata).filter((field) => field !== 'managedFields');
  if (taken.length === 0) return [];
  const text = structText({ ...metadata }, SUBJECT_ACCESS_REVIEW.properties?.['metadata'] ?? {});
  return [{ type: 'FieldValueInvalid', field: 'metadata', body: `Invalid value: ${text}: must be empty` }];
}

/** Inside Kubernetes, the fields of this struct go by their Go names. */
function pathInvalid({ path = '', verb = '' }: PathAttributes, why: string): FieldError {
  return invalidValue('spec.nonResourceAttributes', { Path: path, Verb: verb }, why);
}

function subjectOf({ spec: { user = '', groups = [] } = {} }: AccessReview): User {
  return { name: user, groups };
}

function answered(review: AccessReview, user: User, policy: Policy): KubeObject {
  const { allowed, reason } = decide(user, attributesOf(review), policy);
  return { ...review, status: { allowed, ...(reason !== '' && { reason }) } };
}

function attributesOf({ spec: { resourceAttributes, nonResourceAttributes } = {} }: AccessReview): AccessAttributes {
  if (resourceAttributes === undefined) return { type: 'path', verb: '', path: '', ...nonResourceAttributes };
  const { verb = '', group = '', resource = '', subresource = '', name = '', namespace = '' } = resourceAttributes;
  return { type: 'resource', verb, group, resource, subresource, name, namespace };
}

/** Returns the caller; nothing of the request is echoed. */
export function reviewSelfSubject(
  { apiVersion, kind }: KubeObject,
  { user, now }: { readonly user: User; readonly now: number },
): KubeObject {
  return { apiVersion, kind, metadata: { creationTimestamp: formatTimestamp(now) }, status: { userInfo: userInfo(user) } };
}

/** Returns every rule that applies to the caller. Throws BadRequest without a namespace. */
export function reviewSelfSubjectRules(review: KubeObject, { user, policy }: { readonly user: User; readonly policy: Policy }): KubeObject {
  const { apiVersion, kind, spec: { namespace = '' } = {} }: SelfSubjectRulesReview = review;
  if (namespace === '') throw badRequest('no namespace on request');
  const { rules, errors } = rulesFor(user, namespace, policy);
  const resourceRules = rules.filter(({ resources = [] }) => resources.length > 0);
  const nonResourceRules = rules.filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0);
  const status = {
    resourceRules: resourceRules.map(({ verbs, apiGroups, resources, resourceNames }) => ({ verbs, apiGroups, resources, resourceNames })),
    nonResourceRules: nonResourceRules.map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
    ...(errors.length > 0 && { evaluationError: aggregated(errors) }),
  };
  return { apiVersion, kind, metadata: {}, spec: {}, status };
}

interface SelfSubjectRulesReview extends KubeObject {
  readonly spec?: { readonly namespace?: string };
}

/** Authenticates the token for the audiences of the review. Throws BadRequest without a token. */
export async function reviewToken(
  review: KubeObject,
  { authenticators, now }: { readonly authenticators: Authenticators; readonly now: number },
): Promise<KubeObject> {
  const { spec: { token = '', audiences: wanted = [] } = {}, status = {} }: TokenReview = review;
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const audiences = wanted.length > 0 ? wanted : authenticators.audiences;
  const result = await authenticate(`Bearer ${token}`, audiences, authenticators, now);
  // Kubernetes leaves in the status what the client put there and the outcome does not replace.
  if (result.type === 'rejected') return { ...review, status: { user: {}, ...status, authenticated: false, error: result.reason } };
  return { ...review, status: { ...status, authenticated: true, user: userInfo(result.user), audiences: result.audiences } };
}

interface TokenReview extends KubeObject {
  readonly spec?: { readonly token?: string; readonly audiences?: readonly string[] };
  readonly status?: Readonly<Record<string, unknown>>;
}

/** authentication/v1 UserInfo. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export function userInfo({ name, uid, groups, extra }: User): UserInfo {
  return { username: name, ...(uid && { uid }), groups, ...(extra && { extra }) };
}
