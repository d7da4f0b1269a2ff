// Update: checks and stores the next state of an object, for PUT, patches and controllers.

import { invalidValue } from '../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { badRequest, conflict, invalid, modified, notFound, unclassified } from '../../src/kubernetes/status.ts';
import { encodeObjectJson } from '../../src/kubernetes/wire/encode.ts';
import { withoutTimeChanges } from '../fields/managed-fields.ts';
import type { Kind, Rules } from '../kinds/kind.ts';
import { keepSystemMetadata } from '../kinds/metadata.ts';
import type { StoredObject } from '../storage/object-store.ts';
import { type Api, checkValid, openStore, type RequestTarget, toResourceName, type Writer } from './api.ts';
import { withNamespace } from './create.ts';
import { trackFields } from './field-tracking.ts';

/** Replaces an existing object, as a PUT does. Throws 404 for a missing object. */
export function updateObject(api: Api, target: RequestTarget, decoded: KubeObject, writer: Writer): KubeObject {
  const { kind, namespace, name } = target;
  const next = withNamespace(checkName(decoded, name), kind, namespace);
  const live = openStore(api, kind).get(namespace, name);
  if (live === undefined) throw notFound(toResourceName(kind), name);
  checkUid(target, next, live);
  return replaceObject(api, target, { live, next: trackFields(api, target, { live, next, writer }) }, writer);
}

export interface Replacement {
  readonly live: StoredObject;
  /** The next state, with its managedFields. */
  readonly next: KubeObject;
}

/** Checks and stores the next state of an object; does not write an unchanged object. */
export function replaceObject(api: Api, target: RequestTarget, { live, next }: Replacement, writer: Writer): KubeObject {
  const { kind, name, subresource } = target;
  const current = checkVersion(kind, name, next, live);
  const rules = selectRules(kind, subresource);
  const prepared = withoutTimeChanges(rules.prepareForUpdate(keepSystemMetadata(current, live), live), live);
  checkValid(kind, prepared, rules.validateUpdate(prepared, live));
  if (isSame(kind, prepared, live)) return live;
  const store = openStore(api, kind);
  if (writer.dryRun) return store.preview(prepared);
  if (!isRemovable(kind, prepared)) return store.put(prepared);
  // This write removes the last finalizer and thereby deletes the object; watchers receive the previous state.
  store.remove(live);
  return prepared;
}

/** Returns true if both objects have the same JSON. */
function isSame({ builtIn, schema }: Kind, next: KubeObject, live: KubeObject): boolean {
  const text = (object: KubeObject) => encodeObjectJson(object, builtIn ? schema : undefined);
  return text(next) === text(live);
}

/** Returns the rules for an update of the object or of its status. */
function selectRules({ rules }: Kind, subresource: string): Pick<Rules, 'prepareForUpdate' | 'validateUpdate'> {
  if (subresource !== 'status') return rules;
  return {
    prepareForUpdate: (next, old) => rules.prepareForStatusUpdate(next, old),
    validateUpdate: (next, old) => rules.validateStatusUpdate(next, old),
  };
}

/** Returns true for an object that is being deleted and has neither finalizers nor a grace period. */
export function isRemovable({ rules }: Kind, object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds > 0) return false;
  return finalizers.length === 0 && (rules.ownFinalizers?.(object) ?? []).length === 0;
}

/** Throws 409 if the request contains the uid of another object. */
function checkUid({ kind, name }: RequestTarget, { metadata: { uid } }: KubeObject, live: StoredObject): void {
  if (uid === undefined || uid === live.metadata.uid) return;
  const detail = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid}`;
  throw conflict(toResourceName(kind), name, detail);
}

/** Returns the object. Throws 400 unless it has the name in the URL. */
export function checkName(object: KubeObject, name: string): KubeObject {
  const own = object.metadata.name ?? '';
  if (own === '') throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (own !== name) throw badRequest(`the name of the object (${own}) does not match the name on the URL (${name})`);
  return object;
}

/**
 * Returns the object, with the live object's resourceVersion in place of a missing or zero one. Throws 422 if the kind requires a
 * resourceVersion, 409 for a resourceVersion other than that of the live object, and 500 for a malformed resourceVersion.
 */
function checkVersion(kind: Kind, name: string, next: KubeObject, live: StoredObject): KubeObject {
  const { resourceVersion = '' } = next.metadata;
  if (resourceVersion !== '' && !/^\d+$/.test(resourceVersion)) {
    throw unclassified(`strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`);
  }
  if (Number(resourceVersion) === 0) {
    if (!kind.rules.unconditionalUpdate) {
      throw invalid(toResourceName(kind), name, [invalidValue('metadata.resourceVersion', 0, 'must be specified for an update')]);
    }
    return { ...next, metadata: { ...next.metadata, resourceVersion: live.metadata.resourceVersion } };
  }
  if (resourceVersion !== live.metadata.resourceVersion) throw modified(toResourceName(kind), name);
  return next;
}
