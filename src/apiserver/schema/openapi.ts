// OpenAPI v3 of the served kinds: enough for kubectl to explain them and to leave validation to the server.

import { compareUtf8 } from '../../std/go-text.ts';
import { OBJECT_META } from '../kinds/go-struct.ts';
import type { Kind } from '../kinds/kind.ts';
import { describedMetadata } from './openapi-metadata.ts';
import { pathsOf } from './openapi-paths.ts';
import { type Components, publishedSchema } from './openapi-schema.ts';

const OBJECT_META_NAME = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/** The document of one group and version. */
export function openApiDocument(kinds: readonly Kind[]): object {
  const parts = kinds.map(openApiOf);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'unversioned' },
    paths: sorted(parts.flatMap(({ paths }) => Object.entries(paths))),
    components: { schemas: sorted(parts.flatMap(({ schemas }) => Object.entries(schemas))) },
  };
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, object>>;
  readonly schemas: Readonly<Record<string, object>>;
}

/** The share of one kind: its paths, its schema, and the schemas that this one refers to. */
export function openApiOf(kind: Kind): OpenApi {
  const { group, version, kind: name } = kind;
  const prefix = (group === '' ? 'core.api.k8s.io' : group).split('.').reverse().join('.');
  const components: Components = { prefix: `${prefix}.${version}`, metadata: OBJECT_META_NAME, schemas: new Map() };
  const { metadata, ...properties } = kind.schema.properties ?? {};
  const published = publishedSchema(
    { ...kind.schema, properties: { ...properties, ...(metadata && { metadata: OBJECT_META }) } },
    components,
  );
  const own = { ...published, 'x-kubernetes-group-version-kind': [{ group, version, kind: name }] };
  const schemaName = `${components.prefix}.${name}`;
  return {
    paths: pathsOf(kind, `#/components/schemas/${schemaName}`),
    schemas: { ...Object.fromEntries(components.schemas), [OBJECT_META_NAME]: describedMetadata(components), [schemaName]: own },
  };
}

function sorted(entries: readonly (readonly [string, object])[]): Readonly<Record<string, object>> {
  return Object.fromEntries([...entries].sort(([a], [b]) => compareUtf8(a, b)));
}
