import { describe, expect, it } from '@jest/globals';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { definitions, partsOf, rulesOf, schemaOf, violations } from './custom-resource.ts';
import { type Case, clusters, managedTokens } from './custom-resource-cases.ts';
import { managedTokenSets } from './token-set-cases.ts';

describe.each([
  ['Cluster', clusters],
  ['ManagedToken', managedTokens],
  ['ManagedTokenSet', managedTokenSets],
])('%s', (kind, cases) => {
  it.each(cases.map((each) => [each.name, each] as const))('%s', (_name, each) => {
    const errors = check(each);

    if (each.rejected === undefined) expect(errors).toEqual([]);
    else expect(errors).toEqual([expect.stringContaining(each.rejected.message)]);
    if (each.rejected !== undefined) expect(errors[0]?.split(': ')[0]).toBe(each.rejected.field);
  });

  it('has a test case for every validation rule', () => {
    const { spec } = definitions.find((definition) => definition.spec.names.kind === kind) ?? {};
    const reported = cases.flatMap(check).map((error) => error.slice(error.indexOf(': ') + 2));
    const messages = spec?.versions.flatMap((version) => rulesOf(version.schema.openAPIV3Schema)).map(({ message }) => message);

    expect(reported).toEqual(expect.arrayContaining(messages ?? []));
  });
});

describe.each(definitions.map((definition) => [definition.metadata.name, definition] as const))('%s', (_name, definition) => {
  const fields = definition.spec.versions.flatMap(({ schema }) => fieldsOf(schema.openAPIV3Schema, ''));

  it('describes every field', () => {
    const undescribed = fields.filter(
      ([path, { description }]) => path !== '.metadata' && !path.endsWith('[]') && description === undefined,
    );
    expect(undescribed.map(([path]) => path)).toEqual([]);
  });

  it('has a message for every validation rule', () => {
    const rules = definition.spec.versions.flatMap(({ schema }) => rulesOf(schema.openAPIV3Schema));
    expect(rules.filter(({ message }) => message === undefined)).toEqual([]);
  });
});

function check({ object }: Case): readonly string[] {
  const schema = schemaOf(object);
  if (schema === undefined) throw new Error(`no definition of ${object.kind}`);
  return violations(schema, JSON.parse(JSON.stringify(object)));
}

function fieldsOf(schema: Schema, path: string): readonly (readonly [path: string, schema: Schema])[] {
  const named = Object.entries(schema.properties ?? {}).flatMap(([name, part]) => fieldsOf(part, `${path}.${name}`));
  const unnamed = partsOf({ ...schema, properties: {} }).flatMap((part) => fieldsOf(part, `${path}[]`));
  return [[path, schema], ...named, ...unnamed];
}
