// Everything that runs beside the requests, started in the order in which one needs the other.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { Api } from '../verbs/api.ts';
import { bootstrap } from './bootstrap.ts';
import { keepDefaultAccounts } from './default-account.ts';
import { serveDefinitions } from './definitions.ts';
import { expireEvents } from './event-expiry.ts';
import { collectGarbage } from './garbage-collector.ts';
import { terminateNamespaces } from './namespace-terminator.ts';
import { aggregateRoles } from './role-aggregator.ts';
import type { Stop, Upkeep } from './upkeep.ts';

/** Definitions first: the others look at custom resources, too. */
const UPKEEP: readonly Upkeep[] = [
  serveDefinitions,
  keepDefaultAccounts,
  aggregateRoles,
  terminateNamespaces,
  collectGarbage,
  expireEvents,
];

/** Delay before upkeep starts over after its writes may have been undone. */
const RETRY_MS = 5_000;

/** Creates what must be there and starts to look after it. Starts over after writes were undone: each part begins with what is stored. */
export function startUpkeep(api: Api, initial: readonly KubeObject[]): Stop {
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
