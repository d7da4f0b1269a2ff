// Which tokens RBAC lets a service account ask for, as far as the informers know. A hint that tells when to look: other
// authorisers may say yes, too, and only a SubjectAccessReview decides.

import { RegistryGroup } from '../api/names.ts';
import type { ClusterRole, ClusterRoleBinding } from '../api/resources.ts';
import { type AccessAttributes, type PolicyRule, ruleAllows } from '../kubernetes/rbac.ts';
import type { HubView } from './informers.ts';

/** Who asks, as RBAC knows it. */
export interface Requester {
  readonly user: string;
  readonly groups: readonly string[];
}

/** The service account of a namespace as a user. */
export function requesterOf(namespace: string, name: string): Requester {
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  };
}

/** What a SubjectAccessReview asks about a name. */
export function issueAttributes(name: string): Extract<AccessAttributes, { type: 'resource' }> {
  return { type: 'resource', verb: 'issue', group: RegistryGroup, resource: 'clusters', subresource: 'token', name, namespace: '' };
}

/** The rules about issuing that are in force, by whom they are for. Reads all bindings after a change, and none otherwise. */
export class IssuePermissions {
  readonly #view: HubView;
  #version = '';
  #rules: ReadonlyMap<string, readonly PolicyRule[]> = new Map();

  constructor(view: HubView) {
    this.#view = view;
  }

  /** Whether some rule lets the requester issue under one of these names. */
  allow({ user, groups }: Requester, names: readonly string[]): boolean {
    const rules = this.#current();
    const held = [`User ${user}`, ...groups.map((group) => `Group ${group}`)].flatMap((subject) => rules.get(subject) ?? []);
    return held.some((rule) => names.some((name) => ruleAllows(rule, issueAttributes(name))));
  }

  #current(): ReadonlyMap<string, readonly PolicyRule[]> {
    const { roles, bindings } = this.#view;
    const version = `${roles.resourceVersion}/${bindings.resourceVersion}`;
    if (version !== this.#version) {
      this.#rules = rulesBySubject(roles.list(), bindings.list());
      this.#version = version;
    }
    return this.#rules;
  }
}

/** The keys under which the subjects of a binding are known: `User …` and `Group …`. */
export function subjectsOf({ subjects }: ClusterRoleBinding): readonly string[] {
  return (subjects ?? []).flatMap(({ kind, name, namespace }) => {
    if (kind === 'ServiceAccount') return namespace ? [`User system:serviceaccount:${namespace}:${name}`] : [];
    return kind === 'User' || kind === 'Group' ? [`${kind} ${name}`] : [];
  });
}

/** The rules of a role that are about issuing, under whatever names. A role that nobody has given any has null on the wire. */
export function issueRules({ rules }: Pick<ClusterRole, 'rules'>): readonly PolicyRule[] {
  return (rules ?? []).filter((rule) => ruleAllows({ ...rule, resourceNames: [] }, issueAttributes('')));
}

function rulesBySubject(
  roles: readonly ClusterRole[],
  bindings: readonly ClusterRoleBinding[],
): ReadonlyMap<string, readonly PolicyRule[]> {
  const issuing = new Map(roles.map((role) => [role.metadata.name, issueRules(role)] as const).filter(([, rules]) => rules.length > 0));
  const held = new Map<string, PolicyRule[]>();
  for (const binding of bindings) {
    const rules = binding.roleRef.kind === 'ClusterRole' ? (issuing.get(binding.roleRef.name) ?? []) : [];
    for (const subject of rules.length === 0 ? [] : subjectsOf(binding)) held.set(subject, [...(held.get(subject) ?? []), ...rules]);
  }
  return held;
}
