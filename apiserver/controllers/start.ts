// Startup of the bootstrap objects and of all controllers, in the order of their dependencies.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { hasReason } from '../../src/kubernetes/status.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Api } from '../verbs/api.ts';
import { createObject } from '../verbs/create.ts';
import { type Stop, systemWriter, targetOf, type Upkeep } from './controller.ts';
import { serveDefinitions } from './definitions.ts';
import { collectGarbage } from './garbage-collector.ts';
import { terminateNamespaces } from './namespace-terminator.ts';
import { aggregateRoles } from './role-aggregator.ts';

/** Definitions first: other controllers also handle custom resources. */
const UPKEEP: readonly Upkeep[] = [
  serveDefinitions,
  createDefaultServiceAccounts,
  aggregateRoles,
  terminateNamespaces,
  collectGarbage,
  expireEvents,
];

/** Delay of a restart after writes were undone, in milliseconds. */
const RETRY_MS = 5_000;

/** Creates the bootstrap objects and starts all controllers. Restarts them after writes were undone: each begins with the stored state. */
export function startControllers(api: Api, initial: readonly KubeObject[]): Stop {
  bootstrap(api, initial);
  let stops = UPKEEP.map((start) => start(api));
  let cancelRetry: Stop | undefined;
  const stopAll = () => stops.forEach((stop) => stop());
  const startOver = () => {
    cancelRetry = undefined;
    stopAll();
    api.attempt(() => bootstrap(api, initial));
    stops = UPKEEP.map((start) => start(api));
  };
  const unsubscribe = api.store.onUndone(() => {
    cancelRetry ??= api.wakeAt(api.now() + RETRY_MS, startOver);
  });
  return () => {
    unsubscribe();
    cancelRetry?.();
    stopAll();
  };
}

/** Creates missing objects; changes of users stay. */
function bootstrap(api: Api, objects: readonly KubeObject[]): void {
  for (const object of objects) {
    const [group, version] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : ['', object.apiVersion];
    const kind = api.registry.findKind(group as string, version as string, object.kind);
    if (kind === undefined) throw new Error(`${object.apiVersion} ${object.kind} is not served here`);
    const { namespace = '', name = '' } = object.metadata;
    try {
      createObject(api, { kind, namespace, name, subresource: '' }, kind.rules.applyDefaults(object), systemWriter('kube-apiserver'));
    } catch (error) {
      if (!hasReason(error, 'AlreadyExists')) throw error;
    }
  }
}

const WRITER = systemWriter('kube-controller-manager');

function createDefaultServiceAccounts(api: Api): Stop {
  for (const { metadata } of api.store.list('namespaces')) api.attempt(() => createDefaultServiceAccount(api, metadata.name));
  const stops = [
    api.store.subscribe('namespaces', ({ object }) => createDefaultServiceAccount(api, object.metadata.name)),
    api.store.subscribe('serviceaccounts', ({ object }) => createDefaultServiceAccount(api, object.metadata.namespace)),
  ];
  return () => stops.forEach((stop) => stop());
}

function createDefaultServiceAccount(api: Api, namespace = ''): void {
  const exists = api.store.get('serviceaccounts', `${namespace}/default`) !== undefined;
  const place = api.store.get('namespaces', namespace);
  if (exists || place === undefined || place.metadata.deletionTimestamp !== undefined) return;
  const kind = api.registry.find('', 'v1', 'serviceaccounts') as Kind;
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } };
  createObject(api, targetOf(kind, account), account, WRITER);
}

const LIFETIME_MS = 3_600_000;
const INTERVAL_MS = 60_000;

function expireEvents(api: Api): Stop {
  let cancel: Stop;
  const sweep = () => {
    const oldest = api.now() - LIFETIME_MS;
    for (const { metadata } of api.store.list('events')) {
      if (Date.parse(metadata.creationTimestamp ?? '') < oldest) api.store.remove('events', `${metadata.namespace}/${metadata.name}`);
    }
    cancel = api.wakeAt(api.now() + INTERVAL_MS, sweep);
  };
  sweep();
  return () => cancel();
}
