// Checks objects against their merge types.

import { isFields } from '../../src/kubernetes/object.ts';
import { compareUtf8 } from '../../src/std/go-text.ts';
import { fieldElement, formatPathElement, type PathElement } from './field-set.ts';
import { goPrint, jsonTypeName } from './go-print.ts';
import { fieldType, type ListType, type MapType, type MergeType, partFor } from './merge-type.ts';
import { entryElement, entryProblem } from './owned-fields.ts';

/** Returns all problems of a value in one text, with Kubernetes' wording; undefined if there are none. */
export function formatTypeProblems(
  type: MergeType,
  value: unknown,
  options: { readonly duplicates: 'allowed' | 'rejected' },
): string | undefined {
  const problems = problemsOf(type, value, options.duplicates === 'rejected').map(({ path, text }) =>
    path === '' ? text : `${path}: ${text}`,
  );
  if (problems.length <= 1) return problems[0];
  return ['errors:', ...problems.map((text) => `  ${text}`)].join('\n');
}

interface Problem {
  readonly path: string;
  readonly text: string;
}

function problemsOf(type: MergeType, value: unknown, unique: boolean): readonly Problem[] {
  if (value === null) return [];
  const part = partFor(type, value);
  if (part === 'map' && type.map) {
    return isFields(value) ? problemsOfMap(type.map, value, unique) : problem(`expected map, got &{${goPrint(value)}}`);
  }
  if (part === 'list' && type.list) {
    return Array.isArray(value) ? problemsOfList(type.list, value, unique) : problem(`expected list, got &{${goPrint(value)}}`);
  }
  return problemsOfScalar(type.scalar ?? 'untyped', value);
}

function problemsOfScalar(scalar: NonNullable<MergeType['scalar']>, value: unknown): readonly Problem[] {
  switch (scalar) {
    case 'numeric':
      return typeof value === 'number' || typeof value === 'bigint'
        ? []
        : problem(`expected numeric (int or float), got ${jsonTypeName(value)}`);
    case 'string':
      return typeof value === 'string' ? [] : problem(`expected string, got &value.valueUnstructured{Value:${goPrint(value)}}`);
    case 'boolean':
      return typeof value === 'boolean' ? [] : problem(`expected boolean, got &{${goPrint(value)}}`);
    case 'untyped':
    default:
      return typeof value === 'object' ? problem(`expected any scalar, got &{${goPrint(value)}}`) : [];
  }
}

function problemsOfMap(map: MapType, fields: object, unique: boolean): readonly Problem[] {
  const problems: Problem[] = [];
  for (const [name, value] of Object.entries(fields).sort(([a], [b]) => compareUtf8(a, b))) {
    const type = fieldType(map, name);
    // Kubernetes stops at the first unknown field of a map.
    if (type === undefined) return [...problems, ...below(fieldElement(name), problem('field not declared in schema'))];
    if (value !== undefined) problems.push(...below(fieldElement(name), problemsOf(type, value, unique)));
  }
  return problems;
}

function problemsOfList(list: ListType, entries: readonly unknown[], unique: boolean): readonly Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<PathElement>();
  for (const [index, entry] of entries.entries()) {
    const keyProblem = list.atomic ? undefined : entryProblem(list, entry);
    if (keyProblem !== undefined) return [...problems, ...problem(`element ${index}: ${keyProblem}`)];
    const element = list.atomic ? `i:${index}` : entryElement(list, entry);
    if (unique && seen.has(element)) problems.push(...problem(`duplicate entries for key ${formatPathElement(element)}`));
    seen.add(element);
    problems.push(...below(element, problemsOf(list.items(), entry, unique)));
  }
  return problems;
}

function problem(text: string): readonly Problem[] {
  return [{ path: '', text }];
}

function below(element: PathElement, problems: readonly Problem[]): readonly Problem[] {
  return problems.map(({ path, text }) => ({ path: formatPathElement(element) + path, text }));
}
