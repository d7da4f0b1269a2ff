// Schemas as they are published: without what only the server needs, Go structs as components of their own.

import type { Schema } from '../../../src/kubernetes/schema/schema.ts';

/** The components that published schemas refer to, as far as they are known. */
export interface Components {
  /** Stands before the names of structs. */
  readonly prefix: string;
  /** The name of the schema of all metadata. */
  readonly metadata: string;
  readonly schemas: Map<string, object>;
}

/** A schema for publication; structs below it are put into the components. */
export function publishedSchema({ go, ...schema }: Schema, components: Components): object {
  const { properties, items, additionalProperties: values, ...rest } = schema;
  if (go?.codec !== undefined) return { ...CODECS[go.codec], ...described(schema) };
  return {
    ...rest,
    ...(properties !== undefined && publishedFields(properties, components)),
    ...(items !== undefined && { items: referred(items, components) }),
    ...(values !== undefined && { additionalProperties: typeof values === 'object' ? referred(values, components) : values }),
  };
}

function publishedFields(properties: NonNullable<Schema['properties']>, components: Components): object {
  const fields = Object.entries(properties).map(([key, property]) => [key, referred(property, components)] as const);
  // Names that are written even when they are empty are not to be left out.
  const required = Object.keys(properties).filter((key) => properties[key]?.go?.zero === '');
  return { properties: Object.fromEntries(fields), ...(required.length > 0 && { required }) };
}

const CODECS: Readonly<Record<string, object>> = {
  time: { type: 'string', format: 'date-time' },
  microTime: { type: 'string', format: 'date-time' },
  bytes: { type: 'string', format: 'byte' },
  quantity: { oneOf: [{ type: 'string' }, { type: 'number' }] },
  intOrString: { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] },
  raw: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  fieldsV1: { type: 'object' },
};

function described({ description }: { readonly description?: string | undefined }): object {
  return description === undefined ? {} : { description };
}

/** A struct is referred to by its name; anything else is written out. */
function referred(schema: Schema, components: Components): object {
  const { struct } = schema.go ?? {};
  if (struct === undefined) return publishedSchema(schema, components);
  const name = struct === 'ObjectMeta' ? components.metadata : `${components.prefix}.${struct}`;
  if (struct !== 'ObjectMeta' && !components.schemas.has(name)) {
    components.schemas.set(name, {});
    // The description of one field is not that of the struct.
    const { description: _, ...own } = schema;
    components.schemas.set(name, publishedSchema(own, components));
  }
  return { ...described(schema), allOf: [{ $ref: `#/components/schemas/${name}` }] };
}
