// metadata.managedFields after creates, updates and patches other than server-side apply.

import type { KubeObject, ManagedFieldsEntry } from '../../src/kubernetes/object.ts';
import { isSameValue } from '../same-value.ts';
import type { Comparison } from './comparison.ts';
import { difference, type FieldSet, intersection, toFieldElement, toFieldSet, union } from './field-set.ts';
import { decodeManagedFields, encodeManagedFields, encodeOwnerKey, type Owner, type Ownership, type Ownerships } from './ownership.ts';
import { formatTypeProblems } from './type-check.ts';
import { compareTyped, type TypedObject, type Typing, toTypedObject, withoutManagedFields } from './typed-object.ts';

export interface TrackedUpdate extends Typing {
  /** Stored object; undefined on create. */
  readonly live: KubeObject | undefined;
  /** Object to store, with the managedFields that the client sent. */
  readonly next: KubeObject;
  readonly manager: string;
  /** Current time, RFC 3339 in whole seconds. */
  readonly now: string;
  readonly subresource?: string;
}

/** Returns `next` with updated managedFields; without them if the object is untracked, or if `live` or `next` does not match the schema. */
export function withTrackedUpdate(update: TrackedUpdate): KubeObject {
  const ownerships = findPreviousOwnerships(update);
  const live = toTypedObject(update.live, update);
  const next = toTypedObject(update.next, update);
  // An update does not start to track an existing untracked object; the first apply does.
  const isUntracked = ownerships.size === 0 && Boolean(update.live?.metadata.uid);
  const isTyped = [live, next].every(({ type, value }) => formatTypeProblems(type, value, { duplicates: 'allowed' }) === undefined);
  if (isUntracked || !isTyped) return withManagedFields(update.next, []);
  return withManagedFields(update.next, encodeManagedFields(updateOwnerships(live, next, { ...update, ownerships })));
}

/** Returns `object` with these managedFields; without the field if they are empty. */
export function withManagedFields(object: KubeObject, managedFields: readonly ManagedFieldsEntry[]): KubeObject {
  const bare = withoutManagedFields(object);
  return managedFields.length === 0 ? bare : { ...bare, metadata: { ...bare.metadata, managedFields } };
}

/** Returns `next`, with the managedFields of `live` if the objects differ only in the times of managedFields: then no write is needed. */
export function withoutTimeChanges(next: KubeObject, live: KubeObject): KubeObject {
  const timeless = (entry: ManagedFieldsEntry): object => ({ ...entry, time: undefined });
  const managedFields = live.metadata.managedFields ?? [];
  const isSame =
    isSameValue((next.metadata.managedFields ?? []).map(timeless), managedFields.map(timeless)) &&
    isSameValue(withoutManagedFields(next), withoutManagedFields(live));
  return isSame ? withManagedFields(next, managedFields) : next;
}

/** Returns the owners after a change from `live` to `next` that is not an apply. */
export function updateOwnerships(
  live: TypedObject,
  next: TypedObject,
  update: Typing & Pick<TrackedUpdate, 'manager' | 'now' | 'subresource'> & { readonly ownerships: Ownerships },
): Ownerships {
  const owner: Owner = {
    manager: update.manager || 'unknown',
    operation: 'Update',
    apiVersion: update.apiVersion,
    subresource: update.subresource ?? '',
  };
  const before = filterOwners(update.apiVersion, update.ownerships);
  const { ownerships, comparison } = changeOwners(live, next, { ownerships: before, self: '', typing: update });
  const changed = withoutUntracked(union(comparison.modified, comparison.added));
  if (changed.size === 0) return ownerships;
  const previous = ownerships.get(encodeOwnerKey(owner));
  const mine: Ownership = { ...owner, fields: previous ? union(previous.fields, changed) : changed, time: update.now };
  return new Map(ownerships).set(encodeOwnerKey(owner), mine);
}

function findPreviousOwnerships({ live, next, subresource }: TrackedUpdate): Ownerships {
  if (!subresource) {
    const ownerships = decodeManagedFields(next.metadata.managedFields);
    if (ownerships.size > 0) return ownerships;
  }
  return decodeManagedFields(live?.metadata.managedFields);
}

export interface OwnershipChange {
  /** Owners after the change. */
  readonly ownerships: Ownerships;
  /** Modified and added fields that owners other than the writer lose, by the key of the owner. */
  readonly taken: ReadonlyMap<string, FieldSet>;
  readonly comparison: Comparison;
}

/** Removes ownership of the fields that differ between `old` and `next` from all owners except `self`. */
export function changeOwners(
  old: TypedObject,
  next: TypedObject,
  { ownerships, self, typing }: { readonly ownerships: Ownerships; readonly self: string; readonly typing: Typing },
): OwnershipChange {
  const comparison = compareTyped(old, next, typing);
  const remaining = new Map<string, Ownership>();
  const taken = new Map<string, FieldSet>();
  for (const [key, ownership] of ownerships) {
    if (key === self) {
      remaining.set(key, ownership);
      continue;
    }
    const lost = intersection(ownership.fields, union(comparison.modified, comparison.added));
    if (lost.size > 0) taken.set(key, lost);
    const fields = difference(difference(ownership.fields, lost), comparison.removed);
    if (fields.size > 0) remaining.set(key, { ...ownership, fields });
  }
  return { ownerships: remaining, taken, comparison };
}

/** Returns the owners that wrote in `apiVersion`. */
export function filterOwners(apiVersion: string, ownerships: Ownerships): Ownerships {
  return new Map([...ownerships].filter(([, ownership]) => ownership.apiVersion === apiVersion));
}

/** Removes the fields that managedFields never contains: apiVersion, kind and some metadata. */
export function withoutUntracked(fields: FieldSet): FieldSet {
  return difference(fields, UNTRACKED_FIELDS);
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

const UNTRACKED_FIELDS = toFieldSet(
  [['apiVersion'], ['kind'], ['metadata'], ...UNTRACKED_METADATA.map((name) => ['metadata', name])].map((path) => path.map(toFieldElement)),
);
