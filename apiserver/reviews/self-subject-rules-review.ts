// SelfSubjectRulesReview: what may I do in this namespace?

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { type Policy, rulesFor } from '../../src/kubernetes/rbac.ts';
import { aggregated, badRequest } from '../../src/kubernetes/status.ts';
import type { User } from '../access/user.ts';

/** Answers with every rule that applies to the user who asks. Throws BadRequest when no namespace is named. */
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
