// The controllers, which run on one replica at a time.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { defer, merge, NEVER, type Observable, tap } from 'rxjs';
import { FieldManager } from '../api/names.ts';
import { createClusterController } from '../clusters/controller.ts';
import { KubeClient } from '../kube/client.ts';
import { createElection, type Election } from '../kube/lease.ts';
import type { OpenStreams } from '../kube/open-streams.ts';
import { Recorder } from '../kube/recorder.ts';
import { createTransport, type Transport } from '../kube/transport.ts';
import { whileLeading } from '../runtime/leadership.ts';
import { type Component, streamComponent } from '../runtime/lifecycle.ts';
import { report } from '../runtime/report.ts';
import { defined } from '../std/defined.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { tokenLimits } from '../targets/policy/token-request.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createTokenController } from '../tokens/controller.ts';
import type { TokenInformers } from '../tokens/hub-view.ts';
import type { AppOptions } from './options.ts';

export interface WorkParts {
  readonly hub: KubeClient;
  readonly informers: TokenInformers;
  readonly clients: ClusterClients;
  readonly metrics: Metrics;
}

/** What only the leader does, and what it needs for that. */
export function leaderWork(options: AppOptions, { hub, informers, clients, metrics }: WorkParts): readonly Component[] {
  const { clock, random, log, settings, onDefect = (error) => log.fatal({ error }, 'a defect of Purser ended its work') } = options;
  // A name for each life of a process, by which it speaks to the hub.
  const instance = `${hostname()}_${randomUUID()}`;
  const recorder = recorderOf(options, hub, instance);
  const leading = leadership(options, { identity: instance, streams: hub.transport.streams });
  metrics.observeLeadership(() => leading.leads());
  const { verifyIntervalMs, protectedNamespaces, credentialNamespaces, namespace, probeIntervalMs, accessIntervalMs } = settings;
  const limits = { ...tokenLimits(settings), credentialNamespaces };
  const tokenSettings = { verifyIntervalMs, protectedNamespaces, namespace, limits };
  const common = { informers, hub, clients, recorder, clock, random, log, metrics };
  const tokens = createTokenController({ ...common, settings: tokenSettings });
  const clusters = createClusterController({ ...common, settings: { probeIntervalMs, accessIntervalMs } });
  const reportFor = (controller: string) => report({ controller, log, metrics, clock });
  const work$ = (stopping: AbortSignal) =>
    merge(tokens(stopping).pipe(reportFor('managed-token')), clusters(stopping).pipe(reportFor('cluster-status')));
  const run = (stopping: AbortSignal) => whileLeading({ leads$: leading.leads$, work$: work$(stopping), stopping });
  return [
    { name: 'events', start: async () => {}, stop: () => recorder.flush() },
    leading,
    streamComponent({ name: 'controllers', run, stopMs: settings.drainMs, onDefect }),
  ];
}

function recorderOf({ clock, random, log }: AppOptions, client: KubeClient, instance: string): Recorder {
  const onProblem = (error: unknown) => log.warn({ error }, 'an event could not be written');
  return new Recorder({ client, clock, random, component: FieldManager, instance, onProblem });
}

/** A part of the process that stands for election from its start on, and gives the Lease back when it stops. */
export interface Leadership extends Component {
  /** Campaigns while it is subscribed to. */
  readonly leads$: Observable<boolean>;
  /** Whether the Lease is ours at this very instant. */
  leads(): boolean;
}

export interface Candidacy {
  /** A name that no other life of a process has. */
  readonly identity: string;
  /** The watches of the hub: the Lease, which is looked at all the time, is the first to tell when they may be dead. */
  readonly streams: OpenStreams;
}

/** Stands for election. */
export function leadership(options: AppOptions, { identity, streams }: Candidacy): Leadership {
  let standing: { readonly election: Election; readonly lease: Transport } | undefined;
  return {
    name: 'leadership',
    leads: () => standing?.election.leads ?? false,
    leads$: defer(() => standing?.election.leads$ ?? NEVER).pipe(tap(leadTeller(options.log))),
    async start() {
      const { hub, clock, execEnv } = options;
      // A way to the hub of its own: a Lease that waits behind a thousand other writes is lost.
      const lease = createTransport(hub, defined({ clock, streams, connections: 1, execEnv }));
      standing = { election: electionOf(options, new KubeClient(lease, FieldManager), identity), lease };
    },
    async stop() {
      try {
        await standing?.election.release();
      } finally {
        await standing?.lease.close();
      }
    },
  };
}

function electionOf({ clock, random, log, settings }: AppOptions, client: KubeClient, identity: string): Election {
  return createElection({
    client,
    clock,
    random,
    namespace: settings.namespace,
    name: FieldManager,
    identity,
    onProblem: (error) => log.warn({ error }, 'the Lease could not be read or written'),
    onHolder: (leader) => {
      if (leader !== identity) log.info({ leads: false, leader }, 'another process leads, and this one is ready to take over');
    },
  });
}

/** Tells when it turns; that nobody leads before the first attempt goes without saying. */
function leadTeller(log: Logger): (leads: boolean) => void {
  let told = false;
  return (leads) => {
    if (leads !== told) log.info({ leads }, leads ? 'this process leads' : 'this process no longer leads');
    told = leads;
  };
}
