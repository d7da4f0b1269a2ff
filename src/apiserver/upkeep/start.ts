// Everything that runs beside the requests, started in the order in which one needs the other.

import type { KubeObject } from '../../apimachinery/object.ts';
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

/** Creates what must be there and starts to look after it. */
export function startUpkeep(api: Api, initial: readonly KubeObject[]): Stop {
  bootstrap(api, initial);
  const stops = UPKEEP.map((start) => start(api));
  return () => stops.forEach((stop) => stop());
}
