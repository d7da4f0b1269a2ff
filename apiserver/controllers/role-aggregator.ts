// The controller of aggregated ClusterRoles: copies rules into them from the ClusterRoles that their aggregationRule selects.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { type LabelSelectorObject, matchesLabels, toLabelSelector } from '../../src/kubernetes/selectors/label-selector.ts';
import { clusterRoleKind } from '../kinds/rbac.ts';
import { isSameValue } from '../same-value.ts';
import type { Api } from '../verbs/api.ts';
import { applyObject } from '../verbs/apply.ts';
import { createSystemWriter, type Stop, toTarget } from './controller.ts';

const RESOURCE = 'rbac.authorization.k8s.io/clusterroles';
const WRITER = createSystemWriter('clusterrole-aggregation-controller');

interface ClusterRole extends KubeObject {
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelectorObject[] };
  readonly rules?: readonly unknown[];
}

export function aggregateRoles(api: Api): Stop {
  const aggregateAll = () => {
    for (const role of listRoles(api)) if (role.aggregationRule !== undefined) api.attempt(() => aggregate(api, role));
  };
  aggregateAll();
  return api.store.subscribe(RESOURCE, aggregateAll);
}

/** Updates a role from the current state of all roles: with an older state, two roles that select each other would swap rules forever. */
function aggregate(api: Api, role: ClusterRole): void {
  const rules = collectRules(role, listRoles(api));
  if (isSameValue(rules, role.rules ?? [])) return;
  const { apiVersion, kind: type, metadata } = role;
  // Without rules to copy, the controller applies no `rules` field, so that rules of other writers remain.
  const applied = { apiVersion, kind: type, metadata: { name: metadata.name }, ...(rules.length > 0 && { rules }) };
  const body = Buffer.from(JSON.stringify(applied));
  applyObject(api, toTarget(clusterRoleKind, role), { body, fieldValidation: 'Ignore', force: true }, WRITER);
}

function listRoles({ store }: Api): readonly ClusterRole[] {
  return store.list(RESOURCE);
}

/** Returns the rules of all selected roles in the order of their names, each rule once. */
function collectRules(role: ClusterRole, roles: readonly ClusterRole[]): readonly unknown[] {
  const selectors = (role.aggregationRule?.clusterRoleSelectors ?? []).map(toLabelSelector);
  const selected = roles.filter((other) => other !== role && selectors.some((selector) => matchesLabels(selector, other.metadata.labels)));
  const rules: unknown[] = [];
  for (const rule of selected.flatMap((other) => other.rules ?? [])) {
    if (!rules.some((known) => isSameValue(known, rule))) rules.push(rule);
  }
  return rules;
}
