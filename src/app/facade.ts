// The façade, which every replica serves.

import { Subscription } from 'rxjs';
import type { CertificateSource } from '../facade/certificate.ts';
import { createFacade } from '../facade/facade.ts';
import { watchLimits } from '../facade/limits/concurrency.ts';
import type { ReviewLimit } from '../facade/limits/review-limit.ts';
import { createLists, LISTS } from '../facade/lists.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Component, STOP_MS } from '../runtime/lifecycle.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { registeredCluster } from '../targets/registered-cluster.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { TokenInformers } from '../tokens/informers.ts';
import { untilFound } from './certificate.ts';
import type { AppOptions } from './options.ts';

export interface FacadeParts {
  readonly hub: KubeClient;
  readonly clients: ClusterClients;
  readonly informers: FacadeInformers;
  readonly metrics: Metrics;
  readonly certificate: CertificateSource;
  readonly reviewLimit: ReviewLimit;
  readonly onListening: (url: string) => void;
}

/** Informers that the façade needs: those of its lists, of credentials and of RBAC. */
type FacadeInformers = Pick<TokenInformers, keyof typeof LISTS | 'credentials' | 'roles' | 'bindings'>;

/** Returns the informers of a process without controllers. */
export function facadeInformers(informers: TokenInformers): FacadeInformers {
  const { credentials, roles, bindings } = informers;
  const listed = (Object.keys(LISTS) as readonly (keyof typeof LISTS)[]).map((name) => [name, informers[name]] as const);
  return { ...(Object.fromEntries(listed) as Pick<TokenInformers, keyof typeof LISTS>), credentials, roles, bindings };
}

/** Creates the components of the façade; they start after the caches are synced. */
export function facade(
  options: AppOptions,
  { hub, clients, informers, metrics, certificate, reviewLimit, onListening }: FacadeParts,
): readonly Component[] {
  const { clock, random, log, settings } = options;
  const credentials = informers.credentials.map(({ store }) => store);
  const registered = (name: string) => registeredCluster(name, informers.clusters.store, credentials);
  const { roles, bindings } = informers;
  const lists = createLists({
    lists: LISTS,
    informers,
    roles,
    bindings,
    hub,
    clock,
    random,
    log,
    annotationPrefixes: settings.facadeAnnotations,
    watchLimits: watchLimits(settings.memoryBytes),
  });
  metrics.observeWatches(() => lists.watching());
  const served = createFacade({ hub, clients, registered, clock, log, settings, metrics, lists, certificate, reviewLimit });
  const following = new Subscription();
  const graceMs = settings.drainMs / 4;
  const start = async () => {
    following.add(lists.run());
    onListening(await served.listen());
  };
  const stop = async () => {
    await served.close(graceMs);
    following.unsubscribe();
  };
  return [
    {
      name: 'certificate',
      check: 'certificate',
      start: (signal) => untilFound(certificate, clock, signal),
      stop: async () => {},
    },
    { name: 'façade', check: 'facade', start, stop, stopMs: graceMs + STOP_MS },
  ];
}
