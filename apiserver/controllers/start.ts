// Starts all controllers and creates the bootstrap objects. Contains the controllers of default service accounts and of Event expiry.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { hasReason } from '../../src/kubernetes/status.ts';
import { parseGroupVersion } from '../../src/kubernetes/wire/group-version-kind.ts';
import { serviceAccountKind } from '../kinds/service-account.ts';
import type { Api } from '../verbs/api.ts';
import { createObject } from '../verbs/create.ts';
import { createSystemWriter, type StartController, type Stop, toTarget } from './controller.ts';
import { serveDefinitions } from './definitions.ts';
import { collectGarbage } from './garbage-collector.ts';
import { terminateNamespaces } from './namespace-terminator.ts';
import { aggregateRoles } from './role-aggregator.ts';

/** Controllers in start order. Definitions come first: other controllers also handle custom resources. */
const CONTROLLERS: readonly StartController[] = [
  serveDefinitions,
  createDefaultServiceAccounts,
  aggregateRoles,
  terminateNamespaces,
  collectGarbage,
  expireEvents,
];

/** Delay between a failed commit and the restart of the controllers, in milliseconds. */
const RETRY_MS = 5_000;

/** Creates the bootstrap objects and starts all controllers. Restarts the controllers from the stored state after a failed commit. */
export function startControllers(api: Api, initial: readonly KubeObject[]): Stop {
  createMissing(api, initial);
  let stops = CONTROLLERS.map((start) => start(api));
  let cancelRetry: Stop | undefined;
  const stopAll = () => stops.forEach((stop) => stop());
  const restart = () => {
    cancelRetry = undefined;
    stopAll();
    api.attempt(() => createMissing(api, initial));
    stops = CONTROLLERS.map((start) => start(api));
  };
  const unsubscribe = api.store.onUndone(() => {
    cancelRetry ??= api.wakeAt(api.now() + RETRY_MS, restart);
  });
  return () => {
    unsubscribe();
    cancelRetry?.();
    stopAll();
  };
}

/** Creates missing objects; does not change existing ones. */
function createMissing(api: Api, objects: readonly KubeObject[]): void {
  for (const object of objects) {
    const { group, version } = parseGroupVersion(object.apiVersion);
    const kind = api.registry.findKind(group, version, object.kind);
    if (kind === undefined) throw new Error(`${object.apiVersion} ${object.kind} is not served`);
    try {
      createObject(api, toTarget(kind, object), kind.rules.applyDefaults(object), createSystemWriter('kube-apiserver'));
    } catch (error) {
      if (!hasReason(error, 'AlreadyExists')) throw error;
    }
  }
}

const WRITER = createSystemWriter('kube-controller-manager');

/** Creates the service account `default` in every namespace that is not terminating, and re-creates a deleted one. */
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
  const parent = api.store.get('namespaces', namespace);
  if (exists || parent === undefined || parent.metadata.deletionTimestamp !== undefined) return;
  const serviceAccount = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } };
  createObject(api, toTarget(serviceAccountKind, serviceAccount), serviceAccount, WRITER);
}

const EVENT_LIFETIME_MS = 3_600_000;
const EXPIRY_INTERVAL_MS = 60_000;

/** Deletes Events that were created more than one hour ago: at the start of the controller, then once per minute. */
function expireEvents(api: Api): Stop {
  let cancel: Stop;
  const sweep = () => {
    const oldest = api.now() - EVENT_LIFETIME_MS;
    for (const { metadata } of api.store.list('events')) {
      if (Date.parse(metadata.creationTimestamp) < oldest) api.store.remove('events', `${metadata.namespace}/${metadata.name}`);
    }
    cancel = api.wakeAt(api.now() + EXPIRY_INTERVAL_MS, sweep);
  };
  sweep();
  return () => cancel();
}
