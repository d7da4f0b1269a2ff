// The controller of namespace deletion: deletes the objects in a terminating namespace, then the namespace.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { Kind } from '../kinds/kind.ts';
import { ALL_RESOURCES } from '../storage/object-store.ts';
import type { Api } from '../verbs/api.ts';
import { deleteObject } from '../verbs/delete.ts';
import { type Stop, toTarget } from './controller.ts';

export function terminateNamespaces(api: Api): Stop {
  const reconcile = (name = '') => {
    if (api.store.get('namespaces', name)?.metadata.deletionTimestamp !== undefined) terminate(api, name);
  };
  for (const { metadata } of api.store.list('namespaces')) api.attempt(() => reconcile(metadata.name));
  return api.store.subscribe(ALL_RESOURCES, ({ resource, type, object: { metadata } }) => {
    if (resource === 'namespaces') reconcile(metadata.name);
    // The deletion of the last object completes the deletion of its namespace.
    else if (type === 'DELETED') reconcile(metadata.namespace);
  });
}

function terminate(api: Api, namespace: string): void {
  for (const { kind, object } of listContent(api, namespace)) {
    if (object.metadata.deletionTimestamp === undefined) deleteObject(api, toTarget(kind, object), { dryRun: false });
  }
  const terminating = api.store.get('namespaces', namespace);
  if (terminating === undefined || listContent(api, namespace).length > 0) return;
  const { finalizers = [] } = (terminating['spec'] ?? {}) as { finalizers?: readonly string[] };
  // Finalizers of other controllers keep the namespace.
  const others = finalizers.filter((name) => name !== 'kubernetes');
  if (others.length === finalizers.length) return;
  if (others.length === 0) api.store.remove('namespaces', namespace);
  else api.store.put('namespaces', namespace, { ...terminating, spec: { finalizers: others } });
}

function listContent(api: Api, namespace: string): readonly { readonly kind: Kind; readonly object: KubeObject }[] {
  return api.store.resources().flatMap((resource) => {
    const kind = api.registry.findByResource(resource);
    return kind?.namespaced ? api.store.list(resource, namespace).map((object) => ({ kind, object })) : [];
  });
}
