// A Go struct inside an error message: JSON with the fields in the order of their declaration.

import { goJson, goJsonString } from '../../std/go-text.ts';
import type { Schema } from '../schema/schema.ts';

/** The JSON of a value as Go writes one of this type. */
export function structText(value: unknown, schema: Schema): string {
  if (Array.isArray(value)) return `[${value.map((item) => structText(item, schema.items ?? {})).join(',')}]`;
  if (schema.properties === undefined || typeof value !== 'object' || value === null) return goJson(value);
  const fields: Readonly<Record<string, unknown>> = { ...value };
  const present = Object.entries(schema.properties).filter(([name]) => fields[name] !== undefined);
  return `{${present.map(([name, field]) => `${goJsonString(name)}:${structText(fields[name], field)}`).join(',')}}`;
}
