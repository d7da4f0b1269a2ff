// Server-side apply: merges the fields of a manager into an object, and rejects conflicts with other managers.

import { isFields, type KubeObject } from '../../src/kubernetes/object.ts';
import { badRequest, type StatusError, statusError, unclassified } from '../../src/kubernetes/status.ts';
import { textOf } from '../../src/kubernetes/untrusted.ts';
import { encodeGoJson, quoteGoString } from '../../src/std/go-text.ts';
import { fieldOf, isSameValue, type JsonObject } from '../same-value.ts';
import { compareObjects } from './comparison.ts';
import {
  difference,
  type FieldSet,
  formatPath,
  intersection,
  NO_FIELDS,
  type PathElement,
  pathsOf,
  recursiveDifference,
  union,
} from './field-set.ts';
import { changeOwners, filterOwners, updateOwnerships, withManagedFields, withoutUntracked } from './managed-fields.ts';
import { choosePart, findFieldType, type ListType, type MapType, type MergeType, toObjectType } from './merge-type.ts';
import { collectFields, removeFields, toEntryElement, withDeclaredFields } from './owned-fields.ts';
import { decodeManagedFields, encodeManagedFields, encodeOwnerKey, type Owner, type Ownership, type Ownerships } from './ownership.ts';
import { formatTypeProblems } from './type-check.ts';
import { type TypedObject, type Typing, toKubeObject, toResetFields, toTypedObject } from './typed-object.ts';

export interface AppliedPatch extends Typing {
  /** Stored object; undefined if the apply creates it. */
  readonly live: KubeObject | undefined;
  /** Decoded body. */
  readonly applied: KubeObject;
  readonly manager: string;
  /** True to take fields from other managers. */
  readonly force: boolean;
  /** Kind that the endpoint serves. */
  readonly kind: string;
  /** Current time, RFC 3339 in whole seconds. */
  readonly now: string;
  readonly subresource?: string;
  /** Decodes the merged object and fills in its defaults. */
  readonly applyDefaults?: (object: KubeObject) => KubeObject;
}

/** Returns the object to store, with its managedFields. Throws a StatusError for a malformed patch, or for conflicts without `force`. */
export function applyPatch(patch: AppliedPatch): KubeObject {
  checkRequest(patch);
  const live = toTypedObject(patch.live, patch);
  const { object, ownerships } = mergeApplied(patch, live, toTypedPatch(patch));
  const synced = patch.manager === 'kubectl' ? withLastApplied(object, patch.applied) : object;
  return withManagedFields(synced, encodeManagedFields(ownerships));
}

function checkRequest({ applied, apiVersion, kind }: AppliedPatch): void {
  if (applied.apiVersion !== apiVersion || applied.kind !== kind) throw badRequest(`invalid object type: ${formatType(applied)}`);
  if (Array.isArray(applied.metadata?.managedFields)) throw badRequest('metadata.managedFields must be nil');
}

function toTypedPatch(patch: AppliedPatch): TypedObject {
  const applied: TypedObject = { type: toObjectType(patch.schema), value: patch.applied };
  const problems = formatTypeProblems(applied.type, applied.value, { duplicates: 'rejected' });
  if (problems !== undefined) throw unclassified(`failed to create typed patch object (${formatName(patch.applied)}): ${problems}`);
  return applied;
}

function mergeApplied(
  patch: AppliedPatch,
  live: TypedObject,
  applied: TypedObject,
): { readonly object: KubeObject; readonly ownerships: Ownerships } {
  const owner: Owner = {
    manager: patch.manager || 'unknown',
    operation: 'Apply',
    apiVersion: patch.apiVersion,
    subresource: patch.subresource ?? '',
  };
  const self = encodeOwnerKey(owner);
  const before = filterOwners(patch.apiVersion, readOwnerships(patch, live));
  const last = before.get(self);
  const fieldsToOwn = recursiveDifference(collectFields(applied.type, applied.value), toResetFields(patch));
  const mine: Ownership = { ...last, ...owner, fields: fieldsToOwn };
  const claimed = new Map(before).set(self, mine);
  const all = { ...live, value: mergeValues(live.type, live.value, applied.value) };
  const next = withoutAbandoned(all, claimed, last);
  const { ownerships, taken } = changeOwners(live, next, { ownerships: claimed, self, typing: patch });
  if (!patch.force) rejectConflicts(patch, taken, claimed);
  const isSame = patch.live !== undefined && isSameValue(live.value, next.value);
  const tracked = new Map(ownerships);
  const fields = withoutUntracked(mine.fields);
  if (fields.size === 0) tracked.delete(self);
  else tracked.set(self, { ...mine, fields, ...(!isSame && { time: patch.now }) });
  const object = isSame ? patch.live : toKubeObject(next);
  return { object: isSame || patch.applyDefaults === undefined ? object : patch.applyDefaults(object), ownerships: tracked };
}

