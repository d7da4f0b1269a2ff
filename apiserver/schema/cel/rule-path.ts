// The fieldPath of a rule: `.a.b`, `.a['key']`; only names, no items of lists.

import { fieldPath } from '../../../src/kubernetes/schema/field-path.ts';
import { type Schema, schemaOfField } from '../../../src/kubernetes/schema/schema.ts';

/** The path as errors print it, or nothing if the rule has none or a bad one. */
export function rulePath(path: string | undefined, schema: Schema): string {
  const names = path === undefined ? undefined : namesOf(path);
  if (names === undefined) return '';
  let printed = '';
  let at: Schema | undefined = schema;
  for (const name of names) {
    const next = schemaOfField(at, name);
    if (at === undefined || next === undefined) return '';
    printed = fieldPath(printed, name, at);
    at = next;
  }
  return printed;
}

/** The names along a path; undefined if it is not one. */
export function namesOf(path: string): readonly string[] | undefined {
  const steps = [...path.matchAll(STEP)];
  if (steps.map(([step]) => step).join('') !== path) return undefined;
  return steps.map(([, dotted, quoted]) => dotted ?? (quoted ?? '').replaceAll(/\\(.)/g, '$1'));
}

const STEP = /\.([^.[\]']+)|\['((?:[^'\\]|\\.)*)'\]/g;
