// ObjectMeta: what Kubernetes demands of the metadata of every object, on create and on update.
// That an update names a resourceVersion is left to the verbs, which know when it may be missing.

import { type FieldError, forbiddenValue, invalidStruct, invalidValue, requiredValue, tooLong } from '../../src/kubernetes/field-error.ts';
import {
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelValueProblems,
  pathSegmentPrefixProblems,
  pathSegmentProblems,
  qualifiedNameProblems,
} from '../../src/kubernetes/names.ts';
import type { KubeObject, ObjectMeta, OwnerReference } from '../../src/kubernetes/object.ts';
import { compareUtf8, goQuote } from '../../src/std/go-text.ts';
import { isQualifiedFinalizer } from './lifecycle.ts';

/** Returns why `name` is not valid, in kube-apiserver's words; `prefix` is true for a generateName. */
export type NameProblems = (name: string, prefix: boolean) => readonly string[];

/** Names of most kinds: DNS-1123 subdomains. */
export const subdomainName: NameProblems = (name, prefix) => dns1123SubdomainProblems(prefix ? withMaskedDash(name) : name);

/** Names of namespaces: DNS-1123 labels. */
export const labelName: NameProblems = (name, prefix) => dns1123LabelProblems(prefix ? withMaskedDash(name) : name);

/** Names of any kind: one segment of a path. */
export const pathSegmentName: NameProblems = (name, prefix) => (prefix ? pathSegmentPrefixProblems(name) : pathSegmentProblems(name));

/** Names of roles and bindings: one segment of a path, prefixes included. */
export const rbacName: NameProblems = (name) => pathSegmentProblems(name);

/** Masks the dash at the end of a prefix. kube-apiserver also masks the character before it, and so accepts some bad prefixes. */
function withMaskedDash(name: string): string {
  return name.replace(/[\p{ASCII}]-$/u, 'a');
}

export interface MetadataRules {
  readonly namespaced: boolean;
  readonly nameProblems: NameProblems;
}

const MAX_ANNOTATIONS_BYTES = 256 * 1024;
const IMMUTABLE = 'field is immutable';

/** Returns the errors of an object's metadata; its name must have been generated. */
export function validateMetadata(object: KubeObject, rules: MetadataRules): readonly FieldError[] {
  const meta = object.metadata;
  return [
    ...nameErrors(meta, rules.nameProblems),
    ...namespaceErrors(meta, rules.namespaced),
    ...((meta.generation ?? 0) < 0 ? [invalidValue('metadata.generation', meta.generation, 'must be greater than or equal to 0')] : []),
    ...labelErrors(meta.labels, 'metadata.labels'),
    ...annotationErrors(meta.annotations),
    ...ownerErrors(meta.ownerReferences ?? []),
    ...finalizerErrors(meta.finalizers ?? []),
  ];
}

/** Returns the errors of a change of metadata. */
export function validateMetadataUpdate(next: KubeObject, old: KubeObject): readonly FieldError[] {
  const meta = next.metadata;
  return [
    ...(old.metadata.deletionTimestamp === undefined ? [] : newFinalizerErrors(meta.finalizers, old.metadata.finalizers)),
    ...((meta.generation ?? 0) < (old.metadata.generation ?? 0)
      ? [invalidValue('metadata.generation', meta.generation ?? 0, 'must not be decremented')]
      : []),
    ...immutableErrors(meta, old.metadata),
    ...labelErrors(meta.labels, 'metadata.labels'),
    ...annotationErrors(meta.annotations),
    ...ownerErrors(meta.ownerReferences ?? []),
  ];
}

/** Returns the checks of every create, made once those of the kind itself have found nothing. */
export function validateAnyMetadata(object: KubeObject, namespaced: boolean): readonly FieldError[] {
  return validateMetadata(object, { namespaced, nameProblems: pathSegmentName });
}

/** Returns the errors of every update, reported before those of the kind: an error of both is reported twice. */
export function validateAnyMetadataUpdate(next: KubeObject, old: KubeObject, namespaced: boolean): readonly FieldError[] {
  return [...validateAnyMetadata(next, namespaced), ...validateMetadataUpdate(next, old)];
}

/** `validateMetadata`, and finalizers must be Kubernetes' own or name their owner's domain. */
export function validateCoreMetadata(object: KubeObject, rules: MetadataRules): readonly FieldError[] {
  return [...validateMetadata(object, rules), ...coreFinalizerErrors(object)];
}

/** `validateMetadataUpdate` with the same demand. */
export function validateCoreMetadataUpdate(next: KubeObject, old: KubeObject): readonly FieldError[] {
  return [...validateMetadataUpdate(next, old), ...coreFinalizerErrors(next)];
}

/** Returns the error of a finalizer that is not qualified. */
export function unqualifiedFinalizer(name: string, field: string): readonly FieldError[] {
  if (isQualifiedFinalizer(name)) return [];
  return [invalidValue(field, name, 'name is neither a standard finalizer name nor is it fully qualified')];
}

function coreFinalizerErrors({ metadata }: KubeObject): readonly FieldError[] {
  return (metadata.finalizers ?? []).flatMap((name, index) => unqualifiedFinalizer(name, `metadata.finalizers[${index}]`));
}

