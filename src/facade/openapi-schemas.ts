// Schemas that several endpoints share in the façade's OpenAPI document, and the conversion of Go declarations to OpenAPI.

import type { Schema } from '../kubernetes/schema/schema.ts';
import { STATUS_REASONS } from '../kubernetes/status.ts';

/** A schema in the form of OpenAPI 3.0. */
export interface OpenApiSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly example?: string;
  readonly nullable?: boolean;
  readonly enum?: readonly (string | number | null)[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly additionalProperties?: OpenApiSchema | false;
  readonly items?: OpenApiSchema;
  readonly oneOf?: readonly OpenApiSchema[];
  readonly not?: OpenApiSchema;
}

/** Properties of an object by name. */
export type Properties = Readonly<Record<string, OpenApiSchema>>;

/** Returns the schema of a response object with exactly these properties; all are required except the optional ones. */
export function describeObject(description: string, properties: Properties, optional: readonly string[] = []): OpenApiSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', description, ...(required.length > 0 && { required }), properties, additionalProperties: false };
}

/** Returns the schema of a string. */
export function describeText(description: string): OpenApiSchema {
  return { type: 'string', description };
}

/** Returns the schema of a string with one of these values. */
export function describeEnum(description: string, values: readonly string[]): OpenApiSchema {
  return { type: 'string', description, enum: values };
}

/** Returns a reference to a schema of the document. */
export function createRef(name: string): OpenApiSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** Returns the schema of JSON that Go decodes into a type: any field may be absent or null, and unknown fields are allowed. */
export function toRequestSchema(schema: Schema): OpenApiSchema {
  const { type, format, properties, items, additionalProperties: values, go } = schema;
  if (go?.codec === 'fieldsV1') return {};
  return {
    ...(type !== undefined && { type }),
    ...(format !== undefined && { format }),
    nullable: true,
    ...(properties && { properties: mapValues(properties, toRequestSchema) }),
    ...(items && { items: toRequestSchema(items) }),
    ...(typeof values === 'object' && { additionalProperties: toRequestSchema(values) }),
  };
}

/** Returns the schema of the JSON that Go encodes from a type. Fields with omitempty are optional. */
export function toResponseSchema(schema: Schema): OpenApiSchema {
  const { type, format, properties, items, additionalProperties: values, go } = schema;
  if (go?.codec === 'fieldsV1') return {};
  const required = Object.entries(properties ?? {}).filter(([, { go: field }]) => field?.zero !== undefined);
  return {
    ...(type !== undefined && { type }),
    ...(format !== undefined && { format }),
    ...(go?.zero === null && { nullable: true }),
    ...(required.length > 0 && { required: required.map(([name]) => name) }),
    ...(properties && { properties: mapValues(properties, toResponseSchema), additionalProperties: false }),
    ...(items && { items: toResponseSchema(items) }),
    ...(typeof values === 'object' && { additionalProperties: toResponseSchema(values) }),
  };
}

/** Returns the properties that `descriptions` names, each with its description. Omits all other properties. */
export function describeProperties(properties: Properties, descriptions: Readonly<Record<string, string>>): Properties {
  return Object.fromEntries(Object.entries(descriptions).map(([name, description]) => [name, { ...properties[name], description }]));
}

function mapValues(schemas: Readonly<Record<string, Schema>>, convert: (schema: Schema) => OpenApiSchema): Properties {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, convert(schema)]));
}

