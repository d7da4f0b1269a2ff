// What a namespace that is being deleted says about it: what is left in it, and who holds that.

import { type Condition, type NextCondition, withCondition } from '../../src/kubernetes/conditions.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';

/** An object in a namespace, and where such objects are stored. */
export interface Content {
  readonly resource: string;
  readonly object: KubeObject;
}

interface Namespace extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** The namespace with the conditions of its deletion; itself when they are as they were. */
export function withDeletionConditions(namespace: Namespace, content: readonly Content[], now: number): Namespace {
  const old = namespace.status?.conditions ?? [];
  const conditions = [...FINE, remaining(content), held(content)].reduce((all, next) => withCondition(all, next, now), old);
  return conditions === old ? namespace : { ...namespace, status: { ...namespace.status, conditions } };
}

type Next = NextCondition<Condition>;

/** What can fail in a cluster, and not here. */
const FINE: readonly Next[] = [
  {
    type: 'NamespaceDeletionDiscoveryFailure',
    status: 'False',
    reason: 'ResourcesDiscovered',
    message: 'All resources successfully discovered',
  },
  {
    type: 'NamespaceDeletionGroupVersionParsingFailure',
    status: 'False',
    reason: 'ParsedGroupVersions',
    message: 'All legacy kube types successfully parsed',
  },
  {
    type: 'NamespaceDeletionContentFailure',
    status: 'False',
    reason: 'ContentDeleted',
    message: 'All content successfully deleted, may be waiting on finalization',
  },
];

function remaining(content: readonly Content[]): Next {
  const type = 'NamespaceContentRemaining';
  if (content.length === 0) return { type, status: 'False', reason: 'ContentRemoved', message: 'All content successfully removed' };
  const counts = counted(content.map(({ resource }) => `${resourceAndGroup(resource)} has`));
  return { type, status: 'True', reason: 'SomeResourcesRemain', message: `Some resources are remaining: ${counts}` };
}

function held(content: readonly Content[]): Next {
  const type = 'NamespaceFinalizersRemaining';
  const finalizers = content.flatMap(({ object }) => object.metadata.finalizers ?? []);
  if (finalizers.length === 0) {
    return { type, status: 'False', reason: 'ContentHasNoFinalizers', message: 'All content-preserving finalizers finished' };
  }
  const counts = counted(finalizers.map((name) => `${name} in`));
  return {
    type,
    status: 'True',
    reason: 'SomeFinalizersRemain',
    message: `Some content in the namespace has finalizers remaining: ${counts}`,
  };
}

/** `leases.coordination.k8s.io`; the core group leaves its dot: `secrets.`. */
function resourceAndGroup(resource: string): string {
  const slash = resource.indexOf('/');
  return `${resource.slice(slash + 1)}.${resource.slice(0, Math.max(slash, 0))}`;
}

function counted(phrases: readonly string[]): string {
  const counts = [...Map.groupBy(phrases, (phrase) => phrase)].map(([phrase, { length }]) => `${phrase} ${length} resource instances`);
  return counts.sort().join(', ');
}