/** Returns the recorded owners. `before-first-apply` owns the fields of an untracked object. */
function readOwnerships(patch: AppliedPatch, live: TypedObject): Ownerships {
  const problems = formatTypeProblems(live.type, live.value, { duplicates: 'allowed' });
  if (problems !== undefined)
    throw unclassified(`failed to create typed live object (${formatName(patch.live ?? patch.applied)}): ${problems}`);
  const ownerships = decodeManagedFields(patch.live?.metadata.managedFields);
  if (ownerships.size > 0 || patch.live === undefined) return ownerships;
  return updateOwnerships(toTypedObject(undefined, patch), live, { ...patch, ownerships, manager: 'before-first-apply' });
}

/** Throws 409 if the apply takes fields from other managers. kubectl is allowed to take the fields of its last client-side apply. */
function rejectConflicts(patch: AppliedPatch, taken: ReadonlyMap<string, FieldSet>, ownerships: Ownerships): void {
  const allowed = patch.manager === 'kubectl' && patch.live !== undefined ? findLastAppliedFields(patch.live, patch) : NO_FIELDS;
  const conflicts = [...taken].map(([key, fields]) => [key, difference(fields, allowed)] as const).filter(([, fields]) => fields.size > 0);
  if (conflicts.length > 0) throw applyConflict(new Map(conflicts), ownerships);
}

function formatName(object: KubeObject): string {
  const { namespace, name } = isFields(object.metadata) ? object.metadata : {};
  return `${textOf(namespace)}/${textOf(name)}; ${formatType(object)}`;
}

/** Returns `group/version, Kind=kind`; missing parts are empty. */
function formatType({ apiVersion, kind }: KubeObject): string {
  const parts = textOf(apiVersion).split('/');
  if (parts.length > 2) return '/, Kind=';
  const [group, version] = parts.length === 2 ? parts : ['', parts[0]];
  return `${group}/${version}, Kind=${textOf(kind)}`;
}

/** Returns `merged` without the fields that the applier owned in `last` and that no entry of `ownerships` contains. */
function withoutAbandoned(merged: TypedObject, ownerships: Ownerships, last: Ownership | undefined): TypedObject {
  if (last === undefined || last.fields.size === 0) return merged;
  const { type, value } = merged;
  const lastFields = withDeclaredFields(type, last.fields);
  const all = collectDeclaredFields(merged);
  const bare = collectDeclaredFields({ ...merged, value: removeFields(type, value, lastFields) });
  const owned = withDeclaredFields(type, [...ownerships.values()].map(({ fields }) => fields).reduce(union));
  const missing = difference(all, union(bare, owned));
  const remaining = collectDeclaredFields({ ...merged, value: removeFields(type, value, missing) });
  const abandoned = intersection(difference(all, remaining), lastFields);
  return { ...merged, value: removeFields(type, value, abandoned) };
}

function collectDeclaredFields({ type, value }: TypedObject): FieldSet {
  return withDeclaredFields(type, collectFields(type, value));
}

