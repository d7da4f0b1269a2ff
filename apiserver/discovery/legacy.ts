// Discovery as one document per group and version.

import { apiVersionOf } from '../../src/kubernetes/object.ts';
import { compareUtf8 } from '../../src/std/go-text.ts';
import type { Group, GroupVersion, Resource } from './groups.ts';

/** `/api`. */
export function apiVersions(serverAddress: string): object {
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }] };
}

/** `/apis`: all groups with a name. */
export function apiGroupList(groups: readonly Group[]): object {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.filter(({ name }) => name !== '').map(apiGroupFields) };
}

/** `/apis/G`. */
export function apiGroup(group: Group): object {
  return { kind: 'APIGroup', apiVersion: 'v1', ...apiGroupFields(group) };
}

/** `/api/v1` and `/apis/G/V`. */
export function apiResourceList({ group, version, resources }: GroupVersion): object {
  const entries = resources.flatMap((resource) => [resourceEntry(resource), ...subresourceEntries(resource, group, version)]);
  return {
    kind: 'APIResourceList',
    ...(group !== '' && { apiVersion: 'v1' }),
    groupVersion: apiVersionOf({ group, version }),
    resources: entries,
  };
}

function apiGroupFields({ name, versions }: Group): object {
  const entries = versions.map(({ version }) => ({ groupVersion: apiVersionOf({ group: name, version }), version }));
  return { name, versions: entries, preferredVersion: entries[0] };
}

function resourceEntry(resource: Resource): object {
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

function subresourceEntries({ plural, namespaced, subresources }: Resource, group: string, version: string): readonly object[] {
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
