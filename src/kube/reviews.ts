// Reviews: objects that an API server evaluates and does not store.

import type {
  AuthenticationV1TokenRequest,
  V1SelfSubjectAccessReview,
  V1SelfSubjectReview,
  V1SubjectAccessReview,
  V1TokenReview,
} from '@kubernetes/client-node';
import type { Resource } from '../api/resources.ts';
import type { Wire } from '../api/wire.ts';

export type TokenRequest = Wire<AuthenticationV1TokenRequest>;
export type TokenReview = Wire<V1TokenReview>;
export type SubjectAccessReview = Wire<V1SubjectAccessReview>;
export type SelfSubjectAccessReview = Wire<V1SelfSubjectAccessReview>;
export type SelfSubjectReview = Wire<V1SelfSubjectReview>;

export const TokenReviews: Resource<TokenReview> = defineReview('authentication.k8s.io', 'TokenReview');
export const SelfSubjectReviews: Resource<SelfSubjectReview> = defineReview('authentication.k8s.io', 'SelfSubjectReview');
export const SubjectAccessReviews: Resource<SubjectAccessReview> = defineReview('authorization.k8s.io', 'SubjectAccessReview');
export const SelfSubjectAccessReviews: Resource<SelfSubjectAccessReview> = defineReview('authorization.k8s.io', 'SelfSubjectAccessReview');

function defineReview<T>(group: string, kind: string): Resource<T> {
  return { group, version: 'v1', plural: `${kind.toLowerCase()}s`, kind, namespaced: false };
}
