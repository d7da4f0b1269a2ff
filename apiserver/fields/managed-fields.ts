// What an ordinary create, update or patch does to metadata.managedFields.

import type { KubeObject, ManagedFieldsEntry } from '../../src/kubernetes/object.ts';
import { compareUtf8 } from '../../src/std/go-text.ts';
import { sameValue } from '../same-value.ts';
import { changeOwners, ownersIn, withoutUntracked } from './change-owners.ts';
import { union } from './field-set.ts';
import { decodeManagedFields, encodeManagedFields, isReset, type Owner, type Ownership, type Ownerships, ownerKey } from './ownership.ts';
import { typeProblems } from './type-check.ts';
import { type TypedObject, type Typing, typedObject, withoutManagedFields } from './typed-object.ts';

export interface TrackedUpdate extends Typing {
  /** The stored object; absent on create. */
  readonly live: KubeObject | undefined;
  /** The object to be stored, with the managedFields that the client sent. */
  readonly next: KubeObject;
  readonly manager: string;
  /** RFC 3339 text in whole seconds. */
  readonly now: string;
  readonly subresource?: string;
}

/** The managedFields of `next`. Empty if the object's owners are not tracked: then the field is to be left out. */
export function trackUpdate(update: TrackedUpdate): readonly ManagedFieldsEntry[] {
  const ownerships = previousOwnerships(update);
  // An update does not begin to track an object that exists untracked; the first apply does.
  if (ownerships.size === 0 && update.live?.metadata.uid) return [];
  const live = typedObject(update.live, update);
  const next = typedObject(update.next, update);
  if ([live, next].some(({ type, value }) => typeProblems(type, value, { duplicates: 'allowed' }) !== undefined)) return [];
  return encodeManagedFields(updatedOwnerships(live, next, { ...update, ownerships }));
}

/** `next` with its managedFields computed. */
export function withTrackedUpdate(update: TrackedUpdate): KubeObject {
  return withManagedFields(update.next, trackUpdate(update));
}

/** `object` with these managedFields, or without any. */
export function withManagedFields(object: KubeObject, managedFields: readonly ManagedFieldsEntry[]): KubeObject {
  const bare = withoutManagedFields(object);
  return managedFields.length === 0 ? bare : { ...bare, metadata: { ...bare.metadata, managedFields } };
}

/** `next`, but with the times of `live` if nothing else has changed: no write is needed then. */
export function withoutTimeChanges(next: KubeObject, live: KubeObject): KubeObject {
  const timeless = (entry: ManagedFieldsEntry): object => ({ ...entry, time: undefined });
  const managedFields = live.metadata.managedFields ?? [];
  const isSame =
    sameValue((next.metadata.managedFields ?? []).map(timeless), managedFields.map(timeless)) &&
    sameValue(withoutManagedFields(next), withoutManagedFields(live));
  return isSame ? withManagedFields(next, managedFields) : next;
}

/** The owners after a change from `live` to `next` that is not an apply. */
export function updatedOwnerships(
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
  const before = ownersIn(update.apiVersion, update.ownerships);
  const { ownerships, comparison } = changeOwners(live, next, { ownerships: before, self: '', typing: update });
  const changed = withoutUntracked(union(comparison.modified, comparison.added));
  if (changed.size === 0) return capped(ownerships);
  const previous = ownerships.get(ownerKey(owner));
  const mine: Ownership = { ...owner, fields: previous ? union(previous.fields, changed) : changed, time: update.now };
  return capped(new Map(ownerships).set(ownerKey(owner), mine));
}

function previousOwnerships({ live, next, subresource, schema }: TrackedUpdate): Ownerships {
  if (!subresource) {
    const sent = next.metadata.managedFields;
    // The metadata of a custom resource has no empty lists: there, one is the same as none.
    if (isReset(sent) && (sent?.length !== 0 || schema.go !== undefined)) return new Map();
    const ownerships = decodedOrNone(sent);
    if (ownerships.size > 0) return ownerships;
  }
  return decodedOrNone(live?.metadata.managedFields);
}

function decodedOrNone(entries: unknown): Ownerships {
  try {
    return decodeManagedFields(entries);
  } catch {
    return new Map();
  }
}

const MAX_UPDATERS = 10;

/** At most ten owners who update: the oldest of them are merged, by version, into one. */
function capped(ownerships: Ownerships): Ownerships {
  const updaters = [...ownerships].filter(([, { operation }]) => operation === 'Update');
  if (updaters.length <= MAX_UPDATERS) return ownerships;
  updaters.sort(([a, { time: aTime = '' }], [b, { time: bTime = '' }]) => compareUtf8(aTime, bTime) || compareUtf8(a, b));
  const remaining = new Map(ownerships);
  const oldest = new Map<string, readonly [string, Ownership]>();
  let excess = updaters.length - MAX_UPDATERS;
  for (const [key, ownership] of updaters) {
    if (excess === 0) break;
    const first = oldest.get(ownership.apiVersion);
    if (first === undefined) {
      oldest.set(ownership.apiVersion, [key, ownership]);
      continue;
    }
    const ancient: Owner = { manager: 'ancient-changes', operation: 'Update', apiVersion: ownership.apiVersion, subresource: '' };
    const bucket = remaining.get(ownerKey(ancient)) ?? first[1];
    if (!remaining.has(ownerKey(ancient))) remaining.delete(first[0]);
    const { time } = ownership;
    remaining.set(ownerKey(ancient), { ...ancient, fields: union(ownership.fields, bucket.fields), ...(time !== undefined && { time }) });
    remaining.delete(key);
    excess--;
  }
  return remaining;
}
