import { describe, expect, it } from '@jest/globals';
import type { Schema } from '../../../../src/kubernetes/schema/schema.ts';
import { numberedFieldsOf } from '../../../../src/kubernetes/wire/protobuf/fields.ts';
import { PROTOBUF_KINDS, SAMPLES } from './samples.ts';

/** Returns every struct of a schema, including nested ones. */
function structsOf(schema: Schema, found: Schema[] = []): readonly Schema[] {
  const { items, additionalProperties, properties, go } = schema;
  if (properties !== undefined) {
    // A recursive struct is the same struct behind a pointer.
    if (found.some((each) => each.properties === properties && each.go?.struct === go?.struct)) return found;
    found.push(schema);
  }
  const inner = [items, additionalProperties, ...Object.values(properties ?? {})];
  for (const each of inner) if (typeof each === 'object') structsOf(each, found);
  return found;
}

/** Returns the fields with their numbers, for example `name:1`. */
function numbersOf(schema: Schema): string[] {
  return [...numberedFieldsOf(schema)].filter(([number]) => number > 0).map(([number, { name }]) => `${name}:${number}`);
}

function sortLines(numbers: readonly string[]): string {
  return [...numbers].sort().join(' ');
}

const structs = PROTOBUF_KINDS.flatMap(({ group, schema }) =>
  structsOf(schema).map((struct) => ({
    owner: group === '' ? 'core' : (group.split('.')[0] ?? ''),
    name: struct.go?.struct ?? '',
    struct,
  })),
);

describe('numberedFieldsOf', () => {
  it.each(structs.map(({ owner, name, struct }) => [`${owner}.${name}`, owner, name, struct] as const))(
    'returns the Kubernetes field numbers for %s',
    (_, owner, name, struct) => {
      const expected = [owner, 'meta', 'core'].map((each) => SAMPLES.numbers[each]?.[name]).find((each) => each !== undefined);
      expect(sortLines(numbersOf(struct))).toBe(sortLines((expected ?? 'unknown').split(' ').filter((each) => each !== '')));
    },
  );

  it('covers every struct with recorded field numbers', () => {
    const checked = new Set(structs.map(({ name }) => name));
    expect(Object.values(SAMPLES.numbers).flatMap((each) => Object.keys(each).filter((name) => !checked.has(name)))).toEqual([]);
  });
});
