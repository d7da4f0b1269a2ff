// Composition root: creates Purser's components, and determines the order in which they start and stop.

import { Subscription } from 'rxjs';
import { createClusterRbacInformers } from '../access/informers.ts';
import type { Cluster } from '../api/cluster.gen.ts';
import { FieldManager } from '../api/names.ts';
import { createFacade, type FacadeOptions } from '../facade/facade.ts';
import { computeWatchLimits } from '../facade/limits/concurrency.ts';
import { ReviewLimit } from '../facade/limits/review-limit.ts';
import { createLists, createListsOnDemand, LISTS } from '../facade/lists.ts';
import { KubeClient } from '../kube/client.ts';
import type { Informer, ListWatchProblem } from '../kube/informer.ts';
import { createTransport } from '../kube/transport.ts';
import { type Component, Lifecycle, STOP_MS } from '../runtime/lifecycle.ts';
import { createSetInformer } from '../sets/informers.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import { ClusterClients } from '../targets/cluster-clients.ts';
import { createProxyPolicy } from '../targets/dial-policy.ts';
import { FederatedAddresses } from '../targets/federated-addresses.ts';
import { createRegistryInformers, Registry, type RegistryInformersOptions } from '../targets/registry.ts';
import { readBuild } from '../telemetry/build.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { createTokenInformers, type TokenInformersOptions } from '../tokens/informers.ts';
import { createCertificateRenewal, selectCertificateSource, waitForCertificate } from './certificate.ts';
import { createLeaderComponents } from './controllers.ts';
import { createCaches, createCrdInstaller, type HubInformers, logProblem } from './hub.ts';
import { createOperations, ProcessState } from './operations.ts';
import type { AppOptions } from './options.ts';

/** A running instance of Purser. */
export interface App {
  /** URL of the hub. */
  readonly server: string;
  /**
   * Resolves with Purser's URLs once all components run. Rejects if a component fails to start, for example because a port is in use, or if
   * `stop` is called first.
   */
  readonly ready: Promise<ServedUrls>;
  stop(): Promise<void>;
}

/** Purser's URLs. */
export interface ServedUrls {
  /** URL of the façade; undefined if this process does not run the façade. */
  readonly facade?: string;
  readonly metrics: string;
}

/** Starts Purser on a hub. Throws if the configuration is unusable. While the hub is unreachable, `ready` stays pending. */
export function startApp(options: AppOptions): App {
  const { hub, clock, log, execEnv } = options;
  const transport = createTransport(hub, omitUndefined({ clock, execEnv }));
  const client = new KubeClient(transport, FieldManager);
  const state = new ProcessState();
  const served = { metrics: '' };
  const components = createComponents(options, { client, state, served }).map((component) => state.track(component));
  const lifecycle = new Lifecycle(components, clock);
  const ready = lifecycle.start().then((): ServedUrls => served);
  // Prevents an unhandled rejection if the caller ignores `ready`.
  ready.catch(() => {});
  const stop = async () => {
    state.markStopping();
    for (const { name, error } of await lifecycle.stop()) log.warn({ component: name, error }, 'component did not stop cleanly');
    await transport.close();
  };
  return { server: transport.server, ready, stop };
}

interface Parts {
  readonly client: KubeClient;
  readonly state: ProcessState;
  /** URLs, set when the listeners start. */
  readonly served: { facade?: string; metrics: string };
}

/** Returns the components in start order; they stop in reverse order. */
function createComponents(options: AppOptions, { client, state, served }: Parts): readonly Component[] {
  const { clock, random, log, settings } = options;
  const { credentialNamespaces, namespaces, facadeAnnotations: annotationPrefixes, components } = settings;
  const informers = createHubInformers({ client, clock, random, credentialNamespaces, namespaces, annotationPrefixes });
  const clients = createClusterClients(options, client, informers);
  const certificate = selectCertificateSource(options, client);
  const reviewLimit = new ReviewLimit(clock);
  const { tokens, sets, clusters } = informers;
  const metrics = new Metrics({ build: readBuild(), tokens: tokens.store, sets: sets.store, clusters: clusters.store });
  const onListening = (part: keyof ServedUrls) => (url: string) => {
    served[part] = url;
  };
  const [hasController, hasFacade] = [components.includes('controller'), components.includes('facade')];
  return [
    createOperations(options, {
      hub: client,
      metrics,
      health: state.health,
      certificate,
      reviewLimit,
      onListening: onListening('metrics'),
    }),
    createCrdInstaller(options, client),
    createCaches(hasController ? informers : selectFacadeInformers(informers), client, { clock, log }),
    createConnectionCloser(clients, clusters),
    ...(hasController && !hasFacade && settings.facadeTlsSecret !== undefined ? [createCertificateRenewal(options, certificate)] : []),
    ...(hasController ? createLeaderComponents(options, { hub: client, informers, clients, metrics }) : []),
    // The façade starts last, because it may wait for its certificate.
    ...(hasFacade
      ? createFacadeComponents(options, {
          hub: client,
          clients,
          informers,
          metrics,
          certificate,
          reviewLimit,
          onListening: onListening('facade'),
        })
      : []),
  ];
}

