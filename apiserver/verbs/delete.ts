// Delete: at once, or, where finalizers stand in the way, by marking the object as being deleted.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { conflict, notFound } from '../../src/kubernetes/status.ts';
import type { DeleteOptions } from '../../src/kubernetes/wire/options.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import type { Kind } from '../kinds/kind.ts';
import { admitDelete } from './admission.ts';
import { type Api, kindName, resourceName, storeOf, type Target } from './api.ts';
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
  if (isGivenTime(kind, live, options)) return { object: live, gone: false };
  const next = markForDeletion(api, target, live, options);
  if (!isFinished(kind, next)) {
    return { object: next === live || options.dryRun ? next : store.put(next), gone: false };
  }
  const isSeenToGo = kind.rules.gracePeriodSeconds !== undefined;
  if (options.dryRun) return { object: isSeenToGo ? next : live, gone: true };
  const last = isSeenToGo ? store.put(next) : live;
  return { object: store.remove(last) ?? last, gone: true };
}

/** Whether the object has been given time to end, and is not told to hurry. */
function isGivenTime({ rules }: Kind, { metadata }: KubeObject, { gracePeriodSeconds: asked }: DeleteOptions): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds: given } = metadata;
  if (rules.gracePeriodSeconds === undefined || deletionTimestamp === undefined || given === undefined) return false;
  return asked === undefined || asked >= given;
}

/** The object with its deletion time and the finalizers of the asked-for propagation; itself if it has both already. */
function markForDeletion(api: Api, { kind }: Target, live: KubeObject, options: DeleteOptions): KubeObject {
  const { deletionTimestamp, finalizers: present = [] } = live.metadata;
  const finalizers = propagationFinalizers(present, options);
  const next = { ...live, metadata: withFinalizersOf(live, finalizers) };
  if (deletionTimestamp === undefined) return marked(next, kind, api.now(), options);
  if (kind.rules.gracePeriodSeconds !== undefined) return hurried(next, options.gracePeriodSeconds ?? 0);
  return finalizers === present ? live : next;
}

function marked(object: KubeObject, { rules }: Kind, now: number, options: DeleteOptions): KubeObject {
  if (rules.terminating !== undefined) return rules.terminating(object, formatTimestamp(now));
  const graceSeconds = rules.gracePeriodSeconds?.(object, options.gracePeriodSeconds) ?? 0;
  const { generation = 0 } = object.metadata;
  return {
    ...object,
    metadata: {
      ...object.metadata,
      deletionTimestamp: formatTimestamp(now + graceSeconds * 1000),
      deletionGracePeriodSeconds: graceSeconds,
      // Controllers that look at the generation notice the deletion, too.
      ...(generation > 0 && { generation: generation + 1 }),
    },
  };
}

/** The object with less time than it was given. */
function hurried(object: KubeObject, graceSeconds: number): KubeObject {
  const { deletionTimestamp = '', deletionGracePeriodSeconds = 0 } = object.metadata;
  const sinceAt = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return {
    ...object,
    metadata: {
      ...object.metadata,
      deletionTimestamp: formatTimestamp(sinceAt + graceSeconds * 1000),
      deletionGracePeriodSeconds: graceSeconds,
    },
  };
}

function withFinalizersOf({ metadata }: KubeObject, finalizers: readonly string[]): KubeObject['metadata'] {
  const { finalizers: _, ...rest } = metadata;
  return finalizers.length === 0 ? rest : { ...rest, finalizers };
}

/** The same array when nothing changes. */
function propagationFinalizers(finalizers: readonly string[], options: DeleteOptions): readonly string[] {
  const wanted = wantedFinalizer(options);
  if (wanted === undefined) return finalizers;
  const others = finalizers.filter((name) => name !== FOREGROUND && name !== ORPHAN);
  const next = wanted === '' ? others : [...others, wanted];
  return next.length === finalizers.length && next.every((name, index) => name === finalizers[index]) ? finalizers : next;
}

/** The finalizer that the options ask for; empty for none; undefined to leave things as they are. */
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
