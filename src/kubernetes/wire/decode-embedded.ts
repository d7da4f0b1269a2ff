// Resources inside a custom resource: type and metadata are decoded as Go structs, like those of the resource itself.

import { fieldErrorText, invalidValue } from '../field-error.ts';
import { type Fields, isFields, isList, type Value } from '../object.ts';
import { fieldPath } from '../schema/field-path.ts';
import { OBJECT_META } from '../schema/go-struct.ts';
import { type Schema, schemaOfField } from '../schema/schema.ts';
import { decodeTyped } from './decode-typed.ts';
import { messageOf } from './document.ts';
import { toNode } from './json-node.ts';

/** Returns a pruned custom resource with canonical metadata in its embedded resources. Throws an Error with Go's message. */
export function decodeEmbedded(fields: Fields, schema: Schema, path = ''): Fields {
  const decoded = Object.entries(fields).map(([key, value = null]) => {
    const below = schemaOfField(schema, key);
    const isOwn = schema['x-kubernetes-embedded-resource'] && below === undefined;
    const place = isOwn ? `${path}.${key}` : fieldPath(path, key, schema);
    const typed = schema['x-kubernetes-embedded-resource'] ? typedField(key, value, place) : value;
    return [key, valueBelow(typed, below, place)] as const;
  });
  return Object.fromEntries(decoded);
}

function valueBelow(value: Value, schema: Schema | undefined, path: string): Value {
  if (schema === undefined) return value;
  if (isList(value)) return value.map((item, index) => valueBelow(item, schema.items, `${path}[${index}]`));
  return isFields(value) ? decodeEmbedded(value, schema, path) : value;
}

function typedField(key: string, value: Value, path: string): Value {
  if ((key === 'apiVersion' || key === 'kind') && typeof value !== 'string') throw refusal(path, value, 'must be a string');
  if (key !== 'metadata') return value;
  try {
    return decodeTyped(toNode(value), OBJECT_META).value;
  } catch (error) {
    throw refusal(path, value, messageOf(error));
  }
}

function refusal(path: string, value: Value, detail: string): Error {
  return new Error(fieldErrorText(invalidValue(path, value, detail)));
}
