// The controllers, which run on the elected leader only.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { defer, merge, NEVER, type Observable, tap } from 'rxjs';
import { FieldManager, SetFieldManager } from '../api/names.ts';
import { createClusterController } from '../clusters/controller.ts';
import { createCredentialController } from '../credentials/controller.ts';
import { KubeClient } from '../kube/client.ts';
import { createElection, type Election } from '../kube/lease.ts';
import type { OpenStreams } from '../kube/open-streams.ts';
import { Recorder } from '../kube/recorder.ts';
import { createTransport, type Transport } from '../kube/transport.ts';
import { whileLeading } from '../runtime/leadership.ts';
import { type Component, createStreamComponent } from '../runtime/lifecycle.ts';
import { report } from '../runtime/report.ts';
import { createSetController } from '../sets/controller.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { toTokenLimits } from '../targets/policy/grant.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createTokenController } from '../tokens/controller.ts';
import type { HubInformers } from './hub.ts';
import type { AppOptions } from './options.ts';

export interface WorkParts {
  readonly hub: KubeClient;
  readonly informers: HubInformers;
  readonly clients: ClusterClients;
  readonly metrics: Metrics;
}

/** Creates the components that a controller process needs: event recorder, leader election and controllers. */
export function createLeaderComponents(options: AppOptions, { hub, informers, clients, metrics }: WorkParts): readonly Component[] {
  const { clock, random, log, settings, onDefect = (error) => log.fatal({ error }, 'controllers failed') } = options;
  // Unique for each start of the process.
  const instance = `${hostname()}_${randomUUID()}`;
  const recorder = createRecorder(options, hub, instance);
  const leading = createLeadership(options, { identity: instance, streams: hub.transport.streams });
  metrics.observeLeadership(() => leading.leads());
  const { verifyIntervalMs, protectedNamespaces, credentialNamespaces, facadeAudiences, namespace } = settings;
  const { probeIntervalMs, accessIntervalMs } = settings;
  const limits = { ...toTokenLimits(settings), credentialNamespaces, facadeAudiences };
  const tokenSettings = { verifyIntervalMs, protectedNamespaces, namespace, limits };
  const common = { informers, hub, clients, recorder, clock, random, log, metrics };
  const tokens = createTokenController({ ...common, settings: tokenSettings });
  const credentials = createCredentialController({ ...common, settings: { probeIntervalMs } });
  const clusters = createClusterController({ ...common, settings: { probeIntervalMs, accessIntervalMs }, renewals: credentials });
  const sets = createSetController({
    ...common,
    hub: new KubeClient(hub.transport, SetFieldManager),
    settings: { protectedNamespaces, credentialNamespaces },
  });
  const reportFor = (controller: string) => report({ controller, log, metrics, clock });
  const work$ = (stopping: AbortSignal) =>
    merge(
      tokens(stopping).pipe(reportFor('managed-token')),
      sets(stopping).pipe(reportFor('managed-token-set')),
      clusters(stopping).pipe(reportFor('cluster-status')),
      credentials.run(stopping).pipe(reportFor('credential')),
    );
  const run = (stopping: AbortSignal) => whileLeading({ leads$: leading.leads$, work$: work$(stopping), stopping });
  return [
    { name: 'events', start: async () => {}, stop: () => recorder.flush() },
    leading,
    createStreamComponent({ name: 'controllers', run, stopMs: settings.drainMs, onDefect }),
  ];
}

function createRecorder({ clock, random, log }: AppOptions, client: KubeClient, instance: string): Recorder {
  const onProblem = (error: unknown) => log.warn({ error }, 'cannot record event');
  return new Recorder({ client, clock, random, component: FieldManager, instance, onProblem });
}

/** A component that takes part in the leader election and releases the Lease when it stops. */
export interface Leadership extends Component {
  /** True while this process leads: emits the current state, then each change. The election runs while this observable has subscribers. */
  readonly leads$: Observable<boolean>;
  /** Returns whether this process holds the Lease now. */
  leads(): boolean;
}

export interface ElectionCandidate {
  /** Identity in the leader election, unique for each start of the process. */
  readonly identity: string;
  /** Watches on the hub. The frequent requests for the Lease detect outages, and end the watches that an outage interrupted. */
  readonly streams: OpenStreams;
}

/** Creates the component that takes part in the leader election. Sends no requests before it starts. */
export function createLeadership(options: AppOptions, { identity, streams }: ElectionCandidate): Leadership {
  let candidacy: { readonly election: Election; readonly lease: Transport } | undefined;
  return {
    name: 'leadership',
    leads: () => candidacy?.election.leads ?? false,
    leads$: defer(() => candidacy?.election.leads$ ?? NEVER).pipe(tap(logLeadership(options.log))),
    async start() {
      const { hub, clock, execEnv } = options;
      // The election has its own connection: if a Lease request waited behind other writes, this process could lose the Lease.
      const lease = createTransport(hub, omitUndefined({ clock, streams, connections: 1, execEnv }));
      candidacy = { election: joinElection(options, new KubeClient(lease, FieldManager), identity), lease };
    },
    async stop() {
      try {
        await candidacy?.election.release();
      } finally {
        await candidacy?.lease.close();
      }
    },
  };
}

function joinElection({ clock, random, log, settings }: AppOptions, client: KubeClient, identity: string): Election {
  return createElection({
    client,
    clock,
    random,
    namespace: settings.namespace,
    name: FieldManager,
    identity,
    onProblem: (error) => log.warn({ error }, 'failed to read or write Lease'),
    onHolder: (leader) => {
      if (leader !== identity) log.info({ leads: false, leader }, 'standing by');
    },
  });
}

/** Returns a function that logs when this process acquires or loses leadership. */
function logLeadership(log: Logger): (leads: boolean) => void {
  let logged = false;
  return (leads) => {
    if (leads !== logged) log.info({ leads }, leads ? 'acquired leadership' : 'lost leadership');
    logged = leads;
  };
}
