// Checks objects against their merge types.

import { isFields } from '../../src/kubernetes/object.ts';
import { compareUtf8 } from '../../src/std/go-text.ts';
import { formatPathElement, type PathElement, toFieldElement } from './field-set.ts';
import { formatGoValue, jsonTypeOf } from './go-print.ts';
import { choosePart, findFieldType, type ListType, type MapType, type MergeType } from './merge-type.ts';
import { findEntryProblem, toEntryElement } from './owned-fields.ts';

/** Returns the problems of a value in one text, with Kubernetes' wording; undefined if there are none. */
export function formatTypeProblems(
  type: MergeType,
  value: unknown,
  options: { readonly duplicates: 'allowed' | 'rejected' },
): string | undefined {
  const problems = findProblems(type, value, options.duplicates === 'rejected').map(({ path, text }) =>
    path === '' ? text : `${path}: ${text}`,
  );
  if (problems.length <= 1) return problems[0];
  return ['errors:', ...problems.map((text) => `  ${text}`)].join('\n');
}

interface Problem {
  readonly path: string;
  readonly text: string;
}

function findProblems(type: MergeType, value: unknown, unique: boolean): readonly Problem[] {
  if (value === null) return [];
  const part = choosePart(type, value);
  if (part === 'map' && type.map) {
    return isFields(value) ? findMapProblems(type.map, value, unique) : toProblems(`expected map, got &{${formatGoValue(value)}}`);
  }
  if (part === 'list' && type.list) {
    return Array.isArray(value) ? findListProblems(type.list, value, unique) : toProblems(`expected list, got &{${formatGoValue(value)}}`);
  }
  return findScalarProblems(type.scalar ?? 'untyped', value);
}

function findScalarProblems(scalar: NonNullable<MergeType['scalar']>, value: unknown): readonly Problem[] {
  switch (scalar) {
    case 'numeric':
      return typeof value === 'number' || typeof value === 'bigint'
        ? []
        : toProblems(`expected numeric (int or float), got ${jsonTypeOf(value)}`);
    case 'string':
      return typeof value === 'string' ? [] : toProblems(`expected string, got &value.valueUnstructured{Value:${formatGoValue(value)}}`);
    case 'boolean':
      return typeof value === 'boolean' ? [] : toProblems(`expected boolean, got &{${formatGoValue(value)}}`);
    case 'untyped':
    default:
      return typeof value === 'object' ? toProblems(`expected any scalar, got &{${formatGoValue(value)}}`) : [];
  }
}

function findMapProblems(map: MapType, fields: object, unique: boolean): readonly Problem[] {
  const problems: Problem[] = [];
  for (const [name, value] of Object.entries(fields).sort(([a], [b]) => compareUtf8(a, b))) {
    const type = findFieldType(map, name);
    // Kubernetes stops at the first unknown field of a map.
    if (type === undefined) return [...problems, ...prefixPaths(toFieldElement(name), toProblems('field not declared in schema'))];
    if (value !== undefined) problems.push(...prefixPaths(toFieldElement(name), findProblems(type, value, unique)));
  }
  return problems;
}

function findListProblems(list: ListType, entries: readonly unknown[], unique: boolean): readonly Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<PathElement>();
  for (const [index, entry] of entries.entries()) {
    const keyProblem = list.atomic ? undefined : findEntryProblem(list, entry);
    if (keyProblem !== undefined) return [...problems, ...toProblems(`element ${index}: ${keyProblem}`)];
    const element = list.atomic ? `i:${index}` : toEntryElement(list, entry);
    if (unique && seen.has(element)) problems.push(...toProblems(`duplicate entries for key ${formatPathElement(element)}`));
    seen.add(element);
    problems.push(...prefixPaths(element, findProblems(list.items(), entry, unique)));
  }
  return problems;
}

function toProblems(text: string): readonly Problem[] {
  return [{ path: '', text }];
}

function prefixPaths(element: PathElement, problems: readonly Problem[]): readonly Problem[] {
  return problems.map(({ path, text }) => ({ path: formatPathElement(element) + path, text }));
}
