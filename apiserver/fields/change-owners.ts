// What a change of an object does to the owners of its fields: writers take what they change, and nobody owns what is gone.

import type { Comparison } from './comparison.ts';
import { difference, type FieldSet, fieldSetOfPaths, intersection, union } from './field-set.ts';
import type { Ownership, Ownerships } from './ownership.ts';
import { fieldElement } from './path-element.ts';
import { compareTyped, type TypedObject, type Typing } from './typed-object.ts';

export interface OwnersChange {
  /** The owners after the change; those in versions that no longer exist are gone. */
  readonly ownerships: Ownerships;
  /** What the others lose by it, by owner. */
  readonly taken: ReadonlyMap<string, FieldSet>;
  readonly comparison: Comparison;
}

/** Lets the change from `old` to `next` take fields from everybody except the owner `self`. */
export function changeOwners(
  old: TypedObject,
  next: TypedObject,
  { ownerships, self, typing }: { readonly ownerships: Ownerships; readonly self: string; readonly typing: Typing },
): OwnersChange {
  const comparison = compareTyped(old, next, typing);
  const remaining = new Map<string, Ownership>();
  const taken = new Map<string, FieldSet>();
  for (const [key, ownership] of ownerships) {
    if (key === self) remaining.set(key, ownership);
    if (key === self) continue;
    const lost = intersection(ownership.fields, union(comparison.modified, comparison.added));
    if (lost.size > 0) taken.set(key, lost);
    const fields = difference(difference(ownership.fields, lost), comparison.removed);
    if (fields.size > 0) remaining.set(key, { ...ownership, fields });
  }
  return { ownerships: remaining, taken, comparison };
}

/** Returns the owners of fields in the served version; a kind has one version at a time. */
export function ownersIn(apiVersion: string, ownerships: Ownerships): Ownerships {
  return new Map([...ownerships].filter(([, ownership]) => ownership.apiVersion === apiVersion));
}

/** Fields that nobody owns, for the server alone writes them. */
export function withoutUntracked(fields: FieldSet): FieldSet {
  return difference(fields, UNTRACKED);
}

const UNTRACKED_METADATA = [
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
];

const UNTRACKED = fieldSetOfPaths(
  [['apiVersion'], ['kind'], ['metadata'], ...UNTRACKED_METADATA.map((name) => ['metadata', name])].map((path) => path.map(fieldElement)),
);
