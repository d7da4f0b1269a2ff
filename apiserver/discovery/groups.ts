// Groups, versions and resources in the order in which Kubernetes tells of them.

import { createHash } from 'node:crypto';
import { type ReviewKind, reviewKinds } from '../../src/kubernetes/reviews.ts';
import { compareUtf8 } from '../../src/std/go-text.ts';
import type { Kind, Subresource } from '../kinds/kind.ts';

export interface Group {
  readonly name: string;
  /** Preferred version first. */
  readonly versions: readonly GroupVersion[];
}

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly Resource[];
}

export interface Resource {
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly Subresource[];
  /** Absent for what is never stored. */
  readonly storageVersionHash?: string;
  readonly builtIn: boolean;
}

/** The groups of `kinds` and of the reviews; the core group has no name and comes first. */
export function groupsOf(kinds: readonly Kind[]): readonly Group[] {
  const resources = [
    ...kinds.map((kind) => ({ group: kind.group, version: kind.version, resource: stored(kind) })),
    ...reviewKinds.map((kind) => ({ group: kind.group, version: kind.version, resource: unstored(kind) })),
  ];
  const byGroup = Map.groupBy(resources, ({ group }) => group);
  return [...byGroup]
    .map(([name, members]) => ({
      name,
      versions: [...Map.groupBy(members, ({ version }) => version)]
        .map(([version, each]) => ({
          group: name,
          version,
          resources: each.map(({ resource }) => resource).sort((a, b) => compareUtf8(a.plural, b.plural)),
        }))
        .sort((a, b) => compareVersions(a.version, b.version)),
    }))
    .sort((a, b) => priority(a.name) - priority(b.name) || compareUtf8(a.name, b.name));
}

function stored(kind: Kind): Resource {
  return { ...kind, storageVersionHash: storageVersionHash(kind) };
}

function unstored({ plural, singular, namespaced, kind }: ReviewKind): Resource {
  return { plural, singular, namespaced, kind, verbs: ['create'], shortNames: [], categories: [], subresources: [], builtIn: true };
}

/** What tells clients that objects are stored in another version than before. */
function storageVersionHash({ group, version, kind, storageVersion }: Kind): string {
  const digest = createHash('sha256')
    .update(`${group}/${storageVersion ?? version}/${kind}`)
    .digest();
  return digest.subarray(0, 8).toString('base64');
}

/** Kubernetes' own groups come in a fixed order, before all others. */
const ORDER = [
  '',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'rbac.authorization.k8s.io',
  'apiextensions.k8s.io',
  'coordination.k8s.io',
];

function priority(group: string): number {
  const index = ORDER.indexOf(group);
  return index === -1 ? ORDER.length : index;
}

/** v10, v2, v1, v11beta2, v10beta3, v3beta1, v12alpha1, v11alpha2, foo1, foo10. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined) || compareUtf8(a, b);
  return right.stability - left.stability || right.major - left.major || right.minor - left.minor;
}

const STABILITY = ['alpha', 'beta', ''];

function parseVersion(version: string): { stability: number; major: number; minor: number } | undefined {
  const match = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(version);
  if (match === null) return undefined;
  return { stability: STABILITY.indexOf(match[2] ?? ''), major: Number(match[1]), minor: Number(match[3] ?? 0) };
}
