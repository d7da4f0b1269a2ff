// ClusterRoles with an aggregation rule hold the rules of all roles that it selects.

import { type LabelSelectorObject, labelSelectorOf, matchesLabels } from '../../domain/label-selector.ts';
import type { KubeObject } from '../object.ts';
import { sameValue } from '../same-value.ts';
import { keyOfObject } from '../storage/kind-store.ts';
import type { Api } from '../verbs/api.ts';
import { updateObject } from '../verbs/update.ts';
import { type Stop, systemWriter, targetOf } from './upkeep.ts';

const RESOURCE = 'rbac.authorization.k8s.io/clusterroles';
const WRITER = systemWriter('clusterrole-aggregation-controller');

interface ClusterRole extends KubeObject {
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelectorObject[] };
  readonly rules?: readonly unknown[];
}

export function aggregateRoles(api: Api): Stop {
  const aggregateAll = () => {
    const roles = api.store.list(RESOURCE) as readonly ClusterRole[];
    for (const role of roles) aggregate(api, role, roles);
  };
  aggregateAll();
  return api.store.subscribe(RESOURCE, aggregateAll);
}

function aggregate(api: Api, role: ClusterRole, roles: readonly ClusterRole[]): void {
  const kind = api.registry.find('rbac.authorization.k8s.io', 'v1', 'clusterroles');
  if (role.aggregationRule === undefined || kind === undefined) return;
  const rules = aggregatedRules(role, roles);
  const stored = api.store.get(RESOURCE, keyOfObject(kind, role));
  if (stored !== role || sameValue(rules, role.rules ?? [])) return;
  updateObject(api, targetOf(kind, role), { ...role, rules }, WRITER);
}

/** The rules of all selected roles in the order of their names, each rule once. */
function aggregatedRules(role: ClusterRole, roles: readonly ClusterRole[]): readonly unknown[] {
  const selectors = (role.aggregationRule?.clusterRoleSelectors ?? []).map(labelSelectorOf);
  const selected = roles.filter((other) => other !== role && selectors.some((selector) => matchesLabels(selector, other.metadata.labels)));
  const rules: unknown[] = [];
  for (const rule of selected.flatMap((other) => other.rules ?? [])) {
    if (!rules.some((known) => sameValue(known, rule))) rules.push(rule);
  }
  return rules;
}
