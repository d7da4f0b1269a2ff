// Delete: at once, or, where finalizers stand in the way, by marking the object as being deleted.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { conflict, notFound } from '../../src/kubernetes/status.ts';
import type { DeleteOptions } from '../../src/kubernetes/wire/options.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import type { Kind } from '../kinds/kind.ts';
import { type Api, kindName, resourceName, storeOf, type Target } from './api.ts';
import { admitDelete } from './create.ts';
import { isFinished } from './update.ts';

export interface Deletion {
  readonly object: KubeObject;
  /** False while finalizers keep the object. */
  readonly gone: boolean;
}

/** The finalizers by which an owner waits for its dependents to go, or to be disowned. */
export const FOREGROUND = 'foregroundDeletion';
export const ORPHAN = 'orphan';

export function deleteObject(api: Api, target: Target, options: DeleteOptions): Deletion {
  const { kind, namespace, name } = target;
  const store = storeOf(api, kind);
  admitDelete(kind, name);
  const live = store.get(namespace, name);
  if (live === undefined) throw notFound(resourceName(kind), name);
  checkPreconditions(target, live, options);
  const next = markForDeletion(api, target, live, options);
  if (!isFinished(kind, next)) {
    return { object: next === live || options.dryRun ? next : store.put(next), gone: false };
  }
  return { object: options.dryRun ? live : (store.remove(live) ?? live), gone: true };
}

/** Returns the object with its deletion time and the finalizers of the requested propagation; the same object if it has both. */
function markForDeletion(api: Api, { kind }: Target, live: KubeObject, options: DeleteOptions): KubeObject {
  const { deletionTimestamp, finalizers: present = [] } = live.metadata;
  const finalizers = propagationFinalizers(present, options);
  const next = { ...live, metadata: withFinalizersOf(live, finalizers) };
  if (deletionTimestamp === undefined) return marked(next, kind, api.now());
  return finalizers === present ? live : next;
}

function marked(object: KubeObject, { rules }: Kind, now: number): KubeObject {
  if (rules.terminating !== undefined) return rules.terminating(object, formatTimestamp(now));
  const { generation = 0 } = object.metadata;
  return {
    ...object,
    metadata: {
      ...object.metadata,
      deletionTimestamp: formatTimestamp(now),
      deletionGracePeriodSeconds: 0,
      // Controllers that compare generations notice the deletion, too.
      ...(generation > 0 && { generation: generation + 1 }),
    },
  };
}

function withFinalizersOf({ metadata }: KubeObject, finalizers: readonly string[]): KubeObject['metadata'] {
  const { finalizers: _, ...rest } = metadata;
  return finalizers.length === 0 ? rest : { ...rest, finalizers };
}

/** Returns the same array when nothing changes. */
function propagationFinalizers(finalizers: readonly string[], options: DeleteOptions): readonly string[] {
  const wanted = wantedFinalizer(options);
  if (wanted === undefined) return finalizers;
  const others = finalizers.filter((name) => name !== FOREGROUND && name !== ORPHAN);
  const next = wanted === '' ? others : [...others, wanted];
  return next.length === finalizers.length && next.every((name, index) => name === finalizers[index]) ? finalizers : next;
}

/** Returns the finalizer that the options request; empty for none, undefined for no change. */
function wantedFinalizer({ propagationPolicy, orphanDependents }: DeleteOptions): string | undefined {
  if (orphanDependents !== undefined) return orphanDependents ? ORPHAN : '';
  if (propagationPolicy === undefined) return undefined;
  return { Foreground: FOREGROUND, Orphan: ORPHAN, Background: '' }[propagationPolicy];
}

function checkPreconditions({ kind, name }: Target, { metadata }: KubeObject, { preconditions = {} }: DeleteOptions): void {
  const { uid, resourceVersion } = preconditions;
  if (uid !== undefined && uid !== metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`;
    throw conflict(kindName(kind), name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`;
    throw conflict(kindName(kind), name, why);
  }
}
