// Every namespace has a service account called `default`.

import type { KubeObject } from '../object.ts';
import type { Api } from '../verbs/api.ts';
import { createObject } from '../verbs/create.ts';
import { type Stop, systemWriter } from './upkeep.ts';

const WRITER = systemWriter('kube-controller-manager');

export function keepDefaultAccounts(api: Api): Stop {
  const provide = (namespace: KubeObject) => provideAccount(api, namespace);
  api.store.list('namespaces').forEach(provide);
  const stops = [
    api.store.subscribe('namespaces', ({ type, object }) => type !== 'DELETED' && provide(object)),
    api.store.subscribe('serviceaccounts', ({ type, object }) => {
      const namespace = api.store.get('namespaces', object.metadata.namespace ?? '');
      if (type === 'DELETED' && namespace !== undefined) provide(namespace);
    }),
  ];
  return () => stops.forEach((stop) => stop());
}

function provideAccount(api: Api, { metadata: { name: namespace = '', deletionTimestamp } }: KubeObject): void {
  const kind = api.registry.find('', 'v1', 'serviceaccounts');
  const exists = api.store.get('serviceaccounts', `${namespace}/default`) !== undefined;
  if (kind === undefined || exists || deletionTimestamp !== undefined) return;
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } };
  createObject(api, { kind, namespace, name: 'default', subresource: '' }, account, WRITER);
}
