// What every replica serves to callers, whether it leads or not.

import { Subscription } from 'rxjs';
import { registeredCluster, type TokenInformers } from '../controllers/managed-token/hub-view.ts';
import { clusterRoutes, createClusterEndpoints } from '../http/clusters/endpoints.ts';
import { createFacade } from '../http/facade.ts';
import type { ClusterClients } from '../issuers/cluster-clients.ts';

import type { KubeClient } from '../kube/client.ts';
import type { Component } from '../runtime/lifecycle.ts';
import type { AppOptions } from './options.ts';

export interface FacadeParts {
  readonly hub: KubeClient;
  readonly clients: ClusterClients;
  readonly informers: Pick<TokenInformers, 'clusters' | 'credentials' | 'roles' | 'bindings'>;
  readonly onListening: (url: string) => void;
}

/** Listens as long as Purser knows the hub. */
export function facade(options: AppOptions, { hub, clients, informers, onListening }: FacadeParts): Component {
  const { clock, random, log, settings, facadeCertificate: certificate } = options;
  const credentials = informers.credentials.map(({ store }) => store);
  const registered = (name: string) => registeredCluster(name, informers.clusters.store, credentials);
  const endpoints = createClusterEndpoints({ ...informers, hub, clock, random, log });
  const routes = clusterRoutes(endpoints);
  const served = createFacade({ hub, clients, registered, clock, log, settings, routes, ...(certificate && { certificate }) });
  const following = new Subscription();
  const graceMs = settings.drainMs / 8;
  return {
    name: 'façade',
    stopMs: graceMs + CLOSE_MS,
    async start() {
      following.add(endpoints.run());
      onListening(await served.listen());
    },
    async stop() {
      await served.close(graceMs);
      following.unsubscribe();
    },
  };
}

const CLOSE_MS = 1_000;
