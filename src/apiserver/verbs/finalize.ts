// The finalize subresource of namespaces: the one way to empty spec.finalizers.

import { notFound } from '../../api/status.ts';
import type { KubeObject } from '../object.ts';
import { type Api, checkValid, resourceName, storeOf, type Target, type Writer } from './api.ts';
import { checkUid, checkVersion, isFinished } from './update.ts';

/** Writes the finalizers of `next`; the object goes when it was only waiting for them. */
export function finalizeObject(api: Api, target: Target, next: KubeObject, writer: Writer): KubeObject {
  const { kind, namespace, name } = target;
  const { finalize } = kind.rules;
  const store = storeOf(api, kind);
  const live = store.get(namespace, name);
  if (live === undefined || finalize === undefined) throw notFound(resourceName(kind), name);
  checkUid(target, next, live);
  const prepared = finalize.prepareForUpdate(checkVersion(kind, name, next, live), live);
  checkValid(kind, prepared, finalize.validateUpdate(prepared, live));
  if (writer.dryRun) return prepared;
  if (!isFinished(kind, prepared)) return store.put(prepared);
  store.remove(live);
  return prepared;
}
