// Steps in the life of an object that all kinds share.

import type { KubeObject } from '../../src/kubernetes/object.ts';
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

/** Reports if a finalizer is a standard one or has the domain of its owner. */
export function isQualifiedFinalizer(name: string): boolean {
  return name.includes('/') || STANDARD_FINALIZERS.has(name);
}
