// Which field of a struct has which number in protobuf.

import type { Schema } from '../schema/schema.ts';

export interface NumberedField {
  /** As JSON has it. Absent for an embedded struct, whose fields count as those of its holder. */
  readonly name?: string;
  /** As Go has it, for errors. */
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

function* numbered({ properties = {}, go }: Schema): Generator<[number, NumberedField]> {
  const { numbers = {}, embedded } = go ?? {};
  const given = new Set(Object.values(numbers));
  const outer = Object.keys(properties).filter((name) => !isField(embedded, name));
  let last = 0;
  const next = (): number => {
    do last++;
    while (given.has(last));
    return last;
  };
  for (const [name, schema] of Object.entries(properties)) {
    if (outer.includes(name)) {
      const number = numbers[name] ?? next();
      if (number > 0) yield [number, { name, goName: goName(name), schema }];
    } else if (embedded !== undefined && name === Object.keys(embedded.properties ?? {})[0]) {
      yield [next(), { goName: embedded.go?.struct ?? '', schema: embedded }];
    }
  }
}

function isField(schema: Schema | undefined, name: string): boolean {
  return schema?.properties !== undefined && Object.hasOwn(schema.properties, name);
}

const INITIALISM = /^(api|ca|dns|id|ip|json|os|qos|tty|uid|url)(?![a-z])/;

/** The name of a field in Go, as far as it follows from that in JSON. */
function goName(name: string): string {
  if (name === 'metadata') return 'ObjectMeta';
  return name.replace(INITIALISM, (word) => word.toUpperCase()).replace(/^\$?(.)/, (_, first: string) => first.toUpperCase());
}
