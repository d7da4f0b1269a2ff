// The controllers, which run on one replica at a time.

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { merge } from 'rxjs';
import { FieldManager } from '../api/names.ts';
import { createClusterController } from '../clusters/controller.ts';
import type { KubeClient } from '../kube/client.ts';
import { Recorder } from '../kube/recorder.ts';
import { whileLeading } from '../runtime/leadership.ts';
import { type Component, streamComponent } from '../runtime/lifecycle.ts';
import { report } from '../runtime/report.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { tokenLimits } from '../targets/policy/token-request.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createTokenController } from '../tokens/controller.ts';
import type { TokenInformers } from '../tokens/informers.ts';
import { leadership } from './leadership.ts';
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
  metrics.leads = () => leading.leads();
  const { verifyIntervalMs, protectedNamespaces, credentialNamespaces, facadeAudiences, namespace } = settings;
  const { probeIntervalMs, accessIntervalMs } = settings;
  const limits = { ...tokenLimits(settings), credentialNamespaces, facadeAudiences };
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
