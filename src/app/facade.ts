// What every replica serves to callers, whether it leads or not.

import { registeredCluster, type TokenInformers } from '../controllers/managed-token/hub-view.ts';
import { createFacade } from '../http/facade.ts';
import type { ClusterClients } from '../issuers/cluster-clients.ts';

import type { KubeClient } from '../kube/client.ts';
import type { Component } from '../runtime/lifecycle.ts';
import type { AppOptions } from './options.ts';

export interface FacadeParts {
  readonly hub: KubeClient;
  readonly clients: ClusterClients;
  readonly informers: Pick<TokenInformers, 'clusters' | 'credentials'>;
  readonly onListening: (url: string) => void;
}

/** Listens as long as Purser knows the hub. */
export function facade(options: AppOptions, { hub, clients, informers, onListening }: FacadeParts): Component {
  const { clock, log, settings, facadeCertificate: certificate } = options;
  const credentials = informers.credentials.map(({ store }) => store);
  const registered = (name: string) => registeredCluster(name, informers.clusters.store, credentials);
  const served = createFacade({ hub, clients, registered, clock, log, settings, ...(certificate && { certificate }) });
  const graceMs = settings.drainMs / 8;
  return {
    name: 'façade',
    stopMs: graceMs + CLOSE_MS,
    start: async () => onListening(await served.listen()),
    stop: () => served.close(graceMs),
  };
}

const CLOSE_MS = 1_000;
