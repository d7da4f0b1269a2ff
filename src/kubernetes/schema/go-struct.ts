// Functions that declare the schemas of built-in kinds like their Go structs, and the schemas that several kinds share.

import type { GoField, Schema } from './schema.ts';

type Extra = Omit<Schema, 'go'>;

/** Options of a struct: other schema keywords, and the protobuf numbers that differ from the order of its fields. */
type StructExtra = Extra & Pick<GoField, 'numbers'>;

/** Declares a struct: fields in the order in which Go writes them. A struct held by value is written even when empty. */
export function struct(goType: string, properties: Readonly<Record<string, Schema>>, { numbers = {}, ...extra }: StructExtra = {}): Schema {
  return { type: 'object', properties, ...extra, go: { type: goType, struct: goType.slice(goType.indexOf('.') + 1), numbers } };
}

export function text(extra: Extra = {}): Schema {
  return { type: 'string', ...extra, go: { type: 'string' } };
}

/** Declares a string type with its own name, such as `v1.SecretType`. Decoding errors contain the name. */
export function named(goType: string, extra: Extra = {}): Schema {
  return { type: 'string', ...extra, go: { type: goType } };
}

export function bool(extra: Extra = {}): Schema {
  return { type: 'boolean', ...extra, go: { type: 'bool' } };
}

export function int32(extra: Extra = {}): Schema {
  return { type: 'integer', format: 'int32', ...extra, go: { type: 'int32' } };
}

export function int64(extra: Extra = {}): Schema {
  return { type: 'integer', format: 'int64', ...extra, go: { type: 'int64' } };
}

/** Declares a metav1.Time: whole seconds; written as null when empty unless it is a pointer. */
export function time(): Schema {
  return { type: 'string', format: 'date-time', go: { type: 'v1.Time', codec: 'time', zero: null } };
}

/** Declares a metav1.MicroTime: exactly six digits of fraction. */
export function microTime(): Schema {
  return { type: 'string', format: 'date-time', go: { type: 'v1.MicroTime', codec: 'microTime', zero: null } };
}

/** Declares a []byte: base64 in JSON. */
export function bytes(): Schema {
  return { type: 'string', format: 'byte', go: { type: '[]uint8', codec: 'bytes' } };
}

/** Declares a field that is kept unchanged, with any content. */
export function raw(extra: Extra = {}): Schema {
  return { ...extra, go: { type: 'runtime.RawExtension', codec: 'raw' } };
}

/** Declares a slice. Server-side apply treats the slice as atomic unless `extra` contains a list type or a patch strategy. */
export function list(items: Schema, extra: Extra = {}): Schema {
  return { type: 'array', items, ...extra, go: { type: `[]${goTypeOf(items)}` } };
}

export function map(values: Schema, extra: Extra = {}): Schema {
  return { type: 'object', additionalProperties: values, ...extra, go: { type: `map[string]${goTypeOf(values)}` } };
}

/** Declares a list whose entries are identified by `key`, for strategic merge and server-side apply. */
export function listByKey(items: Schema, key: string): Schema {
  return list(items, {
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': [key],
    'x-kubernetes-patch-strategy': 'merge',
    'x-kubernetes-patch-merge-key': key,
  });
}

/** Declares a pointer: an explicit zero value is kept, and an absent value is omitted. */
export function pointer({ go, ...schema }: Schema): Schema {
  const { zero: _, ...field } = go ?? { type: '' };
  return { ...schema, go: { ...field, pointer: true } };
}

/** Declares a field without omitempty: written as `zero` when empty. */
export function withoutOmitempty(schema: Schema, zero: NonNullable<GoField['zero']> | null): Schema {
  return { ...schema, go: { ...(schema.go ?? { type: '' }), zero } };
}

/** Protobuf numbers of metav1.TypeMeta: none, because the envelope of a message contains the type. */
export const TYPE_META_NUMBERS: NonNullable<GoField['numbers']> = { kind: 0, apiVersion: 0 };

/** Declares a top-level kind: type and metadata, then `fields`. */
export function objectStruct(goType: string, fields: Readonly<Record<string, Schema>>, { numbers, ...extra }: StructExtra = {}): Schema {
  const properties = { kind: text(), apiVersion: text(), metadata: OBJECT_META, ...fields };
  return struct(goType, properties, { ...extra, numbers: { ...TYPE_META_NUMBERS, ...numbers } });
}

/** Schema of types.UID. */
export const UID: Schema = named('types.UID');

const OWNER_REFERENCE = struct(
  'v1.OwnerReference',
  {
    apiVersion: withoutOmitempty(text(), ''),
    kind: withoutOmitempty(text(), ''),
    name: withoutOmitempty(text(), ''),
    uid: withoutOmitempty(UID, ''),
    controller: pointer(bool()),
    blockOwnerDeletion: pointer(bool()),
  },
  { 'x-kubernetes-map-type': 'atomic', numbers: { apiVersion: 5, name: 3, uid: 4, controller: 6, blockOwnerDeletion: 7 } },
);

const MANAGED_FIELDS_ENTRY = struct(
  'v1.ManagedFieldsEntry',
  {
    manager: text(),
    operation: named('v1.ManagedFieldsOperationType'),
    apiVersion: text(),
    time: pointer(time()),
    fieldsType: text(),
    fieldsV1: { type: 'object', go: { type: 'v1.FieldsV1', codec: 'fieldsV1', pointer: true } },
    subresource: text(),
  },
  { numbers: { fieldsType: 6, fieldsV1: 7, subresource: 8 } },
);

const LABEL_SELECTOR_REQUIREMENT = struct('v1.LabelSelectorRequirement', {
  key: withoutOmitempty(text(), ''),
  operator: withoutOmitempty(named('v1.LabelSelectorOperator'), ''),
  values: list(text(), { 'x-kubernetes-list-type': 'atomic' }),
});

/** Schema of metav1.LabelSelector. */
export const LABEL_SELECTOR: Schema = struct(
  'v1.LabelSelector',
  { matchLabels: map(text()), matchExpressions: list(LABEL_SELECTOR_REQUIREMENT, { 'x-kubernetes-list-type': 'atomic' }) },
  { 'x-kubernetes-map-type': 'atomic' },
);

/** Schema of metav1.ObjectMeta. */
export const OBJECT_META: Schema = struct(
  'v1.ObjectMeta',
  {
    name: text(),
    generateName: text(),
    namespace: text(),
    selfLink: text(),
    uid: UID,
    resourceVersion: text(),
    generation: int64(),
    creationTimestamp: pointer(time()),
    deletionTimestamp: pointer(time()),
    deletionGracePeriodSeconds: pointer(int64()),
    labels: map(text()),
    annotations: map(text()),
    ownerReferences: listByKey(OWNER_REFERENCE, 'uid'),
    finalizers: list(text(), { 'x-kubernetes-list-type': 'set', 'x-kubernetes-patch-strategy': 'merge' }),
    managedFields: list(MANAGED_FIELDS_ENTRY),
  },
  { numbers: { managedFields: 17 } },
);

function goTypeOf(schema: Schema): string {
  return schema.go?.type ?? 'interface {}';
}
