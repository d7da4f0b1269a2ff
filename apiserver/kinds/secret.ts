// Secrets: their types, and their content in `data` and `stringData`.

import { type FieldError, invalidValue, requiredValue, tooLong } from '../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { bool, bytes, map, named, objectStruct, pointer, text } from '../../src/kubernetes/schema/go-struct.ts';
import { AGE_COLUMN, createColumn, NAME_COLUMN, toAge } from '../../src/kubernetes/table.ts';
import { MAX_CONTENT_BYTES, validateImmutability, validateKey } from './config-map.ts';
import { createBuiltInKind, type Kind } from './kind.ts';
import { validateCoreMetadata, validateCoreMetadataUpdate, validateSubdomainName } from './metadata.ts';

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly type?: string;
}

const SCHEMA = objectStruct(
  'v1.Secret',
  {
    immutable: pointer(bool()),
    data: map(bytes()),
    stringData: map(text()),
    type: named('v1.SecretType'),
  },
  { numbers: { immutable: 5, stringData: 4 } },
);

/** Merges `stringData` into `data`, and fills in the type. */
function applyDefaults({ stringData, ...secret }: Secret): KubeObject {
  const encoded = Object.entries(stringData ?? {}).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  const data: Readonly<Record<string, string>> = { ...secret.data, ...Object.fromEntries(encoded) };
  return { ...secret, ...(encoded.length > 0 && { data }), type: secret.type || 'Opaque' };
}

function validate(object: KubeObject): readonly FieldError[] {
  const { data = {}, type = '' }: Secret = object;
  const totalBytes = Object.values(data).reduce((sum, value) => sum + Buffer.byteLength(value, 'base64'), 0);
  return [
    ...validateCoreMetadata(object, { namespaced: true, validateName: validateSubdomainName }),
    ...Object.keys(data).flatMap((key) => validateKey(key, 'data')),
    ...(totalBytes > MAX_CONTENT_BYTES ? [tooLong('data', MAX_CONTENT_BYTES)] : []),
    ...(TYPE_RULES.get(type)?.(object) ?? []),
  ];
}

const SERVICE_ACCOUNT_NAME = 'kubernetes.io/service-account.name';

/** Validation by Secret type; other types have no rules. */
const TYPE_RULES: ReadonlyMap<string, (secret: Secret) => readonly FieldError[]> = new Map([
  [
    'kubernetes.io/service-account-token',
    ({ metadata }) =>
      metadata.annotations?.[SERVICE_ACCOUNT_NAME] ? [] : [requiredValue(`metadata.annotations[${SERVICE_ACCOUNT_NAME}]`)],
  ],
  [
    'kubernetes.io/basic-auth',
    ({ data = {} }) => ('username' in data || 'password' in data ? [] : validateRequiredKeys(data, 'username', 'password')),
  ],
  ['kubernetes.io/tls', ({ data }) => validateRequiredKeys(data, 'tls.crt', 'tls.key')],
]);

function validateRequiredKeys(data: Secret['data'] = {}, ...keys: readonly string[]): readonly FieldError[] {
  return keys.filter((key) => !Object.hasOwn(data, key)).map((key) => requiredValue(`data[${key}]`));
}

function validateChange(next: Secret, old: Secret): readonly FieldError[] {
  const typeErrors = next.type === old.type ? [] : [invalidValue('type', next.type, 'field is immutable')];
  return [...typeErrors, ...validateImmutability(next, old, 'data')];
}

export const secretKind: Kind = createBuiltInKind({
  kind: 'Secret',
  namespaced: true,
  schema: SCHEMA,
  selectableFields: { type: ({ type }: Secret) => type ?? '' },
  table: {
    columns: [
      NAME_COLUMN,
      createColumn(
        'Type',
        'Used to facilitate programmatic handling of secret data. More info: https://kubernetes.io/docs/concepts/configuration/secret/#secret-types',
      ),
      createColumn(
        'Data',
        "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4",
      ),
      AGE_COLUMN,
    ],
    cells: (secret: Secret, now) => [secret.metadata.name, secret.type ?? '', Object.keys(secret.data ?? {}).length, toAge(secret, now)],
  },
  strategy: {
    applyDefaults,
    validate,
    validateUpdate: (next, old) => [...validateCoreMetadataUpdate(next, old), ...validateChange(next, old), ...validate(next)],
  },
});
