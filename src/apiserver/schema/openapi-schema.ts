// Schemas as they are published: without what only the server needs, Go structs as components of their own.

import type { Schema } from './schema.ts';

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
    ...(properties !== undefined && {
      properties: Object.fromEntries(Object.entries(properties).map(([key, property]) => [key, referred(property, components)])),
    }),
    ...(items !== undefined && { items: referred(items, components) }),
    ...(values !== undefined && { additionalProperties: typeof values === 'object' ? referred(values, components) : values }),
  };
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

function described({ description }: Schema): object {
  return description === undefined ? {} : { description };
}

/** A struct is referred to by its name; anything else is written out. */
function referred(schema: Schema, components: Components): object {
  const { struct } = schema.go ?? {};
  if (struct === undefined) return publishedSchema(schema, components);
  const name = struct === 'ObjectMeta' ? components.metadata : `${components.prefix}.${struct}`;
  if (struct !== 'ObjectMeta' && !components.schemas.has(name)) {
    components.schemas.set(name, {});
    components.schemas.set(name, publishedSchema(schema, components));
  }
  const description =
    schema.description ?? (struct === 'ObjectMeta' ? 'Name, labels and all else that objects of every kind have.' : undefined);
  return { ...(description !== undefined && { description }), allOf: [{ $ref: `#/components/schemas/${name}` }] };
}
