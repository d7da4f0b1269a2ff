import { describe, expect, it } from '@jest/globals';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { definitions } from './custom-resource.ts';

function schemaOf(kind: string, ...path: readonly string[]): Schema {
  const { spec } = definitions.find((definition) => definition.spec.names.kind === kind)!;
  return path.reduce((schema, name) => schema.properties![name]!, spec.versions[0]!.schema.openAPIV3Schema);
}

/** Removes the parts that differ because strings accept placeholders. */
function withoutPlaceholders(schema: Schema): Schema {
  const { clusterName: _, ...properties } = schema.properties!;
  const { secret } = properties as { readonly secret: Schema };
  const { name, labels, annotations, ...others } = secret.properties!;
  const bare = ({ description: __, additionalProperties: ___, ...rest }: Schema) => rest;
  const text = { name: { type: name!.type }, labels: bare(labels!), annotations: bare(annotations!) };
  const { description: ____, required = [], ...rest } = schema;
  return {
    ...rest,
    required: required.filter((field) => field !== 'clusterName'),
    properties: { ...properties, secret: { ...secret, properties: { ...others, ...text } } },
  } as Schema;
}

describe('template of a ManagedTokenSet', () => {
  it('has the schema of a ManagedToken, apart from clusterName and strings with placeholders', () => {
    const template = withoutPlaceholders(schemaOf('ManagedTokenSet', 'spec', 'template', 'spec'));
    const token = withoutPlaceholders(schemaOf('ManagedToken', 'spec'));
    expect(template).toEqual(token);
    expect(Object.keys(template.properties ?? {})).toEqual(Object.keys(token.properties ?? {}));
  });

  it('limits the number of labels and annotations like a ManagedToken', () => {
    for (const part of ['labels', 'annotations']) {
      const maxProperties = schemaOf('ManagedToken', 'spec', 'secret', part).maxProperties;
      expect(schemaOf('ManagedTokenSet', 'spec', 'template', 'metadata', part).maxProperties).toBe(maxProperties);
    }
  });
});