/** Returns the error of a conflicting apply; `taken` contains the fields that each owner would lose. */
function applyConflict(taken: ReadonlyMap<string, FieldSet>, ownerships: Ownerships): StatusError {
  const conflicts = [...taken]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, fields]) => ({ owner: printOwner(key, ownerships), paths: [...pathsOf(fields)].map(formatPath) }));
  const causes = conflicts.flatMap(({ owner, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${owner}`, field })),
  );
  const [only, ...more] = causes;
  if (only !== undefined && more.length === 0) {
    return statusError('Conflict', `Apply failed with 1 conflict: ${only.message}: ${only.field}`, { causes });
  }
  const lines = conflicts.flatMap(({ owner, paths }) => [`conflicts with ${owner}:`, ...paths.map((path) => `- ${path}`)]);
  return statusError('Conflict', `Apply failed with ${causes.length} conflicts: ${lines.join('\n')}`, { causes });
}

function printOwner(key: string, ownerships: Ownerships): string {
  const owner = ownerships.get(key);
  if (owner === undefined) return quoteGoString(key);
  const subresource = owner.subresource === '' ? '' : ` with subresource ${quoteGoString(owner.subresource)}`;
  const version = owner.operation === 'Update' ? ` using ${owner.apiVersion}` : '';
  return `${quoteGoString(owner.manager)}${subresource}${version}`;
}

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const MAX_ANNOTATIONS_BYTES = 256 * 1024;

/** Returns the fields of the last client-side apply whose values have not changed since. */
function findLastAppliedFields(live: KubeObject, typing: Typing): FieldSet {
  const text = live.metadata.annotations?.[LAST_APPLIED];
  const last = text === undefined ? undefined : parseObject(text);
  if (last?.['apiVersion'] !== typing.apiVersion) return NO_FIELDS;
  const type = toObjectType(typing.schema);
  const now = toTypedObject(live, typing).value;
  if ([last, now].some((value) => formatTypeProblems(type, value, { duplicates: 'rejected' }) !== undefined)) return NO_FIELDS;
  const { removed, modified, added } = compareObjects(type, last, now);
  return difference(collectFields(type, last), union(union(modified, added), removed));
}

/** Updates the last-applied annotation of an object that has one; removes that annotation if all annotations together become too long. */
function withLastApplied(object: KubeObject, applied: KubeObject): KubeObject {
  const annotations = object.metadata.annotations ?? {};
  if (!annotations[LAST_APPLIED]) return object;
  const updated = { ...annotations, [LAST_APPLIED]: `${encodeGoJson(withoutLastApplied(applied))}\n` };
  const bytes = Object.entries(updated).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
  const fitting = bytes > MAX_ANNOTATIONS_BYTES ? withoutAnnotation(updated, LAST_APPLIED) : updated;
  return { ...object, metadata: { ...object.metadata, annotations: fitting } };
}

function withoutLastApplied(applied: KubeObject): KubeObject {
  const annotations = applied.metadata?.annotations;
  if (annotations === undefined) return applied;
  return { ...applied, metadata: { ...applied.metadata, annotations: withoutAnnotation(annotations, LAST_APPLIED) } };
}

function withoutAnnotation(annotations: Readonly<Record<string, string>>, name: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(annotations).filter(([other]) => other !== name));
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns `live` with all fields of `applied`. */
function mergeValues(type: MergeType, live: unknown, applied: unknown): unknown {
  if (applied === undefined) return live;
  if (live === undefined) return applied;
  const part = choosePart(type, applied);
  if (part === 'map' && type.map) return mergeMaps(type.map, live, applied);
  if (part === 'list' && type.list) return mergeLists(type.list, live, applied);
  return applied;
}

function mergeMaps(map: MapType, live: unknown, applied: unknown): unknown {
  const mine = isFields(applied) ? applied : {};
  const theirs = isFields(live) ? live : {};
  const names = new Set([...Object.keys(theirs), ...Object.keys(mine)]);
  if (map.atomic || names.size === 0) return applied;
  return Object.fromEntries(
    Array.from(names, (name) => [name, mergeValues(findFieldType(map, name) ?? {}, fieldOf(theirs, name), fieldOf(mine, name))]),
  );
}

/** Merges lists in the order of `applied`. Entries that only `live` contains precede the next entry that both lists contain. */
function mergeLists(list: ListType, live: unknown, applied: unknown): unknown {
  const mine: readonly unknown[] = Array.isArray(applied) ? applied : [];
  const theirs: readonly unknown[] = Array.isArray(live) ? live : [];
  if (list.atomic || (mine.length === 0 && theirs.length === 0)) return applied;
  const appliedElements = mine.map((entry) => toEntryElement(list, entry));
  const liveElements = theirs.map((entry) => toEntryElement(list, entry));
  const isApplied = new Set(appliedElements);
  const isLive = new Set(liveElements);
  const merged: unknown[] = [];
  let next = 0;
  const takeLiveUntil = (shared: PathElement | undefined): void => {
    for (; next < theirs.length && liveElements[next] !== shared; next++) {
      if (!isApplied.has(liveElements[next] ?? '')) merged.push(theirs[next]);
    }
  };
  for (const [index, entry] of mine.entries()) {
    takeLiveUntil(appliedElements.slice(index).find((element) => isLive.has(element)));
    const element = appliedElements[index];
    const same = liveElements.filter((other) => other === element).length === 1 ? theirs[liveElements.indexOf(element ?? '')] : undefined;
    merged.push(mergeValues(list.items(), same, entry));
    if (liveElements[next] === element) next++;
  }
  takeLiveUntil(undefined);
  return merged;
}
