// Applies the rules of a kind as the verbs do, without a server.

import { formatFieldError } from '../../../src/kubernetes/field-error.ts';
import type { KubeObject, ObjectMeta } from '../../../src/kubernetes/object.ts';
import { encodeObjectJson } from '../../../src/kubernetes/wire/encode.ts';
import type { Kind } from '../../kinds/kind.ts';

/** Fields of an object without apiVersion and kind; the default name is `x`. */
export type Fields = Readonly<Record<string, unknown>> & { readonly metadata?: ObjectMeta };

export function objectOf(kind: Kind, { metadata, ...fields }: Fields): KubeObject {
  return {
    kind: kind.kind,
    apiVersion: kind.group === '' ? kind.version : `${kind.group}/${kind.version}`,
    metadata: { name: 'x', ...(kind.namespaced && { namespace: 'team-a' }), ...metadata },
    ...fields,
  };
}

/** Returns the object that a create stores. */
export function createdObject(kind: Kind, fields: Fields): KubeObject {
  return kind.rules.prepareForCreate(kind.rules.applyDefaults(objectOf(kind, fields)));
}

/** Returns the JSON of the object that a create stores. */
export function createdText(kind: Kind, fields: Fields): string {
  return encodeObjectJson(createdObject(kind, fields), kind.schema);
}

/** Returns the validation errors of a create. */
export function createErrors(kind: Kind, fields: Fields): readonly string[] {
  return kind.rules.validate(createdObject(kind, fields)).map(formatFieldError);
}

/** Returns the object that an update from `old` to `next` stores. */
export function updatedObject(kind: Kind, next: Fields, old: Fields): KubeObject {
  return kind.rules.prepareForUpdate(kind.rules.applyDefaults(objectOf(kind, next)), createdObject(kind, old));
}

/** Returns the validation errors of an update. */
export function updateErrors(kind: Kind, next: Fields, old: Fields): readonly string[] {
  return kind.rules.validateUpdate(updatedObject(kind, next, old), createdObject(kind, old)).map(formatFieldError);
}
