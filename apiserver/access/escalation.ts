// Nobody may grant what they do not hold: the checks on writing roles and bindings, before anything else is validated.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import {
  type AccessAttributes,
  decide,
  type Policy,
  type PolicyRule,
  type RoleRef,
  rulesFor,
  SUPERUSERS,
} from '../../src/kubernetes/rbac.ts';
import { forbidden, notFound, unclassified } from '../../src/kubernetes/status.ts';
import { goQuote } from '../../src/std/go-text.ts';
import { sameValue } from '../same-value.ts';
import { bindingOf, RBAC_GROUP, rulesOf } from './policy.ts';
import { escalation, uncovered } from './rbac-escalation.ts';
import type { User } from './user.ts';

/** Refuses, by throwing a StatusError, a write that would grant more than `user` may; `old` is absent on create. Other kinds pass. */
export type EscalationCheck = (
  user: User,
  kind: { readonly group: string; readonly plural: string },
  next: KubeObject,
  old?: KubeObject,
) => void;

/** The check against the policy in force. */
export function createEscalationCheck(policy: Policy): EscalationCheck {
  return (user, { group, plural }, next, old) => {
    if (group !== RBAC_GROUP || user.groups.includes(SUPERUSERS) || (old && onlyCollectionFieldsDiffer(next, old))) return;
    const write = { user, resource: plural, next, policy };
    if (plural === 'clusterroles' || plural === 'roles') checkRole(write, old);
    if (plural === 'clusterrolebindings' || plural === 'rolebindings') checkBinding(write);
  };
}

interface Write {
  readonly user: User;
  readonly resource: string;
  readonly next: KubeObject;
  readonly policy: Policy;
}

/** Everything: what an aggregated role may come to hold. */
const FULL_AUTHORITY: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

const ROLE_RESOURCES: ReadonlyMap<string, string> = new Map([
  ['ClusterRole', 'clusterroles'],
  ['Role', 'roles'],
]);

function checkRole(write: Write, old: KubeObject | undefined): void {
  const name = old?.metadata.name ?? '';
  if (isAllowed(write, { verb: 'escalate', group: RBAC_GROUP, resource: write.resource, name })) return;
  checkHeld(write, rulesOf(write.next));
  if (!isAggregated(write.next) && !(old && isAggregated(old))) return;
  if (uncovered(rulesFor(write.user, namespaceOf(write), write.policy).rules, FULL_AUTHORITY).length > 0) {
    throw refusal(write, 'must have cluster-admin privileges to use the aggregationRule');
  }
}

function checkBinding(write: Write): void {
  const { roleRef } = bindingOf(write.next);
  if (mayBind(write, roleRef)) return;
  if (!ROLE_RESOURCES.has(roleRef.kind)) {
    throw unclassified(`unsupported role reference kind: ${goQuote(roleRef.kind)}`);
  }
  const rules = write.policy.rules(roleRef, write.next.metadata.namespace);
  // Kubernetes names the resource that is written, not the role's.
  if (rules === undefined) throw notFound({ group: RBAC_GROUP, name: write.resource }, roleRef.name);
  checkHeld(write, rules);
}

function mayBind(write: Write, { kind, name, apiGroup = RBAC_GROUP }: RoleRef & { readonly apiGroup?: string }): boolean {
  const resource = ROLE_RESOURCES.get(kind);
  return resource !== undefined && isAllowed(write, { verb: 'bind', group: apiGroup, resource, name });
}

function checkHeld(write: Write, wanted: readonly PolicyRule[]): void {
  const why = escalation(write.user, rulesFor(write.user, namespaceOf(write), write.policy), wanted, write.resource);
  if (why !== undefined) throw refusal(write, why);
}

function isAllowed(write: Write, what: Pick<AccessAttributes & { type: 'resource' }, 'verb' | 'group' | 'resource' | 'name'>): boolean {
  return decide(write.user, { type: 'resource', subresource: '', namespace: namespaceOf(write), ...what }, write.policy).allowed;
}

function namespaceOf({ next }: Write): string {
  return next.metadata.namespace ?? '';
}

function refusal({ resource, next }: Write, why: string): Error {
  return forbidden({ group: RBAC_GROUP, name: resource }, next.metadata.name ?? '', why);
}

interface AggregatedRole extends KubeObject {
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly unknown[] };
}

function isAggregated(role: KubeObject): boolean {
  const { aggregationRule }: AggregatedRole = role;
  return (aggregationRule?.clusterRoleSelectors ?? []).length > 0;
}

/** The garbage collector changes owners and finalizers of what it could not grant itself. */
function onlyCollectionFieldsDiffer(next: KubeObject, old: KubeObject): boolean {
  return sameValue(withoutCollectionFields(next), withoutCollectionFields(old));
}

function withoutCollectionFields(object: KubeObject): unknown {
  const collected = { ownerReferences: undefined, finalizers: undefined, selfLink: undefined, managedFields: undefined };
  return { ...object, metadata: { ...object.metadata, ...collected } };
}
