// The composition root: builds Purser on one hub, and owns the order in which its parts start and stop.

import { FieldManager } from '../api/names.ts';
import { ReviewLimit } from '../facade/limits/review-limit.ts';
import { KubeClient } from '../kube/client.ts';
import { createTransport } from '../kube/transport.ts';
import { type Component, Lifecycle } from '../runtime/lifecycle.ts';
import { ClusterClients } from '../targets/cluster-clients.ts';
import { proxyPolicy } from '../targets/proxy-policy.ts';
import { readBuild } from '../telemetry/build.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { createTokenInformers } from '../tokens/informers.ts';
import { certificateUpkeep, servingCertificate } from './certificate.ts';
import { facade } from './facade.ts';
import { installed, watches } from './hub.ts';
import { leaderWork } from './leader-work.ts';
import { operations, ProcessState } from './operations.ts';
import type { AppOptions } from './options.ts';
import { targetClusters } from './target-clusters.ts';

/** A running Purser. */
export interface App {
  /** The address of the hub. */
  readonly server: string;
  /**
   * Resolves once everything on the hub that concerns us is known, with where we are served. Rejects when the app is
   * stopped before, and when a port cannot be had.
   */
  readonly ready: Promise<Served>;
  stop(): Promise<void>;
}

/** Where Purser itself is served. */
export interface Served {
  /** Undefined where this process has no façade. */
  readonly facade?: string;
  readonly metrics: string;
}

/** Starts Purser on a hub. Throws for a configuration that cannot be used; a hub that does not answer is waited for. */
export function startApp(options: AppOptions): App {
  const { hub, clock, log, execEnv } = options;
  const transport = createTransport(hub, { clock, ...(execEnv && { execEnv }) });
  const client = new KubeClient(transport, FieldManager);
  const state = new ProcessState();
  const served = { metrics: '' };
  const components = componentsOf(options, { client, state, served }).map((component) => state.following(component));
  const lifecycle = new Lifecycle(components, clock);
  const ready = lifecycle.start().then((): Served => served);
  // Whoever does not wait for it need not hear that it was cut short.
  ready.catch(() => {});
  const stop = async () => {
    state.stopping();
    for (const { name, error } of await lifecycle.stop())
      log.warn({ component: name, error }, 'a part of Purser did not end in good order');
    await transport.close();
  };
  return { server: transport.server, ready, stop };
}

interface Made {
  readonly client: KubeClient;
  readonly state: ProcessState;
  /** Filled in as parts begin to listen. */
  readonly served: { facade?: string; metrics: string };
}

/** In the order in which they start; they stop in the reverse one. */
function componentsOf(options: AppOptions, { client, state, served }: Made): readonly Component[] {
  const { clock, random, log, settings } = options;
  const { credentialNamespaces, namespaces, components } = settings;
  const informers = createTokenInformers({ client, clock, random, credentialNamespaces, namespaces });
  const clients = clusterClients(options, client);
  const certificate = servingCertificate(options, client);
  const reviewLimit = new ReviewLimit(clock);
  const metrics = new Metrics({ build: readBuild(), tokens: informers.tokens.store, clusters: informers.clusters.store });
  const onListening = (part: keyof Served) => (url: string) => {
    served[part] = url;
  };
  const { clusters, credentials, roles, bindings } = informers;
  const [leads, serves] = [components.includes('controller'), components.includes('facade')];
  return [
    operations(options, { hub: client, metrics, health: state.health, certificate, reviewLimit, onListening: onListening('metrics') }),
    installed(options, client),
    watches(leads ? informers : { clusters, credentials, roles, bindings }, client, { clock, log }),
    targetClusters(clients, informers.clusters),
    ...(leads && !serves && settings.facadeTlsSecret !== undefined ? [certificateUpkeep(options, certificate)] : []),
    ...(leads ? leaderWork(options, { hub: client, informers, clients, metrics }) : []),
    // Last: it may have to wait for its certificate, and nothing waits for it.
    ...(serves
      ? facade(options, { hub: client, clients, informers, metrics, certificate, reviewLimit, onListening: onListening('facade') })
      : []),
  ];
}

function clusterClients({ clock, settings }: AppOptions, client: KubeClient): ClusterClients {
  const { credentialNamespaces, allowLoopback, hubCluster, namespace, ownAddress } = settings;
  const hub = { clusterName: hubCluster, client, namespace };
  const reach = { allowLoopback, proxyFor: proxyPolicy(settings), ownAddress };
  return new ClusterClients({ clock, ...reach, credentialNamespaces, hub });
}
