// Defaults of a schema must themselves be valid, and must not hold what pruning would drop.

import { type FieldError, invalidValue } from '../../../src/kubernetes/field-error.ts';
import type { Value } from '../../../src/kubernetes/object.ts';
import { pruneValueAt } from '../../../src/kubernetes/schema/prune.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { sameValue } from '../../same-value.ts';
import { validateRulesAt } from '../cel/rules.ts';
import { validateSchema } from '../validate.ts';

/** What is wrong with the defaults in a schema. */
export function defaultErrors(schema: Schema, path: string): readonly FieldError[] {
  const { items, properties = {}, default: value } = schema;
  return [
    ...(value === undefined || value === null ? [] : valueErrors(value, schema, `${path}.default`)),
    ...(items === undefined ? [] : defaultErrors(items, `${path}.items`)),
    ...Object.entries(properties).flatMap(([key, property]) => defaultErrors(property, `${path}.properties[${key}]`)),
  ];
}

function valueErrors(value: Value, schema: Schema, path: string): readonly FieldError[] {
  const isPruned = sameValue(pruneValueAt(value, schema), value);
  const errors = validateSchema(value, schema, path);
  return [
    ...(isPruned ? [] : [invalidValue(path, value, 'must not have unknown fields')]),
    ...(errors.length > 0 ? errors : validateRulesAt(value, schema, path)),
  ];
}
