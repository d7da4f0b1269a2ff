// SubjectAccessReview and its kin: may somebody do this? They differ in who is asked about and where.

import { type FieldError, forbiddenValue, invalidValue } from '../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { type AccessAttributes, decide, type Policy } from '../../src/kubernetes/rbac.ts';
import { SUBJECT_ACCESS_REVIEW } from '../../src/kubernetes/reviews.ts';
import { invalid } from '../../src/kubernetes/status.ts';
import { structText } from '../../src/kubernetes/wire/struct-text.ts';
import type { User } from '../access/user.ts';
import { notServed } from '../refusal.ts';

export interface AccessReviewContext {
  /** Who asks. */
  readonly user: User;
  readonly policy: Policy;
}

/** Answers about any user. Throws Invalid. */
export function reviewSubjectAccess(object: KubeObject, { policy }: AccessReviewContext): KubeObject {
  const review: AccessReview = object;
  check([...specErrors(review), ...subjectErrors(review), ...selectorErrors(review), ...metadataErrors(review, [])]);
  return answered(review, subjectOf(review), policy);
}

/** Answers about any user within one namespace. Throws Invalid. */
export function reviewLocalSubjectAccess(object: KubeObject, { policy }: AccessReviewContext): KubeObject {
  const review: AccessReview = object;
  check([
    ...specErrors(review),
    ...subjectErrors(review),
    ...selectorErrors(review),
    ...metadataErrors(review, ['namespace']),
    ...localErrors(review),
  ]);
  return answered(review, subjectOf(review), policy);
}

/** Answers about the user who asks. Throws Invalid. */
export function reviewSelfSubjectAccess(object: KubeObject, { user, policy }: AccessReviewContext): KubeObject {
  const review: AccessReview = object;
  check([...specErrors(review), ...selectorErrors(review), ...metadataErrors(review, [])]);
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

function metadataErrors({ metadata }: AccessReview, allowed: readonly string[]): readonly FieldError[] {
  const taken = Object.keys(metadata).filter((field) => field !== 'managedFields' && !allowed.includes(field));
  if (taken.length === 0) return [];
  const text = structText({ ...metadata }, SUBJECT_ACCESS_REVIEW.properties?.['metadata'] ?? {});
  const why = ['must be empty', ...allowed].join(' except for ');
  return [{ type: 'FieldValueInvalid', field: 'metadata', body: `Invalid value: ${text}: ${why}` }];
}

function localErrors({ metadata, spec: { resourceAttributes, nonResourceAttributes } = {} }: AccessReview): readonly FieldError[] {
  const namespace = resourceAttributes?.namespace ?? '';
  const isElsewhere = resourceAttributes !== undefined && namespace !== metadata.namespace;
  return [
    ...(isElsewhere ? [invalidValue('spec.resourceAttributes.namespace', namespace, 'must match metadata.namespace')] : []),
    ...(nonResourceAttributes ? [pathInvalid(nonResourceAttributes, 'disallowed on this kind of request')] : []),
  ];
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
