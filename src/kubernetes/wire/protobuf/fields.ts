// Protobuf field numbers of structs.

import type { Schema } from '../../schema/schema.ts';

export interface NumberedField {
  /** Name in JSON. */
  readonly name: string;
  /** Name in Go, for errors. */
  readonly goName: string;
  readonly schema: Schema;
}

const NUMBERED_FIELDS = new WeakMap<Schema, ReadonlyMap<number, NumberedField>>();

/** Returns the fields of a struct by number. Fields without a declared number get the free numbers in declared order. */
export function numberedFieldsOf(schema: Schema): ReadonlyMap<number, NumberedField> {
  const known = NUMBERED_FIELDS.get(schema);
  if (known !== undefined) return known;
  const fields = new Map(assignNumbers(schema));
  NUMBERED_FIELDS.set(schema, fields);
  return fields;
}

function* assignNumbers({ properties = {}, go = { type: '' } }: Schema): Generator<[number, NumberedField]> {
  const { numbers = {} } = go;
  const free = createNumberSource(new Set(Object.values(numbers)));
  for (const [name, schema] of Object.entries(properties)) {
    yield [numbers[name] ?? free(), { name, goName: toGoName(name), schema }];
  }
}

function createNumberSource(given: ReadonlySet<number>): () => number {
  let last = 0;
  return () => {
    do last++;
    while (given.has(last));
    return last;
  };
}

const INITIALISM = /^(api|ca|dns|id|ip|json|os|qos|tty|uid|url)(?![a-z])/;

/** Derives the Go name of a field from its JSON name. */
function toGoName(name: string): string {
  if (name === 'metadata') return 'ObjectMeta';
  return name.replace(INITIALISM, (word) => word.toUpperCase()).replace(/^\$?(.)/, (_, first: string) => first.toUpperCase());
}
