// Every namespace has a service account called `default`.

import type { Kind } from '../kinds/kind.ts';
import type { Api } from '../verbs/api.ts';
import { createObject } from '../verbs/create.ts';
import { type Stop, systemWriter, targetOf } from './upkeep.ts';

const WRITER = systemWriter('kube-controller-manager');

export function keepDefaultAccounts(api: Api): Stop {
  for (const { metadata } of api.store.list('namespaces')) api.attempt(() => provideAccount(api, metadata.name));
  const stops = [
    api.store.subscribe('namespaces', ({ object }) => provideAccount(api, object.metadata.name)),
    api.store.subscribe('serviceaccounts', ({ object }) => provideAccount(api, object.metadata.namespace)),
  ];
  return () => stops.forEach((stop) => stop());
}

function provideAccount(api: Api, namespace = ''): void {
  const exists = api.store.get('serviceaccounts', `${namespace}/default`) !== undefined;
  const place = api.store.get('namespaces', namespace);
  if (exists || place === undefined || place.metadata.deletionTimestamp !== undefined) return;
  const kind = api.registry.find('', 'v1', 'serviceaccounts') as Kind;
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } };
  createObject(api, targetOf(kind, account), account, WRITER);
}
