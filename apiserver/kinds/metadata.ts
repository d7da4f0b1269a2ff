// ObjectMeta: validation on create and update, and the fields that only the server writes.

import { type FieldError, forbiddenValue, invalidValue, requiredValue, tooLong } from '../../src/kubernetes/field-error.ts';
import {
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelValue,
  validatePathSegment,
  validatePathSegmentPrefix,
  validateQualifiedName,
} from '../../src/kubernetes/names.ts';
import type { KubeObject, ObjectMeta, OwnerReference } from '../../src/kubernetes/object.ts';
import { compareUtf8, quoteGoString } from '../../src/std/go-text.ts';
import { isSameValue } from '../same-value.ts';

/** Returns the problems of a name, as kube-apiserver words them; `prefix` is true for a generateName. */
export type NameValidator = (name: string, prefix: boolean) => readonly string[];

/** Validates names of most kinds: DNS-1123 subdomains. */
export const validateSubdomainName: NameValidator = (name, prefix) => validateDns1123Subdomain(prefix ? withMaskedDash(name) : name);

/** Validates names of namespaces: DNS-1123 labels. */
export const validateNamespaceName: NameValidator = (name, prefix) => validateDns1123Label(prefix ? withMaskedDash(name) : name);

/** Validates names of any kind: one path segment. */
const validatePathSegmentName: NameValidator = (name, prefix) => (prefix ? validatePathSegmentPrefix(name) : validatePathSegment(name));

/** Validates names and name prefixes of roles and bindings: one path segment. */
export const validateRbacName: NameValidator = (name) => validatePathSegment(name);

/** Replaces the end of a prefix, such as `x-`, with `a`. As in kube-apiserver, some invalid prefixes therefore pass validation. */
function withMaskedDash(name: string): string {
  return name.replace(/[\p{ASCII}]-$/u, 'a');
}

export interface MetadataRules {
  readonly namespaced: boolean;
  readonly validateName: NameValidator;
}

const MAX_ANNOTATIONS_BYTES = 256 * 1024;
const IMMUTABLE_FIELD = 'field is immutable';

/** Validates the metadata of an object. The caller must first set the name of an object that has only a generateName. */
export function validateMetadata(object: KubeObject, rules: MetadataRules): readonly FieldError[] {
  const meta = object.metadata;
  return [
    ...validateNames(meta, rules.validateName),
    ...validateNamespace(meta, rules.namespaced),
    ...validateLabels(meta.labels, 'metadata.labels'),
    ...validateAnnotations(meta.annotations),
    ...validateOwners(meta.ownerReferences ?? []),
    ...validateFinalizers(meta.finalizers ?? []),
  ];
}

export function validateMetadataUpdate(next: KubeObject, old: KubeObject): readonly FieldError[] {
  const meta = next.metadata;
  return [
    ...(old.metadata.deletionTimestamp === undefined ? [] : validateNewFinalizers(meta.finalizers, old.metadata.finalizers)),
    ...validateImmutableFields(meta, old.metadata),
    ...validateLabels(meta.labels, 'metadata.labels'),
    ...validateAnnotations(meta.annotations),
    ...validateOwners(meta.ownerReferences ?? []),
  ];
}

/** Validates metadata by the rules common to all kinds. On create, callers use these errors only if the kind's own rules find none. */
export function validateCommonMetadata(object: KubeObject, namespaced: boolean): readonly FieldError[] {
  return validateMetadata(object, { namespaced, validateName: validatePathSegmentName });
}

/**
 * Validates metadata on update by the rules common to all kinds. Callers append the errors of the kind's own rules, which may repeat these
 * errors.
 */
export function validateCommonMetadataUpdate(next: KubeObject, old: KubeObject, namespaced: boolean): readonly FieldError[] {
  return [...validateCommonMetadata(next, namespaced), ...validateMetadataUpdate(next, old)];
}

/** Validates metadata, and rejects finalizers that are neither standard nor qualified. */
export function validateCoreMetadata(object: KubeObject, rules: MetadataRules): readonly FieldError[] {
  return [...validateMetadata(object, rules), ...validateCoreFinalizers(object)];
}

/** Validates a change to metadata, and rejects finalizers that are neither standard nor qualified. */
export function validateCoreMetadataUpdate(next: KubeObject, old: KubeObject): readonly FieldError[] {
  return [...validateMetadataUpdate(next, old), ...validateCoreFinalizers(next)];
}

function validateCoreFinalizers({ metadata }: KubeObject): readonly FieldError[] {
  const detail = 'name is neither a standard finalizer name nor is it fully qualified';
  return (metadata.finalizers ?? []).flatMap((name, index) =>
    isQualifiedFinalizer(name) ? [] : [invalidValue(`metadata.finalizers[${index}]`, name, detail)],
  );
}

