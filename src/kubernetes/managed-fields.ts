// The labels and annotations that a field manager owns, from metadata.managedFields.

import type { ManagedFieldsEntry } from './object.ts';

/** Returns the sorted keys of the labels or annotations that a manager owns, whether by Apply or by Update. */
export function listOwnedKeys(
  entries: readonly Pick<ManagedFieldsEntry, 'manager' | 'fieldsV1'>[],
  manager: string,
  part: Part,
): readonly string[] {
  const keys = entries.flatMap((entry) => {
    const metadata = entry.manager === manager ? fieldOf(entry.fieldsV1, 'f:metadata') : undefined;
    return Object.keys(fieldOf(metadata, `f:${part}`) ?? {}).filter((key) => key.startsWith(PREFIX));
  });
  return [...new Set(keys)].map((key) => key.slice(PREFIX.length)).sort();
}

type Part = 'labels' | 'annotations';

const PREFIX = 'f:';

function fieldOf(fields: unknown, name: string): object | undefined {
  const value: unknown = typeof fields === 'object' && fields !== null ? Reflect.get(fields, name) : undefined;
  return typeof value === 'object' && value !== null ? value : undefined;
}
