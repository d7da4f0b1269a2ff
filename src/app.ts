// The composition root: builds Purser on one hub, and owns the order in which its parts start and stop.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { combineLatest, filter, firstValueFrom, merge, Subscription } from 'rxjs';
import { FieldManager } from './api/names.ts';
import { Clusters, ManagedTokens } from './api/resources.ts';
import { createClusterController } from './controllers/cluster-status/controller.ts';
import { createTokenController } from './controllers/managed-token/controller.ts';
import type { TokenInformers } from './controllers/managed-token/hub-view.ts';
import { createTokenInformers } from './controllers/managed-token/informers.ts';
import { PROTECTED_NAMESPACES } from './domain/issue-names.ts';
import type { TokenLimits } from './domain/token-request.ts';
import { Authenticator } from './http/authenticate.ts';
import type { Health } from './http/operations/health.ts';
import { listenForOperations, type Operations } from './http/operations/listener.ts';
import { metricsAccess } from './http/operations/metrics-access.ts';
import { ClusterClients } from './issuers/cluster-clients.ts';
import { proxyPolicy } from './issuers/proxy-policy.ts';
import { isExpired, KubeClient } from './kube/client.ts';
import { untilAborted } from './kube/deadline.ts';
import type { Env } from './kube/exec-credential.ts';
import type { Informer, Problem } from './kube/informer.ts';
import type { KubeConfigSource } from './kube/kube-config.ts';
import { createElection } from './kube/lease.ts';
import { Recorder } from './kube/recorder.ts';
import { untilServed } from './kube/served.ts';
import { createTransport } from './kube/transport.ts';
import { whileLeading } from './runtime/leadership.ts';
import { type Component, Lifecycle, streamComponent } from './runtime/lifecycle.ts';
import { report } from './runtime/report.ts';
import type { Clock } from './std/clock.ts';
import { readBuild } from './telemetry/build.ts';
import type { Logger } from './telemetry/logger.ts';
import { Metrics } from './telemetry/metrics.ts';

export interface AppOptions {
  /** The hub, and who we are there. */
  readonly hub: KubeConfigSource;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  /** Environment of the kubeconfig's credential plugins; without it, none is run. */
  readonly execEnv?: Env;
  readonly settings: AppSettings;
  /** Told of a defect that ended the work: only a new process can help. */
  readonly onDefect?: (error: unknown) => void;
}

/** What an operator can set. */
export interface AppSettings {
  /** Where Purser is installed: its Lease is there. */
  readonly namespace: string;
  readonly credentialNamespaces: readonly string[];
  readonly protectedNamespaces?: readonly string[];
  /** The longest lifetime that a ManagedToken may ask for, and the audiences that it may name; all by default. */
  readonly maxExpirationSeconds?: number | undefined;
  readonly allowedAudiences?: readonly string[] | undefined;
  /** The proxy by which clusters are reached, and those that are reached without; see `proxyPolicy`. */
  readonly httpsProxy?: string | undefined;
  readonly noProxy?: string | undefined;
  readonly verifyIntervalMs: number;
  /** How often clusters are asked whether they are ready. */
  readonly probeIntervalMs?: number;
  /** How often their version, and our identity and rights there, are looked at. */
  readonly accessIntervalMs?: number;
  /** The Cluster that is the hub itself. */
  readonly hubCluster?: string | undefined;
  /** The address of ours by which the hub is reached. */
  readonly ownAddress?: string | undefined;
  /** Whether clusters may be on this machine. */
  readonly allowLoopback: boolean;
  /** How long work under way may take to end. */
  readonly drainMs: number;
  /** Where to listen; everywhere by default. */
  readonly bindAddress?: string | undefined;
  readonly metricsPort: number;
  /** Who may read the metrics: whoever the hub lets, or everybody. */
  readonly metricsAuth: 'token' | 'none';
}

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
  readonly metrics: string;
}

