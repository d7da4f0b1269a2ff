// Steps in the life of an object that all kinds share.

import { qualifiedNameProblems } from '../../src/kubernetes/names.ts';
import type { KubeObject, OwnerReference } from '../../src/kubernetes/object.ts';
import { compareUtf8, goQuote } from '../../src/std/go-text.ts';
import { sameValue } from '../same-value.ts';

/** Carries over what no update may change: generation, uid if none is given, and the times of creation and deletion. Nothing links to itself any more. */
export function keepSystemMetadata(next: KubeObject, old: KubeObject): KubeObject {
  const { generation: _, selfLink: __, ...metadata } = next.metadata;
  const kept = old.metadata;
  return {
    ...next,
    metadata: {
      ...metadata,
      ...(kept.generation !== undefined && { generation: kept.generation }),
      ...(metadata.uid === undefined && kept.uid !== undefined && { uid: kept.uid }),
      ...(kept.creationTimestamp !== undefined && { creationTimestamp: kept.creationTimestamp }),
      ...(kept.deletionTimestamp !== undefined && { deletionTimestamp: kept.deletionTimestamp }),
      ...(kept.deletionGracePeriodSeconds !== undefined &&
        metadata.deletionGracePeriodSeconds === undefined && { deletionGracePeriodSeconds: kept.deletionGracePeriodSeconds }),
    },
  };
}

/** Counts the generation up when anything outside the metadata has changed; carry over a status that cannot change first. */
export function withCountedGeneration(next: KubeObject, old: KubeObject): KubeObject {
  const { metadata: nextMetadata, ...nextRest } = next;
  const { metadata: oldMetadata, ...oldRest } = old;
  if (sameValue(nextRest, oldRest)) return next;
  return { ...next, metadata: { ...nextMetadata, generation: (oldMetadata.generation ?? 0) + 1 } };
}

const STANDARD_FINALIZERS: ReadonlySet<string> = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

/** Whether a finalizer is one of Kubernetes' own or carries the domain of its owner. */
export function isQualifiedFinalizer(name: string): boolean {
  return name.includes('/') || STANDARD_FINALIZERS.has(name);
}

/** What a custom resource's writer is told about the finalizers that it adds. */
export function finalizerWarnings(next: KubeObject, old?: KubeObject): readonly string[] {
  const known = new Set(old?.metadata.finalizers);
  const added = [...new Set(next.metadata.finalizers)].filter((name) => !known.has(name)).sort(compareUtf8);
  return added.flatMap((name) => {
    const subject = `metadata.finalizers: ${goQuote(name)}`;
    const path = name.includes('.') ? ' including a path (/)' : '';
    return [
      ...qualifiedNameProblems(name).map((problem) => `${subject}: ${problem}`),
      ...(isQualifiedFinalizer(name)
        ? []
        : [`${subject}: prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`]),
    ];
  });
}

/** Drops owners that are named twice in the same words, and says so; patches are looked at later and told in other words. */
export function deduplicateOwners(
  object: KubeObject,
  verb: 'create' | 'update' | 'patch',
): { object: KubeObject; warnings: readonly string[] } {
  const owners = object.metadata.ownerReferences ?? [];
  const isRepeated = (owner: OwnerReference, index: number) => owners.slice(0, index).some((earlier) => sameValue(earlier, owner));
  const duplicates = owners.filter(isRepeated);
  if (duplicates.length === 0) return { object, warnings: [] };
  const distinct = owners.filter((owner, index) => !isRepeated(owner, index));
  const when = verb === 'patch' ? ' after mutating admission happens' : '';
  const uids = duplicates.map((owner) => owner.uid).join(', ');
  return {
    object: { ...object, metadata: { ...object.metadata, ownerReferences: distinct } },
    warnings: [
      `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids}`,
    ],
  };
}
