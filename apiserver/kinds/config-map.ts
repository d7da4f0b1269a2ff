// ConfigMaps.

import { type FieldError, forbiddenValue, invalidValue, tooLong } from '../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { bool, bytes, map, objectStruct, pointer, text } from '../../src/kubernetes/schema/go-struct.ts';
import { AGE_COLUMN, createColumn, NAME_COLUMN, toAge } from '../../src/kubernetes/table.ts';
import { isSameValue } from '../same-value.ts';
import { createBuiltInKind, type Kind } from './kind.ts';
import { validateCoreMetadata, validateCoreMetadataUpdate, validateSubdomainName } from './metadata.ts';

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

const SCHEMA = objectStruct(
  'v1.ConfigMap',
  { immutable: pointer(bool()), data: map(text()), binaryData: map(bytes()) },
  { numbers: { immutable: 4 } },
);

function validate(object: KubeObject): readonly FieldError[] {
  const { data = {}, binaryData = {} }: ConfigMap = object;
  const textBytes = Object.values(data).reduce((sum, value) => sum + Buffer.byteLength(value), 0);
  const totalBytes = Object.values(binaryData).reduce((sum, value) => sum + Buffer.byteLength(value, 'base64'), textBytes);
  return [
    ...validateCoreMetadata(object, { namespaced: true, validateName: validateSubdomainName }),
    ...Object.keys(data).flatMap((key) => [
      ...validateKey(key, 'data'),
      ...(Object.hasOwn(binaryData, key) ? [invalidValue(`data[${key}]`, key, 'duplicate of key present in binaryData')] : []),
    ]),
    ...Object.keys(binaryData).flatMap((key) => validateKey(key, 'binaryData')),
    ...(totalBytes > MAX_CONTENT_BYTES ? [tooLong('[]', MAX_CONTENT_BYTES)] : []),
  ];
}

export const configMapKind: Kind = createBuiltInKind({
  kind: 'ConfigMap',
  namespaced: true,
  shortNames: ['cm'],
  schema: SCHEMA,
  table: {
    columns: [
      NAME_COLUMN,
      createColumn(
        'Data',
        "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process.",
      ),
      AGE_COLUMN,
    ],
    cells: (object: ConfigMap, now) => [
      object.metadata.name,
      Object.keys(object.data ?? {}).length + Object.keys(object.binaryData ?? {}).length,
      toAge(object, now),
    ],
  },
  strategy: {
    validate,
    validateUpdate: (next, old) => [
      ...validateCoreMetadataUpdate(next, old),
      ...validateImmutability(next, old, 'data', 'binaryData'),
      ...validate(next),
    ],
  },
});

/** Maximum size of the content of a Secret or ConfigMap, in bytes. */
export const MAX_CONTENT_BYTES = 1024 * 1024;

const MAX_KEY_BYTES = 253;
const KEY = '[-._a-zA-Z0-9]+';
const KEY_PATTERN = new RegExp(`^${KEY}$`);

/** Validates a key of a ConfigMap or Secret; `field` is the map with the key, such as `data`. */
export function validateKey(key: string, field: string): readonly FieldError[] {
  return findKeyProblems(key).map((problem) => invalidValue(`${field}[${key}]`, key, problem));
}

/** Rejects changes to `fields` of an immutable object, and to `immutable` itself. */
export function validateImmutability(next: KubeObject, old: KubeObject, ...fields: readonly string[]): readonly FieldError[] {
  if (old['immutable'] !== true) return [];
  const changed = ['immutable', ...fields].filter((field) => !isSameValue(next[field], old[field]));
  return changed.map((field) => forbiddenValue(field, 'field is immutable when `immutable` is set'));
}

function findKeyProblems(key: string): readonly string[] {
  return [
    ...(Buffer.byteLength(key) > MAX_KEY_BYTES ? [`must be no more than ${MAX_KEY_BYTES} characters`] : []),
    ...(KEY_PATTERN.test(key)
      ? []
      : [
          `a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '${KEY}')`,
        ]),
    ...(key === '.' || key === '..' ? [`must not be '${key}'`] : key.startsWith('..') ? ["must not start with '..'"] : []),
  ];
}
