// Metadata of Kubernetes' own kinds, which are stricter about finalizers than custom resources.

import { type FieldError, invalidValue } from '../../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { isQualifiedFinalizer } from '../lifecycle.ts';
import { type MetadataRules, validateMetadata, validateMetadataUpdate } from '../metadata.ts';

/** `validateMetadata`, and finalizers must be Kubernetes' own or name their owner's domain. */
export function validateCoreMetadata(object: KubeObject, rules: MetadataRules): readonly FieldError[] {
  return [...validateMetadata(object, rules), ...finalizerErrors(object)];
}

/** `validateMetadataUpdate` with the same demand. */
export function validateCoreMetadataUpdate(next: KubeObject, old: KubeObject): readonly FieldError[] {
  return [...validateMetadataUpdate(next, old), ...finalizerErrors(next)];
}

/** What is wrong with a finalizer that is not qualified. */
export function unqualifiedFinalizer(name: string, field: string): readonly FieldError[] {
  if (isQualifiedFinalizer(name)) return [];
  return [invalidValue(field, name, 'name is neither a standard finalizer name nor is it fully qualified')];
}

function finalizerErrors({ metadata }: KubeObject): readonly FieldError[] {
  return (metadata.finalizers ?? []).flatMap((name, index) => unqualifiedFinalizer(name, `metadata.finalizers[${index}]`));
}