/** Starts Purser on a hub. Throws for a configuration that cannot be used; a hub that does not answer is waited for. */
export function startApp(options: AppOptions): App {
  const { hub, clock, log, execEnv } = options;
  const transport = createTransport(hub, { clock, ...(execEnv && { execEnv }) });
  const client = new KubeClient(transport, FieldManager);
  const state = new State();
  const lifecycle = new Lifecycle(componentsOf(options, client, state), clock);
  const ready = lifecycle.start().then(() => state.started());
  // Whoever does not wait for it need not hear that it was cut short.
  ready.catch(() => {});
  const stop = async () => {
    state.isStopping = true;
    for (const { name, error } of await lifecycle.stop())
      log.warn({ component: name, error }, 'a part of Purser did not end in good order');
    await transport.close();
  };
  return { server: transport.server, ready, stop };
}

/** How far the process is, as its probes tell it. The hub may be away: answers from memory are better than none. */
class State {
  isStopping = false;
  metricsUrl = '';
  #isStarted = false;
  readonly health: Health = {
    livez: [PING],
    readyz: [PING, { name: 'informer-sync', holds: () => this.#isStarted }, { name: 'shutdown', holds: () => !this.isStopping }],
  };

  started(): Served {
    this.#isStarted = true;
    return { metrics: this.metricsUrl };
  }
}

const PING = { name: 'ping', holds: () => true };

/** In the order in which they start; they stop in the reverse one. */
function componentsOf(options: AppOptions, client: KubeClient, state: State): readonly Component[] {
  const { clock, random, log, settings } = options;
  const informers = createTokenInformers({ client, clock, random, credentialNamespaces: settings.credentialNamespaces });
  const identity = `${hostname()}_${randomUUID()}`;
  const problem = (message: string) => (error: unknown) => log.warn({ error }, message);
  const voice = { client, clock, random, component: FieldManager, instance: identity };
  const recorder = new Recorder({ ...voice, onProblem: problem('an event could not be written') });
  const candidate = { client, clock, random, namespace: settings.namespace, name: FieldManager, identity };
  const election = createElection({ ...candidate, onProblem: problem('the Lease could not be read or written') });
  const { store: tokens } = informers.tokens;
  const { store: clusters } = informers.clusters;
  const metrics = new Metrics({ build: readBuild(), tokens, clusters, leads: () => election.leads });
  return [
    operations(options, { client, metrics, state }),
    installed(options, client),
    watches(informers, client, log),
    { name: 'events', start: done, stop: () => recorder.flush(), stopMs: FLUSH_MS },
    ...work(options, { client, informers, recorder, election, metrics }),
  ];
}

interface Parts {
  readonly client: KubeClient;
  readonly informers: TokenInformers;
  readonly recorder: Recorder;
  readonly election: ReturnType<typeof createElection>;
  readonly metrics: Metrics;
}

interface Observed extends Pick<Parts, 'client' | 'metrics'> {
  readonly state: State;
}

/** Probes come first and go last. */
function operations({ clock, log, settings }: AppOptions, { client: hub, metrics, state }: Observed): Component {
  const { bindAddress: host, metricsPort: port } = settings;
  const authenticator = new Authenticator({ hub, clock, log, audiences: [] });
  const admit = settings.metricsAuth === 'none' ? undefined : metricsAccess({ authenticator, hub, clock, log });
  let listening: Operations | undefined;
  return {
    name: 'metrics and health',
    stopMs: FLUSH_MS,
    async start() {
      listening = await listenForOperations({ host, port, health: state.health, metrics, admit, clock, log });
      state.metricsUrl = listening.url;
    },
    stop: async () => listening?.close(),
  };
}

/** What only the leader does, and what it needs for that. */
function work(options: AppOptions, { client, informers, recorder, election, metrics }: Parts): readonly Component[] {
  const { clock, random, log, settings, onDefect = (error) => log.fatal({ error }, 'a defect of Purser ended its work') } = options;
  const { credentialNamespaces, allowLoopback, hubCluster, namespace, verifyIntervalMs, ownAddress } = settings;
  const hub = hubCluster === undefined ? {} : { hub: { clusterName: hubCluster, client, namespace } };
  const reach = { allowLoopback, proxyFor: proxyPolicy(settings), ownAddress };
  const clients = new ClusterClients({ clock, ...reach, allowUnpinned: false, credentialNamespaces, ...hub });
  const protectedNamespaces = settings.protectedNamespaces ?? PROTECTED_NAMESPACES;
  const tokenSettings = { verifyIntervalMs, protectedNamespaces, ownAddress, limits: limitsOf(settings) };
  const common = { informers, hub: client, clients, recorder, clock, random, log, metrics };
  const tokens = createTokenController({ ...common, settings: tokenSettings });
  const { probeIntervalMs = PROBE_INTERVAL_MS, accessIntervalMs = ACCESS_INTERVAL_MS } = settings;
  const probeSettings = { probeIntervalMs, accessIntervalMs };
  const clusters = createClusterController({ ...common, settings: probeSettings });
  const told = (controller: string) => report({ controller, log, metrics });
  const work$ = (stopping: AbortSignal) =>
    merge(tokens(stopping).pipe(told('managed-token')), clusters(stopping).pipe(told('cluster-status')));
  const run = (stopping: AbortSignal) => whileLeading({ leads$: election.leads$, work$: work$(stopping), stopping });
  return [
    { name: 'target clusters', start: done, stop: () => clients.close(), stopMs: FLUSH_MS },
    { name: 'leadership', start: done, stop: () => election.release(), stopMs: FLUSH_MS },
    streamComponent({ name: 'controllers', run, stopMs: settings.drainMs, onDefect }),
  ];
}

function limitsOf({ maxExpirationSeconds, allowedAudiences }: AppSettings): TokenLimits {
  return { ...(maxExpirationSeconds !== undefined && { maxExpirationSeconds }), ...(allowedAudiences && { allowedAudiences }) };
}

const FLUSH_MS = 1_000;
const PROBE_INTERVAL_MS = 10_000;
const ACCESS_INTERVAL_MS = 60_000;

async function done(): Promise<void> {}

/** Without its custom resources Purser has nothing to do; they may come at any time. */
function installed({ clock, random, log }: AppOptions, client: KubeClient): Component {
  let isTold = false;
  const onMissing = (missing: readonly { readonly kind: string }[]) => {
    const kinds = missing.map(({ kind }) => kind).join(', ');
    if (!isTold) log.warn({ kinds }, 'the hub lacks custom resources of Purser, install them with: kubectl apply -f crds');
    isTold = true;
  };
  const onProblem = (error: unknown) => log.warn({ error }, 'the hub does not answer as it should');
  const start = (signal: AbortSignal) => untilServed(client, [Clusters, ManagedTokens], { clock, random, signal, onMissing, onProblem });
  return { name: 'custom resources', start, stop: done, stopMs: FLUSH_MS };
}

/** What the hub has, kept in memory whether we lead or not. */
function watches({ credentials, ...others }: TokenInformers, client: KubeClient, log: Logger): Component {
  const informers: readonly Informer<unknown>[] = [...Object.values(others), ...credentials];
  const running = new Subscription();
  return {
    name: 'watches',
    stopMs: FLUSH_MS,
    async start(signal) {
      running.add(merge(...informers.map(({ problems$ }) => problems$)).subscribe((problem) => logProblem(log, problem)));
      running.add(merge(...informers.map(({ changes$ }) => changes$)).subscribe());
      const synced$ = combineLatest(informers.map((informer) => informer.synced$));
      const synced = firstValueFrom(synced$.pipe(filter((each) => each.every(Boolean))));
      await untilAborted(synced, signal).catch((error: unknown) => {
        running.unsubscribe();
        throw error;
      });
      const known = { clusters: others.clusters.store.size, managedTokens: others.tokens.store.size };
      log.info({ hub: client.transport.server, ...known }, 'Purser knows the hub');
    },
    stop: async () => running.unsubscribe(),
  };
}

function logProblem(log: Logger, { error }: Problem): void {
  if (isExpired(error)) log.debug({ error }, 'a watch starts over');
  else log.warn({ error }, 'a watch of the hub failed and is tried again');
}
