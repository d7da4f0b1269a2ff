// Discovery as one document for all groups (apidiscovery.k8s.io/v2), which kubectl asks for first.

import { negotiateConversion, type Preferences, type Representation } from '../../src/kubernetes/wire/negotiate.ts';
import { compareUtf8 } from '../../src/std/go-text.ts';
import type { Group, GroupVersion, Resource } from './groups.ts';

const FORM = { group: 'apidiscovery.k8s.io', version: 'v2', kind: 'APIGroupDiscoveryList' };

/** The representation of the aggregated form if the caller takes it, even if it would rather have another. */
export function aggregatedRepresentation(preferences: Preferences): Representation | undefined {
  const representation = negotiateConversion(preferences, FORM);
  return (
    representation && { ...representation, contentType: `${representation.contentType};g=${FORM.group};v=${FORM.version};as=${FORM.kind}` }
  );
}

/** The document for `/api` (the core group) or `/apis` (the others). */
export function groupDiscoveryList(groups: readonly Group[]): object {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: name === '' ? {} : { name },
      versions: versions.map((version) => ({
        version: version.version,
        resources: version.resources.map((resource) => resourceDiscovery(resource, version)),
        freshness: 'Current',
      })),
    })),
  };
}

function resourceDiscovery(resource: Resource, { group, version }: GroupVersion): object {
  const { plural, singular, namespaced, kind, verbs, shortNames, categories, subresources, builtIn } = resource;
  // Built-in kinds leave out what they share with their place in the document.
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
      subresources: sorted.map((each) => ({
        subresource: each.name,
        responseKind: responseKind(each.kind),
        verbs: each.verbs,
      })),
    }),
  };
}
