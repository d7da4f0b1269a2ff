// Protobuf field numbers of structs.

import type { Schema } from '../../schema/schema.ts';

export interface NumberedField {
  /** Name in JSON. */
  readonly name: string;
  /** Name in Go, for errors. */
  readonly goName: string;
  readonly schema: Schema;
}

const NUMBERED = new WeakMap<Schema, ReadonlyMap<number, NumberedField>>();

/** The fields of a struct by number: they count up as declared, past the numbers that the declaration gives to others. */
export function numberedFields(schema: Schema): ReadonlyMap<number, NumberedField> {
  const known = NUMBERED.get(schema);
  if (known !== undefined) return known;
  const fields = new Map(numbered(schema));
  NUMBERED.set(schema, fields);
  return fields;
}

function* numbered({ properties = {}, go = { type: '' } }: Schema): Generator<[number, NumberedField]> {
  const { numbers = {} } = go;
  const free = freeNumbers(new Set(Object.values(numbers)));
  for (const [name, schema] of Object.entries(properties)) {
    yield [numbers[name] ?? free(), { name, goName: goName(name), schema }];
  }
}

function freeNumbers(given: ReadonlySet<number>): () => number {
  let last = 0;
  return () => {
    do last++;
    while (given.has(last));
    return last;
  };
}

const INITIALISM = /^(api|ca|dns|id|ip|json|os|qos|tty|uid|url)(?![a-z])/;

/** The name of a field in Go, as far as it follows from that in JSON. */
function goName(name: string): string {
  if (name === 'metadata') return 'ObjectMeta';
  return name.replace(INITIALISM, (word) => word.toUpperCase()).replace(/^\$?(.)/, (_, first: string) => first.toUpperCase());
}