/** Schema of metav1.Status. */
export const STATUS_SCHEMA = describeObject(
  'Error in the format of kube-apiserver.',
  {
    apiVersion: describeEnum('API version of the error.', ['v1']),
    kind: describeEnum('Kind of the error.', ['Status']),
    metadata: describeObject(
      'Empty, unless a continue token has expired.',
      { continue: describeText('Token that replaces the expired one, and continues the list at the latest resource version.') },
      ['continue'],
    ),
    status: describeEnum('Result of the request.', ['Failure']),
    message: describeText('Error message.'),
    reason: describeEnum(
      'Machine-readable type of the error, for example NotFound; absent for errors that Kubernetes does not classify.',
      STATUS_REASONS,
    ),
    details: describeObject(
      'Object that the error refers to, and causes of the error.',
      {
        name: describeText('Name of the object.'),
        group: describeText('API group of the object.'),
        kind: describeText('Kind or resource of the object.'),
        uid: describeText('UID of the object.'),
        causes: {
          type: 'array',
          description: 'Causes of the error, for example invalid fields.',
          items: describeObject(
            'One cause.',
            {
              reason: describeText('Machine-readable type of the cause, for example FieldValueInvalid.'),
              message: describeText('Description of the cause.'),
              field: describeText('Path of the invalid field.'),
            },
            ['reason', 'message', 'field'],
          ),
        },
        retryAfterSeconds: { type: 'integer', format: 'int32', minimum: 0, description: 'Time to wait before a retry, in seconds.' },
      },
      ['name', 'group', 'kind', 'uid', 'causes', 'retryAfterSeconds'],
    ),
    code: { type: 'integer', format: 'int32', minimum: 400, maximum: 599, description: 'HTTP status code.' },
  },
  ['reason', 'details'],
);

/** Pattern of resource versions in requests. The façade also accepts 20-digit numbers up to 2^64 - 1, which no server returns. */
export const REQUESTED_VERSION = '^0*[0-9]{0,19}$';
/** Pattern of resource versions in responses. */
export const RESOURCE_VERSION = '^[1-9][0-9]{0,18}$';
/** Pattern of a continue token: base64url without padding. */
export const CONTINUE_TOKEN = '^[A-Za-z0-9_-]*$';

/** The properties of a listed kind that appear in its schemas. */
export interface ListedKind {
  readonly kind: {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
    readonly listKind: string;
    readonly namespaced: boolean;
  };
}

/** Returns the schema of a list, which refers to the schema of its items. */
export function toListSchema({ kind: { group, version, kind, listKind, namespaced } }: ListedKind): OpenApiSchema {
  return describeObject(`One page of ${kind}s.`, {
    apiVersion: describeEnum('API version of the list.', [`${group}/${version}`]),
    kind: describeEnum('Kind of the list.', [listKind]),
    metadata: describeObject(
      'Metadata of the list.',
      {
        selfLink: describeText('Path of the list.'),
        resourceVersion: { ...describeText('Resource version of the list, from which a watch can start.'), pattern: RESOURCE_VERSION },
        continue: { ...describeText('Token for the next page; empty on the last page.'), pattern: CONTINUE_TOKEN },
        remainingItemCount: {
          type: 'integer',
          format: 'int64',
          minimum: 1,
          description: `Number of visible ${kind}s after this page; absent on the last page and with a selector.`,
        },
      },
      ['remainingItemCount'],
    ),
    items: { type: 'array', items: createRef(kind), description: `${kind}s, sorted by ${namespaced ? 'namespace and name' : 'name'}.` },
  });
}

/** Returns the schema of the events of a watch, each of which is a separate JSON document. */
export function toWatchEventSchema(listed: ListedKind): OpenApiSchema {
  const { group, version, kind } = listed.kind;
  const bookmark = describeObject(`${kind} that has only a resource version.`, {
    apiVersion: describeEnum(`API version of the ${kind}.`, [`${group}/${version}`]),
    kind: describeEnum('Kind of the object.', [kind]),
    metadata: describeObject(
      'Metadata of the bookmark.',
      {
        resourceVersion: { ...describeText('Resource version to resume from.'), pattern: RESOURCE_VERSION },
        annotations: describeObject('Present on the bookmark after the initial events.', {
          'k8s.io/initial-events-end': describeEnum('Mark of the end of the initial events.', ['true']),
        }),
      },
      ['annotations'],
    ),
  });
  return {
    description: 'One event of a watch: one line of the stream.',
    oneOf: [
      describeObject('Change to an object.', {
        type: describeEnum('Type of the change, as visible to the caller. The object of a DELETED event is in its last visible state.', [
          'ADDED',
          'MODIFIED',
          'DELETED',
        ]),
        object: createRef(kind),
      }),
      describeObject('Bookmark with a resource version to resume from.', {
        type: describeEnum('Type of the event.', ['BOOKMARK']),
        object: bookmark,
      }),
      describeObject('Last event of a watch that fails.', {
        type: describeEnum('Type of the event.', ['ERROR']),
        object: createRef('Status'),
      }),
    ],
  };
}
