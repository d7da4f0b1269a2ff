// The controllers, which run on one replica at a time.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { merge, tap } from 'rxjs';
import { FieldManager } from '../api/names.ts';
import { createClusterController } from '../controllers/cluster-status/controller.ts';
import { createTokenController } from '../controllers/managed-token/controller.ts';
import type { TokenInformers } from '../controllers/managed-token/hub-view.ts';
import { PROTECTED_NAMESPACES } from '../domain/issue-names.ts';
import { PROBE_INTERVAL_MS } from '../domain/known-unreachable.ts';
import { tokenLimits } from '../domain/token-request.ts';
import type { ClusterClients } from '../issuers/cluster-clients.ts';
import { KubeClient } from '../kube/client.ts';
import { createElection } from '../kube/lease.ts';
import { Recorder } from '../kube/recorder.ts';
import { createTransport, type Transport } from '../kube/transport.ts';
import { whileLeading } from '../runtime/leadership.ts';
import { type Component, streamComponent } from '../runtime/lifecycle.ts';
import { report } from '../runtime/report.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
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
  const { verifyIntervalMs, ownAddress, probeIntervalMs = PROBE_INTERVAL_MS, accessIntervalMs = ACCESS_INTERVAL_MS } = settings;
  const lease = leaseTransport(options);
  const { recorder, election } = voiceOf(options, hub, new KubeClient(lease, FieldManager));
  metrics.leads = () => election.leads;
  const protectedNamespaces = settings.protectedNamespaces ?? PROTECTED_NAMESPACES;
  const tokenSettings = { verifyIntervalMs, protectedNamespaces, ownAddress, limits: tokenLimits(settings) };
  const common = { informers, hub, clients, recorder, clock, random, log, metrics };
  const tokens = createTokenController({ ...common, settings: tokenSettings });
  const clusters = createClusterController({ ...common, settings: { probeIntervalMs, accessIntervalMs } });
  const told = (controller: string) => report({ controller, log, metrics });
  const work$ = (stopping: AbortSignal) =>
    merge(tokens(stopping).pipe(told('managed-token')), clusters(stopping).pipe(told('cluster-status')));
  const leads$ = election.leads$.pipe(tap(leadTeller(log)));
  const release = async () => {
    try {
      await election.release();
    } finally {
      await lease.close();
    }
  };
  const run = (stopping: AbortSignal) => whileLeading({ leads$, work$: work$(stopping), stopping });
  return [
    { name: 'events', start: done, stop: () => recorder.flush(), stopMs: FLUSH_MS },
    { name: 'leadership', start: done, stop: release, stopMs: FLUSH_MS },
    streamComponent({ name: 'controllers', run, stopMs: settings.drainMs, onDefect }),
  ];
}

/** A way to the hub of its own: a Lease that waits behind a thousand other writes is lost. */
function leaseTransport({ hub, clock, execEnv }: AppOptions): Transport {
  return createTransport(hub, { clock, connections: 1, ...(execEnv && { execEnv }) });
}

/** Tells when it turns; that nobody leads before the first attempt goes without saying. */
function leadTeller(log: Logger): (leads: boolean) => void {
  let told = false;
  return (leads) => {
    if (leads !== told) log.info({ leads }, leads ? 'this process leads' : 'this process no longer leads');
    told = leads;
  };
}

/** How we speak to the hub: with a name for each life of a process. */
function voiceOf({ clock, random, log, settings }: AppOptions, client: KubeClient, leaseClient: KubeClient) {
  const identity = `${hostname()}_${randomUUID()}`;
  const problem = (message: string) => (error: unknown) => log.warn({ error }, message);
  const voice = { client, clock, random, component: FieldManager, instance: identity };
  const candidate = { client: leaseClient, clock, random, namespace: settings.namespace, name: FieldManager, identity };
  return {
    recorder: new Recorder({ ...voice, onProblem: problem('an event could not be written') }),
    election: createElection({
      ...candidate,
      onProblem: problem('the Lease could not be read or written'),
      onHolder: (leader) => {
        if (leader !== identity) log.info({ leads: false, leader }, 'another process leads, and this one is ready to take over');
      },
    }),
  };
}

const FLUSH_MS = 1_000;
const ACCESS_INTERVAL_MS = 60_000;

async function done(): Promise<void> {}
