// Prerequisites of the controllers and the façade on the hub: Purser's CustomResourceDefinitions and synced caches.

import { combineLatest, filter, firstValueFrom, merge, Subscription } from 'rxjs';
import { type ApiObject, Clusters, ManagedTokenSets, ManagedTokens } from '../api/resources.ts';
import { isExpired, type KubeClient } from '../kube/client.ts';
import { rejectOnAbort } from '../kube/deadline.ts';
import { waitUntilServed } from '../kube/discovery.ts';
import type { Informer, ListWatchProblem } from '../kube/informer.ts';
import { applyAll, readManifests } from '../kube/manifests.ts';
import { hasReason } from '../kubernetes/status.ts';
import type { Component } from '../runtime/lifecycle.ts';
import type { SetInformers } from '../sets/informers.ts';
import { retryUntilDone } from '../std/backoff.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { AppOptions, AppSettings } from './options.ts';

/** Creates the component that installs the CustomResourceDefinitions, if enabled, and waits until the hub serves them. */
export function createCrdInstaller({ clock, random, log, settings }: AppOptions, client: KubeClient): Component {
  let isLogged = false;
  const logMissing = (isInstalled: boolean) => (missing: readonly { readonly kind: string }[]) => {
    const kinds = missing.map(({ kind }) => kind).join(', ');
    if (isInstalled) log.debug({ kinds }, 'custom resources not served yet');
    else if (!isLogged) log.warn({ kinds, remedy: REMEDY }, 'custom resources missing');
    isLogged = true;
  };
  const onProblem = (error: unknown) => log.warn({ error }, 'request to the hub failed');
  const start = async (signal: AbortSignal) => {
    const onMissing = logMissing(mayInstall(settings) && (await install({ clock, random, log }, client, signal)));
    await waitUntilServed(client, [Clusters, ManagedTokens, ManagedTokenSets], { clock, random, signal, onMissing, onProblem });
  };
  return { name: 'custom resources', check: 'custom-resources', start, stop: async () => {} };
}

/** Returns whether this process installs the CustomResourceDefinitions: a façade without a controller has no write permissions. */
function mayInstall({ installCrds, components }: AppSettings): boolean {
  return installCrds && components.includes('controller');
}

const REMEDY =
  'in a checkout of Purser, run kubectl apply -f crds for the hub; or start a controller with --install-crds and permission to write CustomResourceDefinitions';

/** Installs the CustomResourceDefinitions. Returns false if Purser has no permission; then an administrator must install them. */
async function install({ clock, random, log }: Tools, client: KubeClient, signal: AbortSignal): Promise<boolean> {
  const manifests = await readManifests('crds');
  const onFailure = (error: unknown) => log.warn({ error }, 'cannot install custom resources');
  const attempt = async () => {
    try {
      await applyAll(client, manifests);
    } catch (error) {
      if (!hasReason(error, 'Forbidden')) throw error;
      onFailure(error);
      return false;
    }
    log.info('custom resources installed');
    return true;
  };
  return await retryUntilDone(attempt, { clock, random, signal, onFailure });
}

type Tools = Pick<AppOptions, 'clock' | 'random' | 'log'>;

/** Informers on the hub, except those of `createListsOnDemand`. The controller of ManagedTokenSets needs all of them. */
export type HubInformers = SetInformers;

/** Informers that this process runs; only a controller needs the optional ones. */
type Watched = Pick<HubInformers, 'clusters' | 'credentials' | 'roles' | 'bindings'> & Partial<HubInformers>;

/** Creates the component that runs the informers, on the leader and on followers, and waits until they are synced. */
export function createCaches({ credentials, ...others }: Watched, client: KubeClient, tools: Pick<Tools, 'clock' | 'log'>): Component {
  const { clock, log } = tools;
  const named: readonly NamedInformer[] = [...Object.entries(others), ...credentials.map((informer) => ['credentials', informer] as const)];
  const informers = named.map(([, informer]) => informer);
  const running = new Subscription();
  return {
    name: 'caches',
    check: 'informer-sync',
    async start(signal) {
      running.add(merge(...informers.map(({ problems$ }) => problems$)).subscribe((problem) => logProblem(log, problem)));
      running.add(merge(...informers.map(({ changes$ }) => changes$)).subscribe());
      const synced$ = combineLatest(informers.map((informer) => informer.synced$));
      const synced = firstValueFrom(synced$.pipe(filter((each) => each.every(Boolean))));
      const stopLogging = logUnsynced(named, { clock, log });
      await rejectOnAbort(synced, signal)
        .catch((error: unknown) => {
          running.unsubscribe();
          throw error;
        })
        .finally(stopLogging);
      const known = { clusters: others.clusters.store.size, managedTokens: others.tokens?.store.size };
      log.info({ hub: client.transport.server, ...known }, 'caches synced');
    },
    stop: async () => running.unsubscribe(),
  };
}

type NamedInformer = readonly [name: string, informer: Informer<ApiObject>];

/** Logs the informers that are not synced, every ten seconds. Returns a function that stops the logging. */
function logUnsynced(named: readonly NamedInformer[], { clock, log }: Pick<Tools, 'clock' | 'log'>): () => void {
  let cancel = clock.wakeAfter(LOG_INTERVAL_MS, logNow);
  function logNow(): void {
    const unsynced = named.filter(([, informer]) => !informer.synced).map(([name]) => name);
    log.warn({ unsynced }, 'caches not synced yet');
    cancel = clock.wakeAfter(LOG_INTERVAL_MS, logNow);
  }
  return () => cancel();
}

const LOG_INTERVAL_MS = 10_000;

/** Logs a failed watch, with `forbiddenRemedy` if the hub forbids the watch. */
export function logProblem(log: Logger, { error }: ListWatchProblem, forbiddenRemedy?: string): void {
  if (isExpired(error)) log.debug({ error }, 'watch expired');
  // kube-apiserver responds with 429 just after it starts to serve a new kind.
  else if (hasReason(error, 'TooManyRequests')) log.info({ error }, 'watch throttled');
  else log.warn({ error, ...(hasReason(error, 'Forbidden') && omitUndefined({ remedy: forbiddenRemedy })) }, 'watch failed');
}
