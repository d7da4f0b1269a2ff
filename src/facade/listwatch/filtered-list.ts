// The description of a filtered list: everything that is specific to one kind. The other files of this folder serve any kind.

import type { Permission } from '../../access/rbac-index.ts';
import type { ApiObject, Resource } from '../../api/resources.ts';
import { type PrinterColumn, toCustomTable } from '../../kubernetes/custom-table.ts';
import type { SelectableKind, ServedKind } from '../../kubernetes/kind.ts';
import { apiVersionOf, type Fields, type KubeObject, type ObjectMeta } from '../../kubernetes/object.ts';
import { OBJECT_META } from '../../kubernetes/schema/go-struct.ts';
import {
  describeEnum,
  describeObject,
  describeProperties,
  type OpenApiSchema,
  type Properties,
  RESOURCE_VERSION,
  toResponseSchema,
} from '../openapi-schemas.ts';

/** Definition of a list that the façade filters by RBAC: the resource, who sees its objects, and their public fields. */
export interface ListDescription<T extends ApiObject> {
  readonly resource: Resource<T>;
  /** RBAC verbs: a rule with one of them lets callers see the objects that the rule covers. A caller who may list all objects sees all. */
  readonly verbs: readonly string[];
  /**
   * Returns the name that RBAC rules use for the cluster set of an object, or undefined if the object has no set. By default, objects have
   * no sets.
   */
  readonly clusterSetNameOf?: (object: T) => string | undefined;
  /** Returns the public fields of an object besides its type and metadata: an allow-list. */
  readonly publicFields: (object: T) => Fields;
  /** OpenAPI schemas of the public fields. */
  readonly schema: PublicSchema;
  /** Table columns after the column of the name. */
  readonly columns: readonly PrinterColumn[];
  /** Public fields that field selectors can use, besides name and namespace; none by default. */
  readonly selectableFields?: SelectableKind['selectableFields'];
  /** True if annotations with the configured prefixes are public; by default, no annotation is public. */
  readonly hasAnnotations?: boolean;
  /** Returns the approximate size of the public form in memory, in bytes. */
  readonly weightOf: (object: T) => number;
  /** Name of an object in the examples of the OpenAPI document. */
  readonly exampleName: string;
}

/** OpenAPI schemas of the public fields. */
export interface PublicSchema {
  readonly description: string;
  readonly properties: Properties;
  readonly optional: readonly string[];
}

/** The public description of a list. */
export interface Listing {
  /** Plural name in lower case, for paths and messages. */
  readonly plural: string;
  readonly kind: ServedKind & SelectableKind;
  /** OpenAPI schema of the public form. */
  readonly schema: OpenApiSchema;
  /** Name of an object in the examples of the OpenAPI document. */
  readonly exampleName: string;
}

/** A filtered list of objects of the type `T` on the hub. */
export interface FilteredList<T extends ApiObject> extends Listing {
  readonly permission: Permission;
  /** Returns the name that RBAC rules use for the cluster set of an object, or undefined if the object has no set. */
  clusterSetNameOf(object: T): string | undefined;
  /** Returns the public form of an object. If annotations are public, the result includes those with one of the prefixes. */
  toPublic(object: T, annotationPrefixes?: readonly string[]): KubeObject;
  /** Returns the approximate size of the public form in memory, in bytes. */
  weightOf(object: T): number;
}

export function createFilteredList<T extends ApiObject>(description: ListDescription<T>): FilteredList<T> {
  const { resource, verbs, publicFields, columns, selectableFields = {}, hasAnnotations = false, weightOf, exampleName } = description;
  const { clusterSetNameOf = () => undefined } = description;
  const { group, version, kind, plural, namespaced } = resource;
  const apiVersion = apiVersionOf(resource);
  const metadataFields = namespaced ? ['namespace', ...METADATA] : METADATA;
  return {
    plural,
    kind: {
      group,
      version,
      kind,
      listKind: `${kind}List`,
      builtIn: false,
      schema: { type: 'object' },
      table: toCustomTable(columns),
      namespaced,
      selectableFields,
      fieldLabelErrors: 'named',
    },
    schema: createObjectSchema(description),
    permission: { verbs, group, resource: plural, namespaced },
    clusterSetNameOf,
    toPublic: (stored, prefixes) => ({
      apiVersion,
      kind,
      metadata: pickMetadata(stored.metadata, metadataFields, hasAnnotations ? prefixes : undefined),
      ...publicFields(stored),
    }),
    weightOf,
    exampleName,
  };
}

/** Returns the path of the list in one namespace, or of the list of all objects if the namespace is empty. */
export function toListPath({ plural }: Pick<Listing, 'plural'>, namespace: string): string {
  return namespace === '' ? `${ROOT}/${plural}` : `${ROOT}/namespaces/${namespace}/${plural}`;
}

const ROOT = '/auth/v1';

/** Returns the fields with these names that are defined. */
export function pickFields(fields: object, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => names.includes(name) && value !== undefined));
}

const METADATA = ['name', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'deletionTimestamp', 'labels'];

function pickMetadata(metadata: ApiObject['metadata'], names: readonly string[], annotationPrefixes: readonly string[] = []): ObjectMeta {
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) =>
    annotationPrefixes.some((prefix) => key.startsWith(prefix)),
  );
  return { ...pickFields(metadata, names), ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }) };
}

function createObjectSchema<T extends ApiObject>({ resource, schema, hasAnnotations = false }: ListDescription<T>): OpenApiSchema {
  const { kind, namespaced } = resource;
  const metadata = describeProperties(toResponseSchema(OBJECT_META).properties ?? {}, {
    name: `Name of the ${kind}.`,
    ...(namespaced && { namespace: `Namespace of the ${kind}.` }),
    uid: `UID of the ${kind}.`,
    resourceVersion: `Resource version of the ${kind}.`,
    generation: 'Sequence number of the spec; each change to the spec increases it.',
    creationTimestamp: `Time at which the ${kind} was created.`,
    deletionTimestamp: 'Time at which deletion was requested.',
    labels: `Labels of the ${kind}.`,
    ...(hasAnnotations && { annotations: 'Annotations with the prefixes in the --facade-annotations option.' }),
  });
  return describeObject(
    schema.description,
    {
      apiVersion: describeEnum(apiVersionOf(resource), [apiVersionOf(resource)]),
      kind: describeEnum(kind, [kind]),
      metadata: describeObject(
        'Public metadata.',
        { ...metadata, resourceVersion: { ...metadata['resourceVersion'], pattern: RESOURCE_VERSION } },
        OPTIONAL_METADATA,
      ),
      ...schema.properties,
    },
    schema.optional,
  );
}

const OPTIONAL_METADATA = ['deletionTimestamp', 'labels', 'annotations'];
