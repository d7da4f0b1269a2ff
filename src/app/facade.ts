// Components of the façade, which every replica runs. facade/facade.ts assembles the façade itself.

import { createFacade, type FacadeOptions } from '../facade/facade.ts';
import { computeWatchLimits } from '../facade/limits/concurrency.ts';
import { createLists, createListsOnDemand, LISTS } from '../facade/lists.ts';
import type { Problem } from '../kube/informer.ts';
import { type Component, STOP_MS } from '../runtime/lifecycle.ts';
import { Registry } from '../targets/registry.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { waitForCertificate } from './certificate.ts';
import { type HubInformers, logProblem } from './hub.ts';
import type { AppOptions } from './options.ts';

export interface FacadeParts extends Pick<Required<FacadeOptions>, 'hub' | 'clients' | 'certificate' | 'reviewLimit'> {
  readonly informers: FacadeInformers;
  readonly metrics: Metrics;
  readonly onListening: (url: string) => void;
}

/** Informers that the façade needs: those of its lists, of credentials and of RBAC. */
type FacadeInformers = Pick<HubInformers, keyof typeof LISTS | 'credentials' | 'roles' | 'bindings'>;

/** Returns the informers of a process without controllers. */
export function selectFacadeInformers(informers: HubInformers): FacadeInformers {
  const { credentials, roles, bindings } = informers;
  const listed = (Object.keys(LISTS) as readonly (keyof typeof LISTS)[]).map((name) => [name, informers[name]] as const);
  return { ...(Object.fromEntries(listed) as Pick<HubInformers, keyof typeof LISTS>), credentials, roles, bindings };
}

/** Creates the components of the façade; they start after the caches are synced. */
export function createFacadeComponents(
  { clock, random, log, settings }: AppOptions,
  { informers, metrics, certificate, onListening, ...parts }: FacadeParts,
): readonly Component[] {
  const { hub } = parts;
  const { namespaces, facadeAnnotations: annotationPrefixes, memoryBytes, drainMs } = settings;
  const { roles, bindings } = informers;
  const { registered } = new Registry(informers);
  const onProblem = (problem: Problem, forbiddenRemedy: string) => logProblem(log, problem, forbiddenRemedy);
  const lists = createLists({
    lists: LISTS,
    informers,
    listsOnDemand: createListsOnDemand({ hub, clock, random, log, namespaces, onProblem }),
    roles,
    bindings,
    hub,
    clock,
    random,
    log,
    annotationPrefixes,
    watchLimits: computeWatchLimits(memoryBytes),
  });
  metrics.observeWatches(() => lists.watching());
  const served = createFacade({ ...parts, registered, clock, log, settings, metrics, lists, certificate });
  const graceMs = drainMs / 4;
  return [
    {
      name: 'certificate',
      check: 'certificate',
      start: (signal) => waitForCertificate(certificate, clock, signal),
      stop: async () => {},
    },
    {
      name: 'façade',
      check: 'facade',
      start: async () => onListening(await served.listen()),
      stop: () => served.close(graceMs),
      stopMs: graceMs + STOP_MS,
    },
  ];
}
