// OpenAPI v3: an index, and one document for each group and version. Clients cache documents by their hash. The OpenAPI v2 document is
// empty: kubectl reads it only to validate a manifest of kind List, and accepts all objects of kinds that the document does not contain.

import { createHash } from 'node:crypto';
import type { Reply } from '../../src/kubernetes/reply.ts';
import { OBJECT_META } from '../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { parseAccept } from '../../src/kubernetes/wire/accept.ts';
import { compareUtf8, encodeGoStructJson } from '../../src/std/go-text.ts';
import type { Kind } from '../kinds/kind.ts';

const ROOT = '/openapi/v3';
const VERSION_2 = '/openapi/v2';

export interface DocumentRequest {
  /** Percent-decoded path, such as `/openapi/v3/api/v1`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/** Returns the response for an OpenAPI path; undefined for other paths. */
export function serveOpenApi(request: DocumentRequest, kinds: readonly Kind[]): Reply | undefined {
  const { path } = request;
  if (path === VERSION_2) return serveOpenApi2(request);
  if (path !== ROOT && !path.startsWith(`${ROOT}/`)) return undefined;
  const documents = getDocuments(kinds);
  if (path === ROOT) return serveIndex(documents);
  const document = documents.get(path.slice(ROOT.length + 1));
  return document === undefined ? { status: 404, headers: {}, body: '' } : serveDocument(request, document);
}

const VERSION_2_PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
/** `{"swagger":"2.0"}` in protobuf. */
const VERSION_2_BYTES = '\n\u00032.0';

function serveOpenApi2({ accept = '' }: DocumentRequest): Reply {
  const requested = parseAccept(accept).map(({ type, subtype }) => `${type}/${subtype}`);
  // kubectl requests the type with an @, but rejects a response of that type.
  if (requested.some((type) => type.replace('@', '.') === VERSION_2_PROTOBUF))
    return { status: 200, headers: { 'content-type': VERSION_2_PROTOBUF, vary: 'Accept' }, body: VERSION_2_BYTES };
  return { status: 406, headers: { vary: 'Accept' }, body: '' };
}

interface Document {
  readonly body: string;
  readonly hash: string;
}

const documentCache = new WeakMap<readonly Kind[], ReadonlyMap<string, Document>>();

/** Returns the documents by path, such as `apis/coordination.k8s.io/v1`; generates them once for each array of kinds. */
function getDocuments(kinds: readonly Kind[]): ReadonlyMap<string, Document> {
  const known = documentCache.get(kinds);
  if (known !== undefined) return known;
  const byPath = Map.groupBy(kinds, ({ group, version }) => (group === '' ? `api/${version}` : `apis/${group}/${version}`));
  const documents = new Map(
    [...byPath]
      .sort(([a], [b]) => compareUtf8(a, b))
      .map(([path, members]) => {
        const body = encodeGoStructJson(createOpenApiDocument(members));
        return [path, { body, hash: createHash('sha512').update(body).digest('hex').toUpperCase() }];
      }),
  );
  documentCache.set(kinds, documents);
  return documents;
}

function serveIndex(documents: ReadonlyMap<string, Document>): Reply {
  const paths = Object.fromEntries([...documents].map(([path, { hash }]) => [path, { serverRelativeURL: `${ROOT}/${path}?hash=${hash}` }]));
  // kube-apiserver sends the content type that Go detects, and Go does not detect JSON.
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: encodeGoStructJson({ paths }) };
}

function serveDocument({ query, accept, ifNoneMatch }: DocumentRequest, { body, hash }: Document): Reply {
  const vary = { vary: 'Accept' };
  if (!acceptsJson(accept)) return { status: 406, headers: vary, body: '' };
  const headers = { 'content-type': 'application/json', etag: `"${hash}"`, ...vary };
  const caching = query.get('hash') === hash ? { 'cache-control': 'public, immutable' } : {};
  if (ifNoneMatch === headers.etag) return { status: 304, headers: { etag: headers.etag, ...vary, ...caching }, body: '' };
  return { status: 200, headers: { ...headers, ...caching }, body };
}

function acceptsJson(accept = ''): boolean {
  const clauses = parseAccept(accept);
  return clauses.length === 0 || clauses.some(({ type, subtype }) => /^(application|\*)\/(json|\*)$/.test(`${type}/${subtype}`));
}

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/** Generates the document of one group and version. */
function createOpenApiDocument(kinds: readonly Kind[]): object {
  const parts = kinds.map(toOpenApi);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'unversioned' },
    paths: toSortedObject(parts.flatMap(({ paths }) => Object.entries(paths))),
    components: { schemas: toSortedObject(parts.flatMap(({ schemas }) => Object.entries(schemas))) },
  };
}

