// The composition root: builds Purser on one hub, and owns the order in which its parts start and stop.

import { combineLatest, filter, firstValueFrom, merge } from 'rxjs';
import { FieldManager } from './api/names.ts';
import { Clusters, ManagedTokens } from './api/resources.ts';
import { isExpired, KubeClient } from './kube/client.ts';
import type { Env } from './kube/exec-credential.ts';
import { createInformer, type Problem } from './kube/informer.ts';
import type { KubeConfigSource } from './kube/kube-config.ts';
import { untilServed } from './kube/served.ts';
import { createTransport } from './kube/transport.ts';
import type { Clock } from './std/clock.ts';
import type { Logger } from './telemetry/logger.ts';

export interface AppOptions {
  /** The hub, and who we are there. */
  readonly hub: KubeConfigSource;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  /** Environment of the kubeconfig's credential plugins; without it, none is run. */
  readonly execEnv?: Env;
}

/** A running Purser. */
export interface App {
  /** The address of the hub. */
  readonly server: string;
  /** Resolves once everything on the hub that concerns us is known; rejects when the app is stopped before. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

/** Starts Purser on a hub. Throws for a configuration that cannot be used; a hub that does not answer is waited for. */
export function startApp({ hub, clock, random, log, execEnv }: AppOptions): App {
  const transport = createTransport(hub, { clock, ...(execEnv && { execEnv }) });
  const client = new KubeClient(transport, FieldManager);
  const stopping = new AbortController();
  const deps = { client, clock, random, log, signal: stopping.signal };
  const ready = untilInstalled(deps).then(() => startInformers(deps));
  // Whoever does not wait for it need not hear that it was cut short.
  ready.catch(() => {});
  return {
    server: transport.server,
    ready,
    stop: async () => {
      stopping.abort(new Error('Purser was stopped'));
      await transport.close();
    },
  };
}

interface Deps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Without its custom resources Purser has nothing to do; they may come at any time. */
async function untilInstalled({ client, log, ...rest }: Deps): Promise<void> {
  let isTold = false;
  await untilServed(client, [Clusters, ManagedTokens], {
    ...rest,
    onMissing: (missing) => {
      const kinds = missing.map(({ kind }) => kind).join(', ');
      if (!isTold) log.warn({ kinds }, 'the hub lacks custom resources of Purser, install them with: kubectl apply -f crds');
      isTold = true;
    },
    onProblem: (error) => log.warn({ error }, 'the hub does not answer as it should'),
  });
}

async function startInformers({ client, clock, random, log, signal }: Deps): Promise<void> {
  const clusters = createInformer({ client, resource: Clusters, clock, random });
  const tokens = createInformer({ client, resource: ManagedTokens, clock, random });
  const informers = [clusters, tokens];
  merge(...informers.map(({ problems$ }) => problems$)).subscribe((problem) => logProblem(log, problem));
  const running = merge(clusters.changes$, tokens.changes$).subscribe();
  signal.addEventListener('abort', () => running.unsubscribe());
  const synced$ = combineLatest(informers.map((informer) => informer.synced$));
  await Promise.race([firstValueFrom(synced$.pipe(filter((each) => each.every(Boolean)))), aborted(signal)]);
  log.info({ hub: client.transport.server, clusters: clusters.store.size, managedTokens: tokens.store.size }, 'Purser knows the hub');
}

function logProblem(log: Logger, { error }: Problem): void {
  if (isExpired(error)) log.debug({ error }, 'a watch starts over');
  else log.warn({ error }, 'a watch of the hub failed and is tried again');
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
}
