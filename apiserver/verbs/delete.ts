// Delete: removes an object, or sets its deletionTimestamp while it has finalizers.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { conflict, notFound } from '../../src/kubernetes/status.ts';
import type { DeleteOptions } from '../../src/kubernetes/wire/options.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import type { Kind } from '../kinds/kind.ts';
import { type Api, openStore, type RequestTarget, toResourceName } from './api.ts';
import { admitDelete } from './create.ts';
import { isRemovable } from './update.ts';

export interface Deletion {
  readonly object: KubeObject;
  /** False if finalizers keep the object. */
  readonly removed: boolean;
}

export function deleteObject(api: Api, target: RequestTarget, options: DeleteOptions): Deletion {
  const { kind, namespace, name } = target;
  const store = openStore(api, kind);
  admitDelete(kind, name);
  const live = store.get(namespace, name);
  if (live === undefined) throw notFound(toResourceName(kind), name);
  checkPreconditions(target, live, options);
  const next = live.metadata.deletionTimestamp === undefined ? markDeleted(live, kind, api.now()) : live;
  if (!isRemovable(kind, next)) {
    return { object: next === live || options.dryRun ? next : store.put(next), removed: false };
  }
  return { object: options.dryRun ? live : (store.remove(live) ?? live), removed: true };
}

function markDeleted(object: KubeObject, { rules }: Kind, now: number): KubeObject {
  if (rules.toTerminating !== undefined) return rules.toTerminating(object, formatTimestamp(now));
  const { generation = 0 } = object.metadata;
  return {
    ...object,
    metadata: {
      ...object.metadata,
      deletionTimestamp: formatTimestamp(now),
      deletionGracePeriodSeconds: 0,
      // A new generation lets controllers that compare generations notice the deletion.
      ...(generation > 0 && { generation: generation + 1 }),
    },
  };
}

function checkPreconditions({ kind, name }: RequestTarget, { metadata }: KubeObject, { preconditions = {} }: DeleteOptions): void {
  const { uid, resourceVersion } = preconditions;
  const named = { group: kind.group, name: kind.kind };
  if (uid !== undefined && uid !== metadata.uid) {
    const detail = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`;
    throw conflict(named, name, detail);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const detail = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`;
    throw conflict(named, name, detail);
  }
}
