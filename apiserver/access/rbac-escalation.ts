// Nobody may grant what they do not hold: which of the rules in a role or binding go beyond the user's own.

import {
  groupMatches,
  type HeldRules,
  type PolicyRule,
  pathMatches,
  type RbacUser,
  type RoleRef,
  resourceMatches,
  verbMatches,
} from '../../src/kubernetes/rbac.ts';
import { aggregated } from '../../src/kubernetes/status.ts';
import { compareUtf8, goQuote } from '../../src/std/go-text.ts';

/** Why `user`, who holds `owned`, may not grant `wanted` by writing to `resource` (a plural); undefined if they may. */
export function escalation(user: RbacUser, owned: HeldRules, wanted: readonly PolicyRule[], resource: string): string | undefined {
  const missing = uncovered(owned.rules, wanted);
  if (missing.length === 0) return undefined;
  const texts = [...new Set(missing.map(ruleText))].sort(compareUtf8);
  const unresolved =
    owned.missing.length === 0 ? '' : `; resolution errors: [${aggregated(owned.missing.map((ref) => missingRoleText(ref, resource)))}]`;
  return (
    `user ${goQuote(user.name)} (groups=${quotedList(user.groups)}) is attempting to grant ` +
    `RBAC permissions not currently held:\n${texts.join('\n')}${unresolved}`
  );
}

/** Kubernetes names the resource that is written, whatever the missing role is. */
function missingRoleText({ name }: RoleRef, resource: string): string {
  return `${resource}.rbac.authorization.k8s.io ${goQuote(name)} not found`;
}

/** The parts of `wanted` that no rule of `owned` covers, one rule for each resource or path. */
export function uncovered(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] {
  return compacted(wanted.flatMap(pieces).filter((piece) => !owned.some((rule) => covers(rule, piece))));
}

/** The same permissions as rules of one verb on one resource (of one name, if named) or path. */
function pieces({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): readonly PolicyRule[] {
  const names = resourceNames.length === 0 ? [{}] : resourceNames.map((name) => ({ resourceNames: [name] }));
  return [
    ...apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) => names.map((name) => ({ apiGroups: [group], resources: [resource], verbs: [verb], ...name }))),
      ),
    ),
    ...nonResourceURLs.flatMap((path) => verbs.map((verb) => ({ nonResourceURLs: [path], verbs: [verb] }))),
  ];
}

/** Whether one rule covers a piece whole; being so small, a piece is never covered by several rules together. */
function covers(
  rule: PolicyRule,
  { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule,
): boolean {
  return (
    verbs.every((verb) => verbMatches(rule, verb)) &&
    apiGroups.every((group) => groupMatches(rule, group)) &&
    resources.every((resource) => resourceMatches(rule, resource, subresourceOf(resource))) &&
    coversNames(rule, resourceNames) &&
    nonResourceURLs.every((path) => pathMatches(rule, path))
  );
}

function subresourceOf(resource: string): string | undefined {
  const slash = resource.indexOf('/');
  return slash === -1 ? undefined : resource.slice(slash + 1);
}

function coversNames({ resourceNames: owned = [] }: PolicyRule, wanted: readonly string[]): boolean {
  return owned.length === 0 || (wanted.length > 0 && wanted.every((name) => owned.includes(name)));
}

/** Joins the verbs of pieces that are about the same resource. Paths stay as they are. */
function compacted(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const paths = rules.filter(({ nonResourceURLs }) => nonResourceURLs !== undefined);
  const byResource = Map.groupBy(
    rules.filter(({ nonResourceURLs }) => nonResourceURLs === undefined),
    ({ apiGroups, resources, resourceNames }) => JSON.stringify([apiGroups, resources, resourceNames]),
  );
  const joined = [...byResource.values()].map((same) => ({ ...same[0], verbs: same.flatMap(({ verbs }) => verbs) }));
  return [...paths, ...joined];
}

function ruleText(rule: PolicyRule): string {
  const parts = TEXT_FIELDS.map(([title, field]) => [title, rule[field] ?? []] as const);
  return `{${parts
    .filter(([, values]) => values.length > 0)
    .map(([title, values]) => `${title}:${quotedList(values)}`)
    .join(', ')}}`;
}

const TEXT_FIELDS = [
  ['APIGroups', 'apiGroups'],
  ['Resources', 'resources'],
  ['NonResourceURLs', 'nonResourceURLs'],
  ['ResourceNames', 'resourceNames'],
  ['Verbs', 'verbs'],
] as const;

function quotedList(values: readonly string[]): string {
  return `[${values.map(goQuote).join(' ')}]`;
}
