// What a change of an object does to the owners of its fields: writers take what they change, and nobody owns what is gone.

import type { Comparison } from './comparison.ts';
import { difference, type FieldSet, fieldSetOfPaths, intersection, union } from './field-set.ts';
import type { Ownership, Ownerships } from './ownership.ts';
import { fieldElement } from './path-element.ts';
import { compareTyped, converted, type TypedObject, type Typing } from './typed-object.ts';
import { reconciledFields } from './typed-sets.ts';

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
  const comparisons = new Map<string, Comparison | undefined>([[next.apiVersion, comparison]]);
  const comparisonIn = (apiVersion: string): Comparison | undefined => {
    if (!comparisons.has(apiVersion)) comparisons.set(apiVersion, compareIn(apiVersion, old, next, typing));
    return comparisons.get(apiVersion);
  };
  const remaining = new Map<string, Ownership>();
  const taken = new Map<string, FieldSet>();
  for (const [key, ownership] of ownerships) {
    const change = comparisonIn(ownership.apiVersion);
    if (key === self) remaining.set(key, ownership);
    if (key === self || change === undefined) continue;
    const lost = intersection(ownership.fields, union(change.modified, change.added));
    if (lost.size > 0) taken.set(key, lost);
    const fields = difference(difference(ownership.fields, lost), change.removed);
    if (fields.size > 0) remaining.set(key, { ...ownership, fields });
  }
  return { ownerships: remaining, taken, comparison };
}

/** Owners as the present schema would have recorded them; those in versions that no longer exist are dropped. */
export function reconciledOwners(live: TypedObject, ownerships: Ownerships, typing: Typing): Ownerships {
  const reconciled = new Map<string, Ownership>();
  for (const [key, ownership] of ownerships) {
    const object = converted(live, ownership.apiVersion, typing);
    if (object !== undefined) reconciled.set(key, { ...ownership, fields: reconciledFields(object.type, ownership.fields) });
  }
  return reconciled;
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

function compareIn(apiVersion: string, old: TypedObject, next: TypedObject, typing: Typing): Comparison | undefined {
  const before = converted(old, apiVersion, typing);
  const after = converted(next, apiVersion, typing);
  return before && after && compareTyped(before, after, typing);
}