function validateLabels(labels: Readonly<Record<string, string>> | undefined, field: string): readonly FieldError[] {
  return Object.entries(labels ?? {}).flatMap(([key, value]) => [
    ...validateQualifiedName(key).map((problem) => invalidValue(field, key, problem)),
    ...validateLabelValue(value).map((problem) => invalidValue(field, value, problem)),
  ]);
}

function validateNames({ name = '', generateName = '' }: ObjectMeta, validate: NameValidator): readonly FieldError[] {
  const ofPrefix = generateName === '' ? [] : validate(generateName, true);
  return [
    ...ofPrefix.map((problem) => invalidValue('metadata.generateName', generateName, problem)),
    ...(name === ''
      ? [requiredValue('metadata.name', 'name or generateName is required')]
      : validate(name, false).map((problem) => invalidValue('metadata.name', name, problem))),
  ];
}

function validateNamespace({ namespace = '' }: ObjectMeta, namespaced: boolean): readonly FieldError[] {
  if (!namespaced) return namespace === '' ? [] : [forbiddenValue('metadata.namespace', 'not allowed on this type')];
  if (namespace === '') return [requiredValue('metadata.namespace')];
  return validateNamespaceName(namespace, false).map((problem) => invalidValue('metadata.namespace', namespace, problem));
}

function validateAnnotations(annotations: Readonly<Record<string, string>> = {}): readonly FieldError[] {
  const field = 'metadata.annotations';
  const bytes = Object.entries(annotations).reduce((sum, entry) => sum + Buffer.byteLength(entry[0]) + Buffer.byteLength(entry[1]), 0);
  return [
    ...Object.keys(annotations).flatMap((key) =>
      validateQualifiedName(key.toLowerCase()).map((problem) => invalidValue(field, key, problem)),
    ),
    ...(bytes > MAX_ANNOTATIONS_BYTES ? [tooLong(field, MAX_ANNOTATIONS_BYTES)] : []),
  ];
}

function validateOwners(owners: readonly Partial<OwnerReference>[]): readonly FieldError[] {
  const field = 'metadata.ownerReferences';
  return owners.flatMap(({ apiVersion = '', kind = '', name = '', uid = '' }) => [
    ...(/^([^/]+\/)?[^/]+$/.test(apiVersion) ? [] : [invalidValue(`${field}.apiVersion`, apiVersion, 'version must not be empty')]),
    ...Object.entries({ kind, name, uid }).flatMap(([part, value]) =>
      value === '' ? [invalidValue(`${field}.${part}`, '', 'must not be empty')] : [],
    ),
  ]);
}

function validateFinalizers(finalizers: readonly string[]): readonly FieldError[] {
  return finalizers.flatMap((name) => validateQualifiedName(name).map((problem) => invalidValue('metadata.finalizers', name, problem)));
}

function validateNewFinalizers(next: readonly string[] = [], old: readonly string[] = []): readonly FieldError[] {
  const added = [...new Set(next)].filter((name) => !old.includes(name)).sort(compareUtf8);
  if (added.length === 0) return [];
  const list = `[]string{${added.map(quoteGoString).join(', ')}}`;
  return [
    forbiddenValue('metadata.finalizers', `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`),
  ];
}

function validateImmutableFields(next: ObjectMeta, old: ObjectMeta): readonly FieldError[] {
  const changed = (field: keyof ObjectMeta, empty: '' | null) =>
    (next[field] ?? empty) === (old[field] ?? empty) ? [] : [invalidValue(`metadata.${field}`, next[field] ?? empty, IMMUTABLE_FIELD)];
  return [
    ...changed('name', ''),
    ...changed('namespace', ''),
    ...changed('uid', ''),
    ...changed('creationTimestamp', null),
    ...changed('deletionTimestamp', null),
    ...changed('deletionGracePeriodSeconds', null),
  ];
}

/** Returns `next` with the metadata of `old` that only the server writes, such as the generation and the times of creation and deletion. */
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

/** Returns `next`, with an incremented generation if a field outside the metadata has changed. */
export function withIncrementedGeneration(next: KubeObject, old: KubeObject): KubeObject {
  const { metadata: nextMetadata, ...nextRest } = next;
  const { metadata: oldMetadata, ...oldRest } = old;
  if (isSameValue(nextRest, oldRest)) return next;
  return { ...next, metadata: { ...nextMetadata, generation: (oldMetadata.generation ?? 0) + 1 } };
}

const STANDARD_FINALIZERS: ReadonlySet<string> = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

/** Returns true for a standard finalizer and for a finalizer with a domain. */
function isQualifiedFinalizer(name: string): boolean {
  return name.includes('/') || STANDARD_FINALIZERS.has(name);
}
