// What Purser needs of the hub before it can do anything: its custom resources, and everything that is watched.

import { combineLatest, filter, firstValueFrom, merge, Subscription } from 'rxjs';
import { Clusters, ManagedTokens } from '../api/resources.ts';
import { isExpired, type KubeClient } from '../kube/client.ts';
import { untilAborted } from '../kube/deadline.ts';
import type { Informer, Problem } from '../kube/informer.ts';
import { applyAll, readManifests } from '../kube/manifests.ts';
import { untilServed } from '../kube/served.ts';
import { hasReason } from '../kubernetes/status.ts';
import type { Component } from '../runtime/lifecycle.ts';
import { retried } from '../std/retried.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { TokenInformers } from '../tokens/informers.ts';
import type { AppOptions, AppSettings } from './options.ts';

/** Without its custom resources Purser has nothing to do; they may come at any time. */
export function installed({ clock, random, log, settings }: AppOptions, client: KubeClient): Component {
  let isTold = false;
  const tellMissing = (isInstalled: boolean) => (missing: readonly { readonly kind: string }[]) => {
    const kinds = missing.map(({ kind }) => kind).join(', ');
    if (isInstalled) log.debug({ kinds }, 'the hub does not serve the custom resources of Purser yet');
    else if (!isTold) log.warn({ kinds }, `the hub lacks custom resources of Purser, ${REMEDY}`);
    isTold = true;
  };
  const onProblem = (error: unknown) => log.warn({ error }, 'the hub does not answer as it should');
  const start = async (signal: AbortSignal) => {
    const onMissing = tellMissing(mayInstall(settings) && (await install({ clock, random, log }, client, signal)));
    await untilServed(client, [Clusters, ManagedTokens], { clock, random, signal, onMissing, onProblem });
  };
  return { name: 'custom resources', check: 'custom-resources', start, stop: async () => {} };
}

/** The façade writes nothing: where the parts run apart, it waits for what the controller installs. */
function mayInstall({ installCrds, components }: AppSettings): boolean {
  return installCrds && components.includes('controller');
}

const REMEDY = 'install them with: kubectl apply -f crds (or start with --install-crds)';

/** False for who may not install them: it says so, and waits for somebody who may. */
async function install({ clock, random, log }: Means, client: KubeClient, signal: AbortSignal): Promise<boolean> {
  const manifests = await readManifests('crds');
  const onFailure = (error: unknown) => log.warn({ error }, 'the custom resources of Purser could not be installed');
  const attempt = async () => {
    try {
      await applyAll(client, manifests);
    } catch (error) {
      if (!hasReason(error, 'Forbidden')) throw error;
      onFailure(error);
      return false;
    }
    log.info('the custom resources of Purser are installed');
    return true;
  };
  return await retried(attempt, { clock, random, signal, onFailure });
}

type Means = Pick<AppOptions, 'clock' | 'random' | 'log'>;

/** Without the controller, ManagedTokens and what belongs to them are none of our business. */
type Watched = Omit<TokenInformers, 'tokens' | 'secrets' | 'requesters'> & Partial<TokenInformers>;

/** What the hub has, kept in memory whether we lead or not. */
export function watches({ credentials, ...others }: Watched, client: KubeClient, means: Pick<Means, 'clock' | 'log'>): Component {
  const { clock, log } = means;
  const named: readonly Named[] = [...Object.entries(others), ...credentials.map((informer) => ['credentials', informer] as const)];
  const informers = named.map(([, informer]) => informer);
  const running = new Subscription();
  return {
    name: 'watches',
    check: 'informer-sync',
    async start(signal) {
      running.add(merge(...informers.map(({ problems$ }) => problems$)).subscribe((problem) => logProblem(log, problem)));
      running.add(merge(...informers.map(({ changes$ }) => changes$)).subscribe());
      const synced$ = combineLatest(informers.map((informer) => informer.synced$));
      const synced = firstValueFrom(synced$.pipe(filter((each) => each.every(Boolean))));
      const stopTelling = tellUnlisted(named, { clock, log });
      await untilAborted(synced, signal)
        .catch((error: unknown) => {
          running.unsubscribe();
          throw error;
        })
        .finally(stopTelling);
      const known = { clusters: others.clusters.store.size, managedTokens: others.tokens?.store.size };
      log.info({ hub: client.transport.server, ...known }, 'Purser knows the hub');
    },
    stop: async () => running.unsubscribe(),
  };
}

type Named = readonly [name: string, informer: Informer<unknown>];

/** Nothing is served before everything is listed, so whoever waits must learn what is missing. Returns how to end it. */
function tellUnlisted(named: readonly Named[], { clock, log }: Pick<Means, 'clock' | 'log'>): () => void {
  let cancel = clock.wakeAfter(TELL_MS, tell);
  function tell(): void {
    const unlisted = named.filter(([, informer]) => !informer.synced).map(([name]) => name);
    log.warn({ unlisted }, 'the hub has not listed everything yet');
    cancel = clock.wakeAfter(TELL_MS, tell);
  }
  return () => cancel();
}

const TELL_MS = 10_000;

function logProblem(log: Logger, { error }: Problem): void {
  if (isExpired(error)) log.debug({ error }, 'a watch starts over');
  // A kind that was just installed is not served in its first moments, and the hub says so.
  else if (hasReason(error, 'TooManyRequests')) log.info({ error }, 'a watch waits, as the hub asks');
  else log.warn({ error }, 'a watch of the hub failed and is tried again');
}