/** Creates the informers on the hub, except those of `createListsOnDemand`. An informer starts on its first subscription. */
export function createHubInformers(options: RegistryInformersOptions & TokenInformersOptions): HubInformers {
  const { credentialNamespaces, annotationPrefixes, namespaces, ...common } = options;
  return {
    ...createRegistryInformers({ ...common, credentialNamespaces, annotationPrefixes }),
    ...createTokenInformers({ ...common, namespaces }),
    ...createClusterRbacInformers(common),
    sets: createSetInformer({ ...common, namespaces }),
  };
}

function createClusterClients({ clock, settings }: AppOptions, client: KubeClient, { credentials }: HubInformers): ClusterClients {
  const { credentialNamespaces, allowLoopback, hubCluster, namespace, ownAddress } = settings;
  const hub = { clusterName: hubCluster, client, namespace };
  const reach = { allowLoopback, proxyFor: createProxyPolicy(settings), ownAddress };
  const stores = credentials.map(({ store }) => store);
  const federatedAddresses = new FederatedAddresses(stores, namespace);
  return new ClusterClients({ clock, ...reach, credentialNamespaces, hub, federatedAddresses });
}

/**
 * Creates the component that closes the connections to a deleted Cluster, prevents new ones until the informer reports the Cluster again,
 * and closes all connections at shutdown. It runs on the leader and on followers.
 */
export function createConnectionCloser(clients: ClusterClients, { changes$ }: Pick<Informer<Cluster>, 'changes$'>): Component {
  const following = new Subscription();
  const start = async () => {
    following.add(changes$.subscribe(({ type, object }) => (type === 'deleted' ? void clients.forget(object) : clients.recall(object))));
  };
  const stop = async () => {
    following.unsubscribe();
    await clients.close();
  };
  return { name: 'connections to targets', start, stop };
}

interface FacadeParts extends Pick<Required<FacadeOptions>, 'hub' | 'clients' | 'certificate' | 'reviewLimit'> {
  readonly informers: FacadeInformers;
  readonly metrics: Metrics;
  readonly onListening: (url: string) => void;
}

/** Informers that the façade needs even without callers: those of `LISTS`, of credentials and of RBAC. */
type FacadeInformers = Pick<HubInformers, keyof typeof LISTS | 'credentials' | 'roles' | 'bindings'>;

/** Returns the informers that a process without controllers needs. */
function selectFacadeInformers(informers: HubInformers): FacadeInformers {
  const { credentials, roles, bindings } = informers;
  const listed = (Object.keys(LISTS) as readonly (keyof typeof LISTS)[]).map((name) => [name, informers[name]] as const);
  return { ...(Object.fromEntries(listed) as Pick<HubInformers, keyof typeof LISTS>), credentials, roles, bindings };
}

/** Creates the components of the façade. They run on the leader and on followers, and start after the caches are synced. */
function createFacadeComponents(
  { clock, random, log, settings }: AppOptions,
  { informers, metrics, certificate, onListening, ...parts }: FacadeParts,
): readonly Component[] {
  const { hub } = parts;
  const { namespaces, facadeAnnotations: annotationPrefixes, memoryBytes, drainMs } = settings;
  const { roles, bindings } = informers;
  const { registered: findRegistration } = new Registry(informers);
  const onProblem = (problem: ListWatchProblem, forbiddenRemedy: string) => logProblem(log, problem, forbiddenRemedy);
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
  metrics.observeWatches(() => lists.countWatches());
  const facade = createFacade({ ...parts, findRegistration, clock, log, settings, metrics, lists, certificate });
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
      start: async () => onListening(await facade.listen()),
      stop: () => facade.close(graceMs),
      stopMs: graceMs + STOP_MS,
    },
  ];
}
