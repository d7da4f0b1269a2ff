import { describe, expect, it } from '@jest/globals';
import { toCustomKind } from '../../kinds/custom.ts';
import { customResourceDefinitionKind } from '../../kinds/definition.ts';
import type { Kind } from '../../kinds/kind.ts';
import { builtInKinds } from '../../kinds/registry.ts';
import { sampleDefinition } from '../sample-definition.ts';
import { discover, document } from './discover.ts';

const LEASES = '/openapi/v3/apis/coordination.k8s.io/v1';

function hashOf(path: string): string {
  return String(discover(path)?.headers['etag']).replaceAll('"', '');
}

describe('serveOpenApi', () => {
  it('returns an index of documents by group and version', () => {
    const { paths } = document('/openapi/v3');
    expect(Object.keys(paths as object)).toEqual([
      'api/v1',
      'apis/coordination.k8s.io/v1',
      'apis/example.dev/v1alpha1',
      'apis/rbac.authorization.k8s.io/v1',
    ]);
    expect(paths).toMatchObject({ 'apis/coordination.k8s.io/v1': { serverRelativeURL: `${LEASES}?hash=${hashOf(LEASES)}` } });
    expect(discover('/openapi/v3')?.headers).toEqual({ 'content-type': 'text/plain; charset=utf-8' });
  });

  it('returns documents with an ETag', () => {
    expect(document(LEASES)).toMatchObject({ openapi: '3.0.0' });
    expect(discover(LEASES)?.headers).toEqual({ 'content-type': 'application/json', etag: `"${hashOf(LEASES)}"`, vary: 'Accept' });
  });

  it('allows caching of documents that are requested by hash', () => {
    expect(discover(`${LEASES}?hash=${hashOf(LEASES)}`)).toMatchObject({
      status: 200,
      headers: { 'cache-control': 'public, immutable' },
    });
  });

  it('returns the current document for an old hash, without caching', () => {
    const reply = discover(`${LEASES}?hash=OLD`);
    expect([reply?.status, reply?.headers['cache-control']]).toEqual([200, undefined]);
  });

  it('returns 304 for a known ETag', () => {
    expect(discover(LEASES, { ifNoneMatch: `"${hashOf(LEASES)}"` })).toMatchObject({ status: 304, body: '' });
  });

  it('returns 406 unless the caller accepts JSON', () => {
    expect(discover(LEASES, { accept: 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf' })?.status).toBe(406);
    expect(discover(LEASES, { accept: '*/*' })?.status).toBe(200);
  });

  it('returns 404 for an unknown document', () => {
    expect(discover('/openapi/v3/nope')).toEqual({ status: 404, headers: {}, body: '' });
  });

  it('returns an OpenAPI v2 document without kinds, in the encoding that kubectl requests', () => {
    const protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
    expect(discover('/openapi/v2', { accept: protobuf })).toMatchObject({
      status: 200,
      headers: { 'content-type': protobuf.replace('@', '.') },
      body: '\n\u00032.0',
    });
    expect(discover('/openapi/v2', { accept: 'text/html' })?.status).toBe(406);
  });
});

const spec = { type: 'object', description: 'Desired state.', properties: { size: { type: 'integer' } } } as const;
const schema = { openAPIV3Schema: { type: 'object', description: 'A widget.', properties: { spec } } } as const;
const definition = sampleDefinition({ plural: 'widgets', kind: 'Widget' }, { subresources: { status: {} }, schema });
const widgets = toCustomKind(definition);
const allKinds: readonly Kind[] = [...builtInKinds, customResourceDefinitionKind, widgets];

interface Operation {
  readonly 'x-kubernetes-group-version-kind': object;
  readonly parameters?: readonly { readonly name: string }[];
  readonly requestBody?: { readonly content: object };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
}

function documentOf({ group, version, ...kind }: Kind): Document {
  const path = group === '' ? `api/${version}` : `apis/${group}/${version}`;
  return document(`/openapi/v3/${path}`, { kinds: [{ ...kind, group, version }] }) as object as Document;
}

describe('serveOpenApi for one kind', () => {
  it('describes the patch operation with fieldValidation', () => {
    const { paths } = documentOf(widgets);
    const { patch } = paths['/apis/example.dev/v1/namespaces/{namespace}/widgets/{name}'] ?? {};
    expect(patch?.['x-kubernetes-group-version-kind']).toEqual({ group: 'example.dev', version: 'v1', kind: 'Widget' });
    expect(patch?.parameters?.map(({ name }) => name)).toContain('fieldValidation');
    expect(Object.keys(patch?.requestBody?.content ?? {})).not.toContain('application/strategic-merge-patch+json');
  });

  it('lists the paths of a kind that kubectl reads', () => {
    const { paths } = documentOf(widgets);
    expect(Object.entries(paths).map(([path, operations]) => [path, Object.keys(operations)])).toEqual([
      ['/apis/example.dev/v1/namespaces/{namespace}/widgets/{name}', ['patch']],
      ['/apis/example.dev/v1/widgets', ['get']],
    ]);
  });

  it('describes a kind with its group, version and kind', () => {
    const published = documentOf(widgets).components.schemas['dev.example.v1.Widget'];
    expect(published).toMatchObject({
      description: 'A widget.',
      properties: { spec, metadata: { allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }] } },
      'x-kubernetes-group-version-kind': [{ group: 'example.dev', version: 'v1', kind: 'Widget' }],
    });
  });

  it.each(allKinds.map((kind) => [`${kind.group}/${kind.version} ${kind.kind}`, kind] as const))(
    'publishes the schema of %s without Go annotations and with all references',
    (_, kind) => {
      const { schemas } = documentOf(kind).components;
      const text = JSON.stringify(schemas);
      const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name = '']) => name);
      expect(text).not.toContain('"go":');
      expect(Object.keys(schemas)).toEqual(expect.arrayContaining(references));
    },
  );
});
