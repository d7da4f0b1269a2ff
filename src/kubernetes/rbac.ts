// Role-based access control: the rules of a user, and decisions about requests. Rules can allow requests, but not deny them.

import { quoteGoString } from '../std/go-text.ts';
import { aggregate } from './status.ts';

/** Permissions on resources or paths. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** Role that a binding grants. */
export interface RoleRef {
  readonly kind: string;
  readonly name: string;
}

/** User, group or service account to which a binding grants its role. */
export interface RbacSubject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** A RoleBinding; a ClusterRoleBinding if it has no namespace. */
export interface RbacBinding {
  readonly name: string;
  readonly namespace?: string;
  readonly subjects: readonly RbacSubject[];
  readonly roleRef: RoleRef;
}

/** Current roles and bindings. */
export interface Policy {
  clusterRoleBindings(): Iterable<RbacBinding>;
  roleBindings(namespace: string): Iterable<RbacBinding>;
  /** Returns the rules of a role; `namespace` is that of the binding. Undefined if the role does not exist. */
  rules(ref: RoleRef, namespace: string | undefined): readonly PolicyRule[] | undefined;
}

/** User of a request. */
export interface RbacUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/** Attributes of a request; an attribute that is not set is an empty string. */
export type AccessAttributes =
  | {
      readonly type: 'resource';
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      readonly name: string;
      readonly namespace: string;
    }
  | { readonly type: 'path'; readonly verb: string; readonly path: string };

/** Authorization decision and its reason. */
export interface Decision {
  readonly allowed: boolean;
  /** Message that names the binding that allows the request, or the missing roles; empty if there is neither. */
  readonly reason: string;
}

/** Rules that apply to a user, and the bound roles that do not exist. */
export interface UserRules {
  readonly rules: readonly PolicyRule[];
  /** Roles that do not exist, although the user's bindings refer to them. */
  readonly missing: readonly RoleRef[];
  /** Error messages for the missing roles. */
  readonly errors: readonly string[];
}

/** Group whose members are permitted to send every request. */
export const SUPERUSERS = 'system:masters';

/** Decides whether `user` is permitted to send a request with these attributes. */
export function decide(user: RbacUser, attributes: AccessAttributes, policy: Policy): Decision {
  if (user.groups.includes(SUPERUSERS)) return { allowed: true, reason: '' };
  const missing: string[] = [];
  for (const grant of findGrants(user, attributes.type === 'resource' ? attributes.namespace : '', policy)) {
    if (grant.rules === undefined) missing.push(formatNotFound(grant.binding.roleRef));
    else if (grant.rules.some((rule) => ruleAllows(rule, attributes)))
      return { allowed: true, reason: `RBAC: allowed by ${formatSource(grant)}` };
  }
  return { allowed: false, reason: missing.length === 0 ? '' : `RBAC: ${aggregate(missing)}` };
}

/** Returns the rules that apply to `user` in a namespace; with an empty namespace, the cluster-wide ones. */
export function findUserRules(user: RbacUser, namespace: string, policy: Policy): UserRules {
  const found = [...findGrants(user, namespace, policy)];
  const missing = found.filter(({ rules }) => rules === undefined).map(({ binding }) => binding.roleRef);
  return { rules: found.flatMap(({ rules }) => rules ?? []), missing, errors: missing.map(formatNotFound) };
}

/** Returns whether a rule allows the request with these attributes. */
export function ruleAllows(rule: PolicyRule, attributes: AccessAttributes): boolean {
  if (!verbMatches(rule, attributes.verb)) return false;
  if (attributes.type === 'path') return pathMatches(rule, attributes.path);
  const { group, resource, subresource, name } = attributes;
  return (
    groupMatches(rule, group) &&
    (subresource === '' ? resourceMatches(rule, resource) : resourceMatches(rule, `${resource}/${subresource}`, subresource)) &&
    nameMatches(rule, name)
  );
}

/** Returns whether the rule covers this verb. */
export function verbMatches({ verbs }: PolicyRule, verb: string): boolean {
  return verbs.includes('*') || verbs.includes(verb);
}

/** Returns whether the rule covers this API group. */
export function groupMatches({ apiGroups = [] }: PolicyRule, group: string): boolean {
  return apiGroups.includes('*') || apiGroups.includes(group);
}

/** Returns whether the rule covers this resource: `pods`, or `pods/log` with the subresource `log`. */
export function resourceMatches({ resources = [] }: PolicyRule, resource: string, subresource?: string): boolean {
  return resources.includes('*') || resources.includes(resource) || (subresource !== undefined && resources.includes(`*/${subresource}`));
}

function nameMatches({ resourceNames = [] }: PolicyRule, name: string): boolean {
  return resourceNames.length === 0 || resourceNames.includes(name);
}

/** Returns whether the rule covers this path. */
export function pathMatches({ nonResourceURLs = [] }: PolicyRule, path: string): boolean {
  return nonResourceURLs.some((allowed) => allowed === path || (allowed.endsWith('*') && path.startsWith(allowed.replace(/\*+$/, ''))));
}

interface Grant {
  readonly binding: RbacBinding;
  /** First subject of the binding that matches the user. */
  readonly subject: RbacSubject;
  readonly rules: readonly PolicyRule[] | undefined;
}

function* findGrants(user: RbacUser, namespace: string, policy: Policy): Generator<Grant> {
  yield* findGrantsIn(policy.clusterRoleBindings(), user, policy);
  if (namespace !== '') yield* findGrantsIn(policy.roleBindings(namespace), user, policy);
}

function* findGrantsIn(bindings: Iterable<RbacBinding>, user: RbacUser, policy: Policy): Generator<Grant> {
  for (const binding of bindings) {
    const subject = binding.subjects.find((candidate) => isSubject(user, candidate, binding.namespace));
    if (subject !== undefined) yield { binding, subject, rules: policy.rules(binding.roleRef, binding.namespace) };
  }
}

function isSubject(user: RbacUser, subject: RbacSubject, bindingNamespace: string | undefined): boolean {
  switch (subject.kind) {
    case 'User':
      return user.name === subject.name;
    case 'Group':
      return user.groups.includes(subject.name);
    case 'ServiceAccount': {
      const namespace = subject.namespace || bindingNamespace;
      return namespace !== undefined && user.name === `system:serviceaccount:${namespace}:${subject.name}`;
    }
    default:
      return false;
  }
}

function formatSource({ binding, subject }: Grant): string {
  const { name, namespace, roleRef } = binding;
  const source =
    namespace === undefined ? `ClusterRoleBinding ${quoteGoString(name)}` : `RoleBinding ${quoteGoString(`${name}/${namespace}`)}`;
  const subjectName = subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace || namespace}` : subject.name;
  return `${source} of ${roleRef.kind} ${quoteGoString(roleRef.name)} to ${subject.kind} ${quoteGoString(subjectName)}`;
}

function formatNotFound({ kind, name }: RoleRef): string {
  return `${kind.toLowerCase()}.rbac.authorization.k8s.io ${quoteGoString(name)} not found`;
}
