// Evaluation of reviews: authentication of tokens, and decisions about access.

import { type FieldError, forbiddenValue, invalidValue } from '../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { type AccessAttributes, decide, findUserRules, type Policy } from '../../src/kubernetes/rbac.ts';
import type { ReviewKind } from '../../src/kubernetes/reviews.ts';
import { aggregate, badRequest, invalid } from '../../src/kubernetes/status.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import { type Authenticators, authenticate } from '../access/authenticate.ts';
import type { User } from '../access/user.ts';
import { withTrackedUpdate } from '../fields/managed-fields.ts';
import { notSupported } from '../unsupported.ts';

export interface ReviewContext {
  /** The caller. */
  readonly user: User;
  readonly policy: Policy;
  readonly authenticators: Authenticators;
  readonly now: number;
}

/** A decoded review. */
export interface PostedReview {
  readonly object: KubeObject;
  /** Field manager. */
  readonly manager: string;
}

/** Evaluates a review of any kind. Throws a StatusError for an invalid review. */
export async function evaluateReview(kind: ReviewKind, posted: PostedReview, context: ReviewContext): Promise<KubeObject> {
  const evaluate = EVALUATORS[kind.kind];
  if (evaluate === undefined) throw new Error(`reviews of kind ${kind.kind} are not implemented`);
  return evaluate(prepareReview(kind, posted, context.now), context);
}

type Evaluator = (object: KubeObject, context: ReviewContext) => KubeObject | Promise<KubeObject>;

const EVALUATORS: Readonly<Record<string, Evaluator | undefined>> = {
  SelfSubjectAccessReview: reviewSelfSubjectAccess,
  SelfSubjectReview: reviewSelfSubject,
  SelfSubjectRulesReview: reviewSelfSubjectRules,
  SubjectAccessReview: reviewSubjectAccess,
  TokenReview: reviewToken,
};

