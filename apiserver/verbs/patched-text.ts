// A patched document as Kubernetes quotes it: it sorts the keys of what it had to open and leaves the rest as it was written.

import { isFields, isList } from '../../src/kubernetes/object.ts';
import { orderedJson } from '../../src/kubernetes/wire/ordered-json.ts';
import { compareUtf8 } from '../../src/std/go-text.ts';

/** The compact JSON of `patched`. What comes from one of `sources` unchanged keeps its order. */
export function patchedText(patched: unknown, sources: readonly unknown[]): string {
  return orderedJson(withSortedKeys(patched, new Set(sources.flatMap(containersOf))));
}

function containersOf(value: unknown): readonly unknown[] {
  if (isList(value)) return [value, ...value.flatMap(containersOf)];
  return isFields(value) ? [value, ...Object.values(value).flatMap(containersOf)] : [];
}

function withSortedKeys(value: unknown, kept: ReadonlySet<unknown>): unknown {
  if (kept.has(value)) return value;
  if (isList(value)) return value.map((item) => withSortedKeys(item, kept));
  if (!isFields(value)) return value;
  const keys = Object.keys(value).sort(compareUtf8);
  return Object.fromEntries(keys.map((key) => [key, withSortedKeys(value[key], kept)]));
}
