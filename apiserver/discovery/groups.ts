// Discovery documents of groups and versions, separate and aggregated.

import { createHash } from 'node:crypto';
import { apiVersionOf } from '../../src/kubernetes/object.ts';
import { type ReviewKind, reviewKinds } from '../../src/kubernetes/reviews.ts';
import { negotiateConversion, type Preferences, type Representation } from '../../src/kubernetes/wire/negotiate.ts';
import { compareUtf8 } from '../../src/std/go-text.ts';
import type { Kind, Subresource } from '../kinds/kind.ts';

export interface Group {
  readonly name: string;
  readonly versions: readonly ServedVersion[];
}

export interface ServedVersion {
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
  /** Hash of the storage version; undefined for reviews, which are not stored. */
  readonly storageVersionHash?: string;
  readonly builtIn: boolean;
}

/** Returns the groups of `kinds` and of the reviews; the core group has no name and comes first. */
export function toGroups(kinds: readonly Kind[]): readonly Group[] {
  const resources = [
    ...kinds.map((kind) => ({
      group: kind.group,
      version: kind.version,
      resource: { ...kind, storageVersionHash: hashStorageVersion(kind) },
    })),
    ...reviewKinds.map((kind) => ({ group: kind.group, version: kind.version, resource: toReviewResource(kind) })),
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
        .sort((a, b) => compareUtf8(a.version, b.version)),
    }))
    .sort((a, b) => priorityOf(a.name) - priorityOf(b.name) || compareUtf8(a.name, b.name));
}

function toReviewResource({ plural, singular, namespaced, kind }: ReviewKind): Resource {
  return { plural, singular, namespaced, kind, verbs: ['create'], shortNames: [], categories: [], subresources: [], builtIn: true };
}

/** Returns the hash that clients use to detect a change to the storage version. */
function hashStorageVersion({ group, version, kind }: Kind): string {
  // For CustomResourceDefinitions, kube-apiserver hashes the kind's first version.
  const stored = kind === 'CustomResourceDefinition' ? 'v1beta1' : version;
  return createHash('sha256').update(`${group}/${stored}/${kind}`).digest().subarray(0, 8).toString('base64');
}

/** Order of the Kubernetes groups; other groups follow. */
const GROUP_ORDER = [
  '',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'rbac.authorization.k8s.io',
  'apiextensions.k8s.io',
  'coordination.k8s.io',
];

function priorityOf(group: string): number {
  const index = GROUP_ORDER.indexOf(group);
  return index === -1 ? GROUP_ORDER.length : index;
}

/** Returns the document of `/api`. */
export function createApiVersions(serverAddress: string): object {
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }] };
}

/** Returns the document of `/apis`: all groups except the core group. */
export function createApiGroupList(groups: readonly Group[]): object {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.filter(({ name }) => name !== '').map(createApiGroupFields) };
}

/** Returns the document of `/apis/GROUP`. */
export function createApiGroup(group: Group): object {
  return { kind: 'APIGroup', apiVersion: 'v1', ...createApiGroupFields(group) };
}

/** Returns the document of `/api/v1` or `/apis/GROUP/VERSION`. */
export function createApiResourceList({ group, version, resources }: ServedVersion): object {
  const entries = resources.flatMap((resource) => [toResourceEntry(resource), ...toSubresourceEntries(resource, group, version)]);
  return {
    kind: 'APIResourceList',
    ...(group !== '' && { apiVersion: 'v1' }),
    groupVersion: apiVersionOf({ group, version }),
    resources: entries,
  };
}

function createApiGroupFields({ name, versions }: Group): object {
  const entries = versions.map(({ version }) => ({ groupVersion: apiVersionOf({ group: name, version }), version }));
  return { name, versions: entries, preferredVersion: entries[0] };
}

function toResourceEntry(resource: Resource): object {
  const { plural, singular, namespaced, kind, verbs, shortNames, categories, storageVersionHash } = resource;
  return {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
    ...(storageVersionHash !== undefined && { storageVersionHash }),
  };
}

function toSubresourceEntries({ plural, namespaced, subresources }: Resource, group: string, version: string): readonly object[] {
  const sorted = [...subresources].sort((a, b) => compareUtf8(a.name, b.name));
  return sorted.map(({ name, kind, verbs }) => ({
    name: `${plural}/${name}`,
    singularName: '',
    namespaced,
    ...((kind.group !== group || kind.version !== version) && { group: kind.group, version: kind.version }),
    kind: kind.kind,
    verbs,
  }));
}

const AGGREGATED_KIND = { group: 'apidiscovery.k8s.io', version: 'v2', kind: 'APIGroupDiscoveryList' };

/** Returns the representation of aggregated discovery if the caller accepts it, even with low priority; undefined otherwise. */
export function negotiateAggregatedDiscovery(preferences: Preferences): Representation | undefined {
  const representation = negotiateConversion(preferences, AGGREGATED_KIND);
  return (
    representation && {
      ...representation,
      contentType: `${representation.contentType};g=${AGGREGATED_KIND.group};v=${AGGREGATED_KIND.version};as=${AGGREGATED_KIND.kind}`,
    }
  );
}

/** Returns the aggregated document of `/api` (the core group) or `/apis` (other groups). */
export function createGroupDiscoveryList(groups: readonly Group[]): object {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: name === '' ? {} : { name },
      versions: versions.map((version) => ({
        version: version.version,
        resources: version.resources.map((resource) => toResourceDiscovery(resource, version)),
        freshness: 'Current',
      })),
    })),
  };
}

function toResourceDiscovery(resource: Resource, { group, version }: ServedVersion): object {
  const { plural, singular, namespaced, kind, verbs, shortNames, categories, subresources, builtIn } = resource;
  // For built-in kinds, a group and version equal to those of the document are left empty.
  const responseKind = (own: { group: string; version: string; kind: string }) =>
    builtIn && own.group === group && own.version === version ? { group: '', version: '', kind: own.kind } : own;
  const sorted = [...subresources].sort((a, b) => compareUtf8(a.name, b.name));
  return {
    resource: plural,
    responseKind: responseKind({ group, version, kind }),
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
    ...(sorted.length > 0 && {
      subresources: sorted.map((each) => ({ subresource: each.name, responseKind: responseKind(each.kind), verbs: each.verbs })),
    }),
  };
}
