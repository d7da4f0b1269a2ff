// Public fields of a kind, as an allow-list of paths. One schema documents these fields, and removes all other fields from objects.

import { type Fields, isFields } from '../../kubernetes/object.ts';
import type { OpenApiSchema, Properties } from '../openapi-schemas.ts';

/**
 * Returns a schema that allows only the fields at these paths, such as `status.conditions.type`. Throws for a path that the schema does
 * not have, or that ends at a field with properties.
 */
export function restrictSchema(schema: OpenApiSchema, paths: readonly string[]): OpenApiSchema {
  const { items, properties, required = [], ...rest } = schema;
  if (items?.properties !== undefined) return { ...schema, items: restrictSchema(items, paths) };
  const isField = paths.every((path) => path === '');
  if (isField !== (properties === undefined)) throw new Error(`each path must end at a field without properties: ${paths.join(', ')}`);
  if (properties === undefined) return schema;
  const parts = Map.groupBy(paths, (path) => path.split('.', 1)[0] as string);
  const kept = [...parts].map(([name, below]) => {
    const field = ownProperty(properties, name);
    if (field === undefined) throw new Error(`the schema has no field ${name}`);
    const restPaths = below.map((path) => path.slice(name.length + 1));
    return [name, restrictSchema(field, restPaths)] as const;
  });
  const stillRequired = required.filter((name) => parts.has(name));
  return {
    ...rest,
    ...(stillRequired.length > 0 && { required: stillRequired }),
    properties: Object.fromEntries(kept),
    additionalProperties: false,
  };
}

/** Returns the parts of a value that a schema allows, or undefined if the value has another type. */
export function pickBySchema(value: unknown, schema: OpenApiSchema): unknown {
  const { type, items = {} } = schema;
  if (type === 'object') return isFields(value) ? pickProperties(value, schema) : undefined;
  if (type === 'array') return Array.isArray(value) ? value.map((item) => pickBySchema(item, items)).filter(isDefined) : undefined;
  return typeof value === (type === 'integer' ? 'number' : type) ? value : undefined;
}

function pickProperties(value: Fields, { properties, additionalProperties: values }: OpenApiSchema): Fields {
  const findSchema = (name: string) => (properties === undefined ? values || undefined : ownProperty(properties, name));
  const picked = Object.entries(value).map(([name, field]) => {
    const schema = findSchema(name);
    return [name, schema && pickBySchema(field, schema)] as const;
  });
  return Object.fromEntries(picked.filter(([, field]) => isDefined(field))) as Fields;
}

function ownProperty(properties: Properties, name: string): OpenApiSchema | undefined {
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
}

function isDefined(value: unknown): boolean {
  return value !== undefined;
}
