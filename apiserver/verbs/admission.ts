// What the server refuses although it is well formed: content in a namespace that is not there or is going away.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { forbidden, notFound } from '../../src/kubernetes/status.ts';
import type { Kind } from '../kinds/kind.ts';
import { type Api, resourceName } from './api.ts';

const NAMESPACES = { group: '', name: 'namespaces' };
const IMMORTAL: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);

/** Nothing is created in a namespace that does not exist or is being terminated, nor of a kind that is going. */
export function admitCreate(api: Api, kind: Kind, { metadata }: KubeObject): void {
  if (kind.creationRefusal !== undefined) throw forbidden(resourceName(kind), metadata.name ?? '', kind.creationRefusal);
  if (!kind.namespaced) return;
  const namespace = metadata.namespace ?? '';
  const found = api.store.get('namespaces', namespace);
  if (found === undefined) throw notFound(NAMESPACES, namespace);
  if (found.metadata.deletionTimestamp !== undefined) throw terminating(kind, namespace, metadata.name || metadata.generateName || '');
}

/** The namespaces that the server itself relies on cannot be deleted. */
export function admitDelete(kind: Kind, name: string): void {
  if (kind.group !== '' || kind.plural !== 'namespaces' || !IMMORTAL.has(name)) return;
  throw forbidden(NAMESPACES, name, 'this namespace may not be deleted');
}

function terminating(kind: Kind, namespace: string, name: string): Error {
  return forbidden(resourceName(kind), name, `unable to create new content in namespace ${namespace} because it is being terminated`, [
    { reason: 'NamespaceTerminating', message: `namespace ${namespace} is being terminated`, field: 'metadata.namespace' },
  ]);
}
