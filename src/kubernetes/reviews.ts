// Kinds whose objects are created but never stored, and the schema of DeleteOptions.

import {
  bool,
  int64,
  list,
  map,
  named,
  objectStruct,
  pointer,
  struct,
  TYPE_META_NUMBERS,
  text,
  time,
  UID,
  withoutOmitempty,
} from './schema/go-struct.ts';
import type { Schema } from './schema/schema.ts';

const atomicTexts = (): Schema => list(text(), { 'x-kubernetes-list-type': 'atomic' });

const extraValues = (goType: string): Schema => map({ ...atomicTexts(), go: { type: goType } });

const USER_INFO = struct('v1.UserInfo', {
  username: text(),
  uid: text(),
  groups: atomicTexts(),
  extra: extraValues('v1.ExtraValue'),
});

const BOUND_OBJECT_REFERENCE = struct('v1.BoundObjectReference', { kind: text(), apiVersion: text(), name: text(), uid: UID });

/** Schema of the request and the response of `serviceaccounts/token`. */
export const TOKEN_REQUEST: Schema = objectStruct('v1.TokenRequest', {
  spec: struct(
    'v1.TokenRequestSpec',
    {
      audiences: withoutOmitempty(atomicTexts(), null),
      expirationSeconds: withoutOmitempty(pointer(int64()), null),
      boundObjectRef: withoutOmitempty(pointer(BOUND_OBJECT_REFERENCE), null),
    },
    { numbers: { expirationSeconds: 4, boundObjectRef: 3 } },
  ),
  status: struct('v1.TokenRequestStatus', { token: withoutOmitempty(text(), ''), expirationTimestamp: time() }),
});

export const TOKEN_REVIEW: Schema = objectStruct('v1.TokenReview', {
  spec: struct('v1.TokenReviewSpec', { token: text(), audiences: atomicTexts() }),
  status: struct(
    'v1.TokenReviewStatus',
    { authenticated: bool(), user: USER_INFO, audiences: atomicTexts(), error: text() },
    { numbers: { audiences: 4 } },
  ),
});

const SELF_SUBJECT_REVIEW: Schema = objectStruct('v1.SelfSubjectReview', {
  status: struct('v1.SelfSubjectReviewStatus', { userInfo: USER_INFO }),
});

const selectorAttributes = (goType: string, requirementType: string, operatorType: string): Schema =>
  struct(goType, {
    rawSelector: text(),
    requirements: list(
      struct(requirementType, {
        key: withoutOmitempty(text(), ''),
        operator: withoutOmitempty(named(operatorType), ''),
        values: atomicTexts(),
      }),
      { 'x-kubernetes-list-type': 'atomic' },
    ),
  });

const ATTRIBUTES = {
  resourceAttributes: pointer(
    struct('v1.ResourceAttributes', {
      namespace: text(),
      verb: text(),
      group: text(),
      version: text(),
      resource: text(),
      subresource: text(),
      name: text(),
      fieldSelector: pointer(selectorAttributes('v1.FieldSelectorAttributes', 'v1.FieldSelectorRequirement', 'v1.FieldSelectorOperator')),
      labelSelector: pointer(selectorAttributes('v1.LabelSelectorAttributes', 'v1.LabelSelectorRequirement', 'v1.LabelSelectorOperator')),
    }),
  ),
  nonResourceAttributes: pointer(struct('v1.NonResourceAttributes', { path: text(), verb: text() })),
};

const SUBJECT_ACCESS_REVIEW_SPEC = struct('v1.SubjectAccessReviewSpec', {
  ...ATTRIBUTES,
  user: text(),
  groups: atomicTexts(),
  extra: extraValues('v1.ExtraValue'),
  uid: text(),
});

const SUBJECT_ACCESS_REVIEW_STATUS = struct(
  'v1.SubjectAccessReviewStatus',
  {
    allowed: withoutOmitempty(bool(), false),
    denied: bool(),
    reason: text(),
    evaluationError: text(),
  },
  { numbers: { denied: 4 } },
);

export const SUBJECT_ACCESS_REVIEW: Schema = objectStruct('v1.SubjectAccessReview', {
  spec: SUBJECT_ACCESS_REVIEW_SPEC,
  status: SUBJECT_ACCESS_REVIEW_STATUS,
});

const SELF_SUBJECT_ACCESS_REVIEW: Schema = objectStruct('v1.SelfSubjectAccessReview', {
  spec: struct('v1.SelfSubjectAccessReviewSpec', ATTRIBUTES),
  status: SUBJECT_ACCESS_REVIEW_STATUS,
});

const verbs = withoutOmitempty(atomicTexts(), null);

export const SELF_SUBJECT_RULES_REVIEW: Schema = objectStruct('v1.SelfSubjectRulesReview', {
  spec: struct('v1.SelfSubjectRulesReviewSpec', { namespace: text() }),
  status: struct('v1.SubjectRulesReviewStatus', {
    resourceRules: withoutOmitempty(
      list(struct('v1.ResourceRule', { verbs, apiGroups: atomicTexts(), resources: atomicTexts(), resourceNames: atomicTexts() }), {
        'x-kubernetes-list-type': 'atomic',
      }),
      null,
    ),
    nonResourceRules: withoutOmitempty(
      list(struct('v1.NonResourceRule', { verbs, nonResourceURLs: atomicTexts() }), { 'x-kubernetes-list-type': 'atomic' }),
      null,
    ),
    incomplete: withoutOmitempty(bool(), false),
    evaluationError: text(),
  }),
});

/** Schema of metav1.DeleteOptions, which has no metadata. */
export const DELETE_OPTIONS: Schema = struct(
  'v1.DeleteOptions',
  {
    kind: text(),
    apiVersion: text(),
    gracePeriodSeconds: pointer(int64()),
    preconditions: pointer(struct('v1.Preconditions', { uid: pointer(UID), resourceVersion: pointer(text()) })),
    orphanDependents: pointer(bool()),
    propagationPolicy: pointer(named('v1.DeletionPropagation')),
    dryRun: atomicTexts(),
    ignoreStoreReadErrorWithClusterBreakingPotential: pointer(bool()),
  },
  { numbers: TYPE_META_NUMBERS },
);

/** A kind whose objects exist only in the response to their creation. */
export interface ReviewKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly schema: Schema;
}

function createReviewKind(group: string, kind: string, namespaced: boolean, schema: Schema): ReviewKind {
  const singular = kind.toLowerCase();
  return { group, version: 'v1', kind, plural: `${singular}s`, singular, namespaced, schema };
}

/** All review kinds, in the order in which discovery lists them. */
export const reviewKinds: readonly ReviewKind[] = [
  createReviewKind('authentication.k8s.io', 'SelfSubjectReview', false, SELF_SUBJECT_REVIEW),
  createReviewKind('authentication.k8s.io', 'TokenReview', false, TOKEN_REVIEW),
  createReviewKind('authorization.k8s.io', 'SelfSubjectAccessReview', false, SELF_SUBJECT_ACCESS_REVIEW),
  createReviewKind('authorization.k8s.io', 'SelfSubjectRulesReview', false, SELF_SUBJECT_RULES_REVIEW),
  createReviewKind('authorization.k8s.io', 'SubjectAccessReview', false, SUBJECT_ACCESS_REVIEW),
];
