// OpenAPI v3 of the served kinds: enough for kubectl to explain them and to leave validation to the server.

import { OBJECT_META } from '../../../src/kubernetes/schema/go-struct.ts';
import { compareUtf8 } from '../../../src/std/go-text.ts';
import type { Kind } from '../../kinds/kind.ts';
import { pathsOf } from './paths.ts';
import { publishedSchema } from './schema.ts';

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';

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
  const prefix = `${(group === '' ? 'core.api.k8s.io' : group).split('.').reverse().join('.')}.${version}`;
  const schemas = new Map<string, object>();
  const metadata = `${META}.ObjectMeta`;
  schemas.set(metadata, publishedSchema(OBJECT_META, { prefix: META, metadata, schemas }));
  const published = publishedSchema(kind.schema, { prefix, metadata, schemas });
  schemas.set(`${prefix}.${name}`, { ...published, 'x-kubernetes-group-version-kind': [{ group, version, kind: name }] });
  return { paths: pathsOf(kind, `#/components/schemas/${prefix}.${name}`), schemas: Object.fromEntries(schemas) };
}

function sorted(entries: readonly (readonly [string, object])[]): Readonly<Record<string, object>> {
  return Object.fromEntries([...entries].sort(([a], [b]) => compareUtf8(a, b)));
}
