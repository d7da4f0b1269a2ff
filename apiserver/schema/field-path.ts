// Paths of fields as Kubernetes prints them: `spec.items[0].name`, and `spec.labels[key]` for the values of a map.

import type { Schema } from '../../src/kubernetes/schema/schema.ts';

/** Returns the path of a field: after a dot if the schema names it, in brackets if it is the key of a map. */
export function formatFieldPath(parent: string, key: string, schema: Schema): string {
  if (!Object.hasOwn(schema.properties ?? {}, key)) return `${parent}[${key}]`;
  return parent === '' ? key : `${parent}.${key}`;
}