interface OpenApi {
  readonly paths: Readonly<Record<string, object>>;
  readonly schemas: Readonly<Record<string, object>>;
}

/** Returns the paths of a kind, its schema, and the schemas that it references. */
function toOpenApi(kind: Kind): OpenApi {
  const { group, version, kind: name } = kind;
  const prefix = `${(group === '' ? 'core.api.k8s.io' : group).split('.').reverse().join('.')}.${version}`;
  const schemas = new Map<string, object>();
  const metadata = `${META}.ObjectMeta`;
  schemas.set(metadata, toPublishedSchema(OBJECT_META, { prefix: META, metadata, schemas }));
  const published = toPublishedSchema(kind.schema, { prefix, metadata, schemas });
  schemas.set(`${prefix}.${name}`, { ...published, 'x-kubernetes-group-version-kind': [{ group, version, kind: name }] });
  return { paths: toPaths(kind), schemas: Object.fromEntries(schemas) };
}

function toSortedObject(entries: readonly (readonly [string, object])[]): Readonly<Record<string, object>> {
  return Object.fromEntries([...entries].sort(([a], [b]) => compareUtf8(a, b)));
}

/**
 * Returns the paths that kubectl reads for a kind: the list path, in which `kubectl explain` finds the kind of a resource, and the object
 * path, in which `kubectl apply` finds the supported patches and query parameters.
 */
function toPaths({ group, version, kind, plural, namespaced, builtIn }: Kind): Readonly<Record<string, object>> {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const common = { 'x-kubernetes-group-version-kind': { group, version, kind }, responses: { '200': { description: 'OK' } } };
  const patchTypes = ['apply-patch+yaml', 'json-patch+json', 'merge-patch+json', ...(builtIn ? ['strategic-merge-patch+json'] : [])];
  const content = Object.fromEntries(patchTypes.map((type) => [`application/${type}`, {}]));
  const parameters = ['dryRun', 'fieldManager', 'fieldValidation', 'force'].map((name) => ({
    name,
    in: 'query',
    schema: { type: 'string' },
  }));
  return {
    [`${root}/${plural}`]: { get: common },
    [`${root}/${namespaced ? 'namespaces/{namespace}/' : ''}${plural}/{name}`]: {
      patch: { ...common, parameters, requestBody: { content } },
    },
  };
}

/** Schemas that published schemas reference by name, and the rules for their names. */
interface Components {
  /** Prefix of struct names. */
  readonly prefix: string;
  /** Name of the metadata schema. */
  readonly metadata: string;
  readonly schemas: Map<string, object>;
}

/** Returns the published form of a schema; adds the structs that it references to the components. */
function toPublishedSchema({ go, ...schema }: Schema, components: Components): object {
  const { properties, items, additionalProperties: values, ...rest } = schema;
  if (go?.codec !== undefined) return { ...CODECS[go.codec], ...pickDescription(schema) };
  return {
    ...rest,
    ...(properties !== undefined && toPublishedFields(properties, components)),
    ...(items !== undefined && { items: toReferenceOrSchema(items, components) }),
    ...(values !== undefined && { additionalProperties: typeof values === 'object' ? toReferenceOrSchema(values, components) : values }),
  };
}

function toPublishedFields(properties: NonNullable<Schema['properties']>, components: Components): object {
  const fields = Object.entries(properties).map(([key, property]) => [key, toReferenceOrSchema(property, components)] as const);
  // A string field is required if Go encodes it even when it is empty.
  const required = Object.keys(properties).filter((key) => properties[key]?.go?.zero === '');
  return { properties: Object.fromEntries(fields), ...(required.length > 0 && { required }) };
}

const CODECS: Readonly<Record<string, object>> = {
  time: { type: 'string', format: 'date-time' },
  microTime: { type: 'string', format: 'date-time' },
  bytes: { type: 'string', format: 'byte' },
  raw: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  fieldsV1: { type: 'object' },
};

function pickDescription({ description }: { readonly description?: string | undefined }): object {
  return description === undefined ? {} : { description };
}

/** Returns a reference for a named struct, and the published form of any other schema. */
function toReferenceOrSchema(schema: Schema, components: Components): object {
  const { struct } = schema.go ?? {};
  if (struct === undefined) return toPublishedSchema(schema, components);
  const name = struct === 'ObjectMeta' ? components.metadata : `${components.prefix}.${struct}`;
  if (struct !== 'ObjectMeta' && !components.schemas.has(name)) {
    components.schemas.set(name, {});
    // The description of a field does not describe the struct.
    const { description: _, ...own } = schema;
    components.schemas.set(name, toPublishedSchema(own, components));
  }
  return { ...pickDescription(schema), allOf: [{ $ref: `#/components/schemas/${name}` }] };
}
