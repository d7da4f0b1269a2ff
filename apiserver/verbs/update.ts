// Update: from an object and what it shall become to the stored result. PUT and every kind of patch end here.

import { invalidValue } from '../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { badRequest, conflict, invalid, modified, notFound, unclassified } from '../../src/kubernetes/status.ts';
import { objectText } from '../../src/kubernetes/wire/encode.ts';
import { withoutTimeChanges } from '../fields/managed-fields.ts';
import type { Kind, Rules } from '../kinds/kind.ts';
import { deduplicateOwners, keepSystemMetadata } from '../kinds/lifecycle.ts';
import { keyOf } from '../storage/kind-store.ts';
import { type Api, checkValid, resourceName, storeOf, type Target, type Writer } from './api.ts';
import { inNamespace, storeNew, withoutVersion } from './create.ts';
import { tracked } from './tracked.ts';

export interface Written {
  readonly object: KubeObject;
  readonly created: boolean;
}

/** Replaces an object by what a PUT describes, or creates it where its kind allows that. */
export function updateObject(api: Api, target: Target, decoded: KubeObject, writer: Writer): Written {
  const { kind, namespace, name, subresource } = target;
  const next = inNamespace(checkName(decoded, name), kind, namespace);
  const live = storeOf(api, kind).get(namespace, name);
  if (live === undefined) {
    if (!kind.rules.createOnUpdate || subresource !== '') throw notFound(resourceName(kind), name);
    checkUid(target, next);
    writer.checkMayCreate();
    const fresh = tracked(api, target, { next: withoutVersion(next), writer });
    return { object: storeNew(api, kind, fresh, writer), created: true };
  }
  checkUid(target, next, live);
  const deduplicated = deduplicateOwners(next, 'update');
  deduplicated.warnings.forEach(writer.warn);
  const owned = tracked(api, target, { live, next: deduplicated.object, writer });
  return { object: replaceObject(api, target, { live, next: owned }, writer), created: false };
}

export interface Replacement {
  readonly live: KubeObject;
  /** What shall be stored; its managed fields are settled. */
  readonly next: KubeObject;
}

/** Checks and stores the next state of an object. Nothing is written when nothing changes. */
export function replaceObject(api: Api, target: Target, { live, next }: Replacement, writer: Writer): KubeObject {
  const { kind, name, subresource } = target;
  const current = checkVersion(kind, name, next, live);
  const rules = updateRules(kind, subresource);
  const prepared = withoutTimeChanges(rules.prepareForUpdate(keepSystemMetadata(current, live), live), live);
  checkValid(kind, prepared, rules.validateUpdate(prepared, live));
  kind.rules.warnings(prepared, live).forEach(writer.warn);
  if (isSame(kind, prepared, live)) return live;
  const store = storeOf(api, kind);
  if (writer.dryRun) return store.preview(prepared);
  if (!isFinished(kind, prepared)) return store.put(prepared);
  // The last finalizer is gone: the write is the deletion, and watchers see the state before it.
  store.remove(live);
  return prepared;
}

/** Whether two objects are written in the same words: then there is nothing to store. */
function isSame({ builtIn, schema }: Kind, next: KubeObject, live: KubeObject): boolean {
  const text = (object: KubeObject) => objectText(object, builtIn ? schema : undefined);
  return text(next) === text(live);
}

/** How the object itself or one of its subresources is updated. */
function updateRules({ rules }: Kind, subresource: string): Pick<Rules, 'prepareForUpdate' | 'validateUpdate'> {
  if (subresource === 'finalize' && rules.finalize !== undefined) return rules.finalize;
  if (subresource !== 'status') return rules;
  return {
    prepareForUpdate: (next, old) => rules.prepareForStatusUpdate(next, old),
    validateUpdate: (next, old) => rules.validateStatusUpdate(next, old),
  };
}

/** Whether an object has only been waiting for its last finalizer, and has no time left. */
export function isFinished({ rules }: Kind, object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds > 0) return false;
  return finalizers.length === 0 && (rules.ownFinalizers?.(object) ?? []).length === 0;
}

/** 409 when the writer means another object of the same name. */
function checkUid({ kind, namespace, name }: Target, { metadata: { uid } }: KubeObject, live?: KubeObject): void {
  if (uid === undefined || uid === live?.metadata.uid) return;
  const key = `/registry/${registryOf(kind)}/${keyOf(kind, namespace, name)}`;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live?.metadata.uid ?? ''}`;
  throw conflict(
    resourceName(kind),
    name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`,
  );
}

/** Where etcd would keep the objects of a kind: the groups of Kubernetes' own kinds do not show. */
function registryOf({ group, plural, builtIn }: Kind): string {
  if (!builtIn || group === 'apiextensions.k8s.io') return `${group}/${plural}`;
  return plural === 'nodes' ? 'minions' : plural;
}

export function checkName(object: KubeObject, name: string): KubeObject {
  const own = object.metadata.name ?? '';
  if (own === '') throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (own !== name) throw badRequest(`the name of the object (${own}) does not match the name on the URL (${name})`);
  return object;
}

/** The object at the version it is based on: the one it names, or the live one where the kind lets that pass. */
function checkVersion(kind: Kind, name: string, next: KubeObject, live: KubeObject): KubeObject {
  const { resourceVersion = '' } = next.metadata;
  if (resourceVersion !== '' && !/^\d+$/.test(resourceVersion)) {
    throw unclassified(`strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`);
  }
  if (Number(resourceVersion) === 0) {
    if (!kind.rules.unconditionalUpdate) {
      throw invalid(resourceName(kind), name, [invalidValue('metadata.resourceVersion', 0, 'must be specified for an update')]);
    }
    return { ...next, metadata: { ...next.metadata, resourceVersion: live.metadata.resourceVersion ?? '' } };
  }
  if (resourceVersion !== live.metadata.resourceVersion) throw modified(resourceName(kind), name);
  return next;
}
