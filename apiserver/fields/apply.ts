// Server-side apply: merging what a manager wants into an object, and refusing to take what others own.

import { isFields, type KubeObject } from '../../src/kubernetes/object.ts';
import { badRequest, unclassified } from '../../src/kubernetes/status.ts';
import { sameValue } from '../same-value.ts';
import { withoutAbandoned } from './abandoned-fields.ts';
import { changeOwners, ownersIn, withoutUntracked } from './change-owners.ts';
import { applyConflict } from './conflict.ts';
import { difference, type FieldSet, NO_FIELDS, outside } from './field-set.ts';
import { lastAppliedFields, withLastApplied } from './last-applied.ts';
import { updatedOwnerships, withManagedFields } from './managed-fields.ts';
import { objectType } from './merge-type.ts';
import { mergeValues } from './merge-values.ts';
import { ownedFields } from './owned-fields.ts';
import { decodeManagedFields, encodeManagedFields, type Owner, type Ownership, type Ownerships, ownerKey } from './ownership.ts';
import { typeProblems } from './type-check.ts';
import { kubeObject, resetFields, type TypedObject, type Typing, typedObject } from './typed-object.ts';
import { withZeroValues } from './zero-values.ts';

export interface AppliedPatch extends Typing {
  /** The stored object; absent if apply creates it. */
  readonly live: KubeObject | undefined;
  /** The decoded body. */
  readonly applied: KubeObject;
  readonly manager: string;
  /** Whether to take fields from others. */
  readonly force: boolean;
  /** The kind that the endpoint serves. */
  readonly kind: string;
  /** RFC 3339 text in whole seconds. */
  readonly now: string;
  readonly subresource?: string;
  /** Decodes the merged object and fills in defaults, as for any other write. */
  readonly defaulted?: (object: KubeObject) => KubeObject;
}

export interface AppliedResult {
  /** The object to be stored, managedFields included. */
  readonly object: KubeObject;
  readonly created: boolean;
  /** Whether it is the live object again, so that there is nothing to write. */
  readonly unchanged: boolean;
}

/** Applies a patch. Throws a conflict if it would change fields of others without force, and the API error of a malformed patch. */
export function applyPatch(patch: AppliedPatch): AppliedResult {
  checkRequest(patch);
  const live = typedObject(patch.live, patch);
  const { object, ownerships } = merged(patch, live, typedPatch(patch));
  const synced = patch.manager === 'kubectl' ? withLastApplied(object, patch.applied) : object;
  const result = withManagedFields(synced, encodeManagedFields(ownerships));
  return {
    object: result,
    created: patch.live === undefined,
    unchanged: patch.live !== undefined && sameValue(withZeroValues(result, patch.schema), withZeroValues(patch.live, patch.schema)),
  };
}

function checkRequest({ applied, apiVersion, kind }: AppliedPatch): void {
  if (applied.apiVersion !== apiVersion || applied.kind !== kind) throw badRequest(`invalid object type: ${printedType(applied)}`);
  if (Array.isArray(applied.metadata?.managedFields)) throw badRequest('metadata.managedFields must be nil');
}

function typedPatch(patch: AppliedPatch): TypedObject {
  const applied: TypedObject = { apiVersion: patch.apiVersion, type: objectType(patch.schema), value: patch.applied };
  const problems = typeProblems(applied.type, applied.value, { duplicates: 'refused' });
  if (problems !== undefined) throw unclassified(`failed to create typed patch object (${printedName(patch.applied)}): ${problems}`);
  return applied;
}

function merged(
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
  const self = ownerKey(owner);
  const before = ownersIn(patch.apiVersion, recordedOwnerships(patch, live));
  const last = before.get(self);
  const mine: Ownership = { ...last, ...owner, fields: outside(ownedFields(applied.type, applied.value), resetFields(patch)) };
  const claimed = new Map(before).set(self, mine);
  const union = { ...live, value: mergeValues(live.type, live.value, applied.value) };
  const next = withoutAbandoned(union, claimed, last);
  const { ownerships, taken } = changeOwners(live, next, { ownerships: claimed, self, typing: patch });
  if (!patch.force) refuseConflicts(patch, taken, claimed);
  const isSame = patch.live !== undefined && sameValue(live.value, next.value);
  const tracked = new Map(ownerships);
  const fields = withoutUntracked(mine.fields);
  if (fields.size === 0) tracked.delete(self);
  else tracked.set(self, { ...mine, fields, ...(!isSame && { time: patch.now }) });
  const object = isSame ? patch.live : kubeObject(next);
  return { object: isSame || patch.defaulted === undefined ? object : patch.defaulted(object), ownerships: tracked };
}

/** The owners on record. An object that nobody tracked so far belongs to one owner from before. */
function recordedOwnerships(patch: AppliedPatch, live: TypedObject): Ownerships {
  const problems = typeProblems(live.type, live.value, { duplicates: 'allowed' });
  if (problems !== undefined)
    throw unclassified(`failed to create typed live object (${printedName(patch.live ?? patch.applied)}): ${problems}`);
  const ownerships = decoded(patch.live);
  if (ownerships.size > 0 || patch.live === undefined) return ownerships;
  return updatedOwnerships(typedObject(undefined, patch), live, { ...patch, ownerships, manager: 'before-first-apply' });
}

function decoded(live: KubeObject | undefined): Ownerships {
  try {
    return decodeManagedFields(live?.metadata.managedFields);
  } catch (error) {
    throw unclassified(`failed to decode managed fields: ${error instanceof Error ? error.message : ''}`);
  }
}

/** Users of kubectl may go over from client-side apply: what they applied last that way is theirs. */
function refuseConflicts(patch: AppliedPatch, taken: ReadonlyMap<string, FieldSet>, ownerships: Ownerships): void {
  const allowed = patch.manager === 'kubectl' && patch.live !== undefined ? lastAppliedFields(patch.live, patch) : NO_FIELDS;
  const refused = [...taken].map(([key, fields]) => [key, difference(fields, allowed)] as const).filter(([, fields]) => fields.size > 0);
  if (refused.length > 0) throw applyConflict(new Map(refused), ownerships);
}

function printedName(object: KubeObject): string {
  const { namespace, name } = isFields(object.metadata) ? object.metadata : {};
  return `${textOf(namespace)}/${textOf(name)}; ${printedType(object)}`;
}

/** `group/version, Kind=kind`, with nothing for what is not given. */
function printedType({ apiVersion, kind }: KubeObject): string {
  const parts = textOf(apiVersion).split('/');
  if (parts.length > 2) return '/, Kind=';
  const [group, version] = parts.length === 2 ? parts : ['', parts[0]];
  return `${group}/${version}, Kind=${textOf(kind)}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