/** Returns the review with managedFields and without metadata that only the server sets. */
function prepareReview(kind: ReviewKind, { object, manager }: PostedReview, now: number): KubeObject {
  const apiVersion = `${kind.group}/${kind.version}`;
  const next = withTrackedUpdate({ live: undefined, next: object, manager, apiVersion, now: formatTimestamp(now), schema: kind.schema });
  const allowed = Object.entries(next.metadata).filter(([field]) => !SERVER_FIELDS.has(field));
  return { ...next, metadata: Object.fromEntries(allowed) };
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

/** Decides whether the user and groups in the review have the requested access. Throws 422 for an invalid spec. */
function reviewSubjectAccess(object: KubeObject, { policy }: ReviewContext): KubeObject {
  const review: AccessReview = object;
  check([...validateSpec(review), ...validateSubject(review), ...validateSelectors(review)]);
  const { user: name = '', groups = [] } = review.spec ?? {};
  return decideReview(review, { name, groups }, policy);
}

/** Decides whether the caller has the requested access. Throws 422 for an invalid spec. */
function reviewSelfSubjectAccess(object: KubeObject, { user, policy }: ReviewContext): KubeObject {
  const review: AccessReview = object;
  check([...validateSpec(review), ...validateSelectors(review)]);
  return decideReview(review, user, policy);
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
  // kube-apiserver reports these errors without a kind.
  if (errors.length > 0) throw invalid({ group: 'authorization.k8s.io', name: '' }, '', errors);
}

function validateSpec({ spec: { resourceAttributes, nonResourceAttributes } = {} }: AccessReview): readonly FieldError[] {
  if (resourceAttributes && nonResourceAttributes) {
    const { path = '', verb = '' } = nonResourceAttributes;
    const detail = 'cannot be specified in combination with resourceAttributes';
    // kube-apiserver prints these fields with their Go names.
    return [invalidValue('spec.nonResourceAttributes', { Path: path, Verb: verb }, detail)];
  }
  if (resourceAttributes || nonResourceAttributes) return [];
  const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  return [invalidValue('spec.resourceAttributes', null, detail)];
}

function validateSelectors({ spec: { resourceAttributes = {} } = {} }: AccessReview): readonly FieldError[] {
  const names = (['fieldSelector', 'labelSelector'] as const).filter((name) => resourceAttributes[name] !== undefined);
  return names.map((name) => forbiddenValue(`spec.resourceAttributes.${name}`, notSupported('selectors in access reviews')));
}

function validateSubject({ spec: { user = '', groups = [] } = {} }: AccessReview): readonly FieldError[] {
  return user === '' && groups.length === 0 ? [invalidValue('spec.user', '', 'at least one of user or group must be specified')] : [];
}

function decideReview(review: AccessReview, user: User, policy: Policy): KubeObject {
  const { allowed, reason } = decide(user, toAttributes(review), policy);
  return { ...review, status: { allowed, ...(reason !== '' && { reason }) } };
}

function toAttributes({ spec: { resourceAttributes, nonResourceAttributes } = {} }: AccessReview): AccessAttributes {
  if (resourceAttributes === undefined) return { type: 'path', verb: '', path: '', ...nonResourceAttributes };
  const { verb = '', group = '', resource = '', subresource = '', name = '', namespace = '' } = resourceAttributes;
  return { type: 'resource', verb, group, resource, subresource, name, namespace };
}

/** Returns a review with the UserInfo of the caller; ignores the posted fields. */
function reviewSelfSubject({ apiVersion, kind }: KubeObject, { user, now }: ReviewContext): KubeObject {
  return { apiVersion, kind, metadata: { creationTimestamp: formatTimestamp(now) }, status: { userInfo: toUserInfo(user) } };
}

/** Returns the rules that apply to the caller. Throws 400 without a namespace. */
function reviewSelfSubjectRules(review: KubeObject, { user, policy }: ReviewContext): KubeObject {
  const { apiVersion, kind, spec: { namespace = '' } = {} }: SelfSubjectRulesReview = review;
  if (namespace === '') throw badRequest('no namespace on request');
  const { rules, errors } = findUserRules(user, namespace, policy);
  const resourceRules = rules.filter(({ resources = [] }) => resources.length > 0);
  const nonResourceRules = rules.filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0);
  const status = {
    resourceRules: resourceRules.map(({ verbs, apiGroups, resources, resourceNames }) => ({ verbs, apiGroups, resources, resourceNames })),
    nonResourceRules: nonResourceRules.map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
    ...(errors.length > 0 && { evaluationError: aggregate(errors) }),
  };
  return { apiVersion, kind, metadata: {}, spec: {}, status };
}

interface SelfSubjectRulesReview extends KubeObject {
  readonly spec?: { readonly namespace?: string };
}

/** Authenticates the token for the audiences of the review. Throws 400 without a token. */
async function reviewToken(review: KubeObject, { authenticators, now }: ReviewContext): Promise<KubeObject> {
  const { spec: { token = '', audiences: requested = [] } = {}, status = {} }: TokenReview = review;
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const audiences = requested.length > 0 ? requested : authenticators.audiences;
  const result = await authenticate(`Bearer ${token}`, audiences, authenticators, now);
  // kube-apiserver keeps the status fields that the client sent and that the result does not replace.
  if (result.type === 'rejected') return { ...review, status: { user: {}, ...status, authenticated: false, error: result.reason } };
  return { ...review, status: { ...status, authenticated: true, user: toUserInfo(result.user), audiences: result.audiences } };
}

interface TokenReview extends KubeObject {
  readonly spec?: { readonly token?: string; readonly audiences?: readonly string[] };
  readonly status?: Readonly<Record<string, unknown>>;
}

/** Converts a user to the UserInfo of authentication/v1. */
function toUserInfo({ name, uid, groups, extra }: User): object {
  return { username: name, ...(uid && { uid }), groups, ...(extra && { extra }) };
}
