import { describe, expect, it } from '@jest/globals';
import { openApiDocument, openApiOf } from '../../discovery/openapi.ts';
import { customKind } from '../../kinds/custom.ts';
import { type CustomResourceDefinition, customResourceDefinitionKind } from '../../kinds/definition.ts';
import type { Kind } from '../../kinds/kind.ts';
import { builtInKinds } from '../../kinds/registry.ts';

const spec = { type: 'object', description: 'What is wanted.', properties: { size: { type: 'integer' } } } as const;
const definition: CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.dev' },
  spec: {
    group: 'example.dev',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', description: 'A widget.', properties: { spec } } },
      },
    ],
  },
};
const widgets = [customKind(definition) as Kind];
const every: readonly Kind[] = [...builtInKinds, customResourceDefinitionKind, ...widgets];

interface Operation {
  readonly 'x-kubernetes-group-version-kind': object;
  readonly parameters?: readonly { readonly name: string }[];
  readonly requestBody?: { readonly content: object };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
}

function documentOf(kinds: readonly Kind[]): Document {
  return JSON.parse(JSON.stringify(openApiDocument(kinds))) as Document;
}

describe('openApiDocument', () => {
  it('describes a patch operation with fieldValidation for kubectl', () => {
    const { paths } = documentOf(widgets);
    const { patch } = paths['/apis/example.dev/v1/namespaces/{namespace}/widgets/{name}'] ?? {};
    expect(patch?.['x-kubernetes-group-version-kind']).toEqual({ group: 'example.dev', version: 'v1', kind: 'Widget' });
    expect(patch?.parameters?.map(({ name }) => name)).toContain('fieldValidation');
    expect(Object.keys(patch?.requestBody?.content ?? {})).not.toContain('application/strategic-merge-patch+json');
  });

  it('lists all paths of a kind', () => {
    expect(Object.keys(documentOf(widgets).paths)).toEqual([
      '/apis/example.dev/v1/namespaces/{namespace}/widgets',
      '/apis/example.dev/v1/namespaces/{namespace}/widgets/{name}',
      '/apis/example.dev/v1/namespaces/{namespace}/widgets/{name}/status',
      '/apis/example.dev/v1/widgets',
    ]);
  });

  it('describes a kind under its group, version and kind', () => {
    const schema = documentOf(widgets).components.schemas['dev.example.v1.Widget'];
    expect(schema).toMatchObject({
      description: 'A widget.',
      properties: { spec, metadata: { allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }] } },
      'x-kubernetes-group-version-kind': [{ group: 'example.dev', version: 'v1', kind: 'Widget' }],
    });
  });

  it.each(every.map((kind) => [`${kind.group}/${kind.version} ${kind.kind}`, kind] as const))(
    'publishes %s without what only the server needs, and with all that it refers to',
    (_, kind) => {
      const { schemas } = openApiOf(kind);
      const text = JSON.stringify(schemas);
      const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name = '']) => name);
      expect(text).not.toContain('"go":');
      expect(Object.keys(schemas)).toEqual(expect.arrayContaining(references));
    },
  );
});
