// What Purser needs of the hub before it can do anything: its custom resources, and everything that is watched.

import { combineLatest, filter, firstValueFrom, merge, Subscription } from 'rxjs';
import { Clusters, ManagedTokens } from '../api/resources.ts';
import type { TokenInformers } from '../controllers/managed-token/hub-view.ts';
import { isExpired, type KubeClient } from '../kube/client.ts';
import { untilAborted } from '../kube/deadline.ts';
import type { Informer, Problem } from '../kube/informer.ts';
import { untilServed } from '../kube/served.ts';
import type { Component } from '../runtime/lifecycle.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { AppOptions } from './options.ts';

/** Without its custom resources Purser has nothing to do; they may come at any time. */
export function installed({ clock, random, log }: AppOptions, client: KubeClient): Component {
  let isTold = false;
  const onMissing = (missing: readonly { readonly kind: string }[]) => {
    const kinds = missing.map(({ kind }) => kind).join(', ');
    if (!isTold) log.warn({ kinds }, 'the hub lacks custom resources of Purser, install them with: kubectl apply -f crds');
    isTold = true;
  };
  const onProblem = (error: unknown) => log.warn({ error }, 'the hub does not answer as it should');
  const start = (signal: AbortSignal) => untilServed(client, [Clusters, ManagedTokens], { clock, random, signal, onMissing, onProblem });
  return { name: 'custom resources', start, stop: async () => {}, stopMs: STOP_MS };
}

/** What the hub has, kept in memory whether we lead or not. */
export function watches({ credentials, ...others }: TokenInformers, client: KubeClient, log: Logger): Component {
  const informers: readonly Informer<unknown>[] = [...Object.values(others), ...credentials];
  const running = new Subscription();
  return {
    name: 'watches',
    stopMs: STOP_MS,
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

const STOP_MS = 1_000;
