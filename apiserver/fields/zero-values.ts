// Built-in kinds are Go structs: a struct held by value and a field without omitempty are there even if nobody wrote them.

import { isFields } from '../../src/kubernetes/object.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import type { JsonObject } from '../same-value.ts';

/** `value` with what Go would write besides. Custom resources stay as they are. */
export function withZeroValues(value: unknown, schema: Schema): unknown {
  if (schema.go === undefined) return value;
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : value.map((item: unknown) => withZeroValues(item, items));
  }
  if (!isFields(value)) return value;
  if (schema.go.struct !== undefined) return withZeroFields(value, schema.properties ?? {});
  const { additionalProperties } = schema;
  if (typeof additionalProperties !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, field === undefined ? field : withZeroValues(field, additionalProperties)]),
  );
}

function withZeroFields(fields: JsonObject, properties: Readonly<Record<string, Schema>>): JsonObject {
  const declared = Object.entries(properties).map(([name, schema]) => {
    const value = fields[name] ?? zeroOf(schema);
    return [name, value === undefined ? undefined : withZeroValues(value, schema)] as const;
  });
  const all = { ...fields, ...Object.fromEntries(declared) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function zeroOf({ go }: Schema): unknown {
  if (go?.zero !== undefined) return go.zero;
  return go?.struct !== undefined && go.pointer !== true ? {} : undefined;
}
