// Objects: how many fields, which must be there, and which must not.

import { type FieldError, invalidValue, requiredValue, tooMany } from '../../src/kubernetes/field-error.ts';
import type { Fields } from '../../src/kubernetes/object.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { failed, type Result } from './result.ts';

/** What is wrong with the names of an object's fields. */
export function checkFieldNames(object: Fields, schema: Schema, path: string): Result {
  const { minProperties = 0, maxProperties, required = [], properties = {}, additionalProperties } = schema;
  const errors: FieldError[] = [];
  const names = Object.keys(object);
  if (names.length < minProperties) {
    errors.push(invalidValue(path, names.length, `${path} in body should have at least ${minProperties} properties`));
  }
  if (maxProperties !== undefined && names.length > maxProperties) errors.push(tooMany(path, names.length, maxProperties));
  if (additionalProperties === false) {
    const surplus = names.filter((name) => !Object.hasOwn(properties, name));
    errors.push(...surplus.map((name) => invalidValue(path, name, `${path}.${name} in body is a forbidden property`)));
  }
  const missing = required.filter((name) => !Object.hasOwn(object, name));
  errors.push(...missing.map((name) => requiredValue(`${path}.${name}`)));
  return failed(...errors);
}