/** Returns the errors of a set of labels at `field`. */
export function labelErrors(labels: Readonly<Record<string, string>> | undefined, field: string): readonly FieldError[] {
  return Object.entries(labels ?? {}).flatMap(([key, value]) => [
    ...qualifiedNameProblems(key).map((problem) => invalidValue(field, key, problem)),
    ...labelValueProblems(value).map((problem) => invalidValue(field, value, problem)),
  ]);
}

function nameErrors({ name = '', generateName = '' }: ObjectMeta, problems: NameProblems): readonly FieldError[] {
  const ofPrefix = generateName === '' ? [] : problems(generateName, true);
  return [
    ...ofPrefix.map((problem) => invalidValue('metadata.generateName', generateName, problem)),
    ...(name === ''
      ? [requiredValue('metadata.name', 'name or generateName is required')]
      : problems(name, false).map((problem) => invalidValue('metadata.name', name, problem))),
  ];
}

function namespaceErrors({ namespace = '' }: ObjectMeta, namespaced: boolean): readonly FieldError[] {
  if (!namespaced) return namespace === '' ? [] : [forbiddenValue('metadata.namespace', 'not allowed on this type')];
  if (namespace === '') return [requiredValue('metadata.namespace')];
  return labelName(namespace, false).map((problem) => invalidValue('metadata.namespace', namespace, problem));
}

function annotationErrors(annotations: Readonly<Record<string, string>> = {}): readonly FieldError[] {
  const field = 'metadata.annotations';
  const bytes = Object.entries(annotations).reduce((sum, entry) => sum + Buffer.byteLength(entry[0]) + Buffer.byteLength(entry[1]), 0);
  return [
    ...Object.keys(annotations).flatMap((key) =>
      qualifiedNameProblems(key.toLowerCase()).map((problem) => invalidValue(field, key, problem)),
    ),
    ...(bytes > MAX_ANNOTATIONS_BYTES ? [tooLong(field, MAX_ANNOTATIONS_BYTES)] : []),
  ];
}

/** An owner as it came: in objects of any kind, fields may be missing. */
type Owner = Partial<OwnerReference>;

function ownerErrors(owners: readonly Owner[]): readonly FieldError[] {
  const field = 'metadata.ownerReferences';
  const first = owners.find((owner) => owner.controller === true);
  return owners.flatMap((owner) => [
    ...ownerFieldErrors(owner, field),
    ...(owner.controller === true && first !== undefined && owner !== first
      ? [
          invalidStruct(
            field,
            owners.map(ownerStruct),
            `Only one reference can have Controller set to true. Found "true" in references for ${ownerName(first)} and ${ownerName(owner)}`,
          ),
        ]
      : []),
  ]);
}

function ownerFieldErrors(owner: Owner, field: string): readonly FieldError[] {
  const { apiVersion = '', kind = '', name = '', uid = '' } = owner;
  const slashes = apiVersion.split('/').length - 1;
  const versionless = apiVersion === '' || apiVersion === '/' || apiVersion.endsWith('/') || slashes > 1;
  return [
    ...(versionless ? [invalidValue(`${field}.apiVersion`, apiVersion, 'version must not be empty')] : []),
    ...Object.entries({ kind, name, uid }).flatMap(([part, value]) =>
      value === '' ? [invalidValue(`${field}.${part}`, '', 'must not be empty')] : [],
    ),
    ...(apiVersion === 'v1' && kind === 'Event'
      ? [invalidStruct(field, ownerStruct(owner), '/v1, Kind=Event is disallowed from being an owner')]
      : []),
  ];
}

function ownerName({ kind = '', name = '' }: Owner): string {
  return `${kind}/${name}`;
}

/** An owner with its keys in the order of metav1.OwnerReference. */
function ownerStruct({ apiVersion = '', kind = '', name = '', uid = '', controller, blockOwnerDeletion }: Owner): object {
  return { apiVersion, kind, name, uid, controller, blockOwnerDeletion };
}

function finalizerErrors(finalizers: readonly string[]): readonly FieldError[] {
  const field = 'metadata.finalizers';
  const contradict = finalizers.includes('orphan') && finalizers.includes('foregroundDeletion');
  return [
    ...finalizers.flatMap((name) => qualifiedNameProblems(name).map((problem) => invalidValue(field, name, problem))),
    ...(contradict ? [invalidValue(field, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set')] : []),
  ];
}

function newFinalizerErrors(next: readonly string[] = [], old: readonly string[] = []): readonly FieldError[] {
  const added = [...new Set(next)].filter((name) => !old.includes(name)).sort(compareUtf8);
  if (added.length === 0) return [];
  const list = `[]string{${added.map(goQuote).join(', ')}}`;
  return [
    forbiddenValue('metadata.finalizers', `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`),
  ];
}

function immutableErrors(next: ObjectMeta, old: ObjectMeta): readonly FieldError[] {
  const changed = (field: keyof ObjectMeta, empty: '' | null) =>
    (next[field] ?? empty) === (old[field] ?? empty) ? [] : [invalidValue(`metadata.${field}`, next[field] ?? empty, IMMUTABLE)];
  return [
    ...changed('name', ''),
    ...changed('namespace', ''),
    ...changed('uid', ''),
    ...changed('creationTimestamp', null),
    ...changed('deletionTimestamp', null),
    ...changed('deletionGracePeriodSeconds', null),
  ];
}
