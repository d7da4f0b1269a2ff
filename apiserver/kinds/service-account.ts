// ServiceAccounts. endpoints/review.ts serves their `token` subresource.

import type { FieldError } from '../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { bool, list, listByKey, objectStruct, pointer } from '../../src/kubernetes/schema/go-struct.ts';
import { AGE_COLUMN, NAME_COLUMN, toAge } from '../../src/kubernetes/table.ts';
import { LOCAL_OBJECT_REFERENCE, OBJECT_REFERENCE } from './event.ts';
import { createBuiltInKind, type Kind } from './kind.ts';
import { validateCoreMetadata, validateCoreMetadataUpdate, validateSubdomainName } from './metadata.ts';

const SCHEMA = objectStruct('v1.ServiceAccount', {
  secrets: listByKey(OBJECT_REFERENCE, 'name'),
  imagePullSecrets: list(LOCAL_OBJECT_REFERENCE, { 'x-kubernetes-list-type': 'atomic' }),
  automountServiceAccountToken: pointer(bool()),
});

function validate(object: KubeObject): readonly FieldError[] {
  return validateCoreMetadata(object, { namespaced: true, validateName: validateSubdomainName });
}

export const serviceAccountKind: Kind = createBuiltInKind({
  kind: 'ServiceAccount',
  namespaced: true,
  shortNames: ['sa'],
  schema: SCHEMA,
  subresources: [{ name: 'token', kind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' }, verbs: ['create'] }],
  table: { columns: [NAME_COLUMN, AGE_COLUMN], cells: (object, now) => [object.metadata.name, toAge(object, now)] },
  strategy: {
    deleteReturnsObject: true,
    validate,
    validateUpdate: (next, old) => [...validateCoreMetadataUpdate(next, old), ...validate(next)],
  },
});
