// Hub with the fleet that the web UI shows, and a façade.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ApiObject, Clusters, ManagedTokens, Namespaces, type Resource } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { type ApiObject as FleetObject, fleetAt, tokenAt } from '../browser/fleet.ts';
import { adminKubeConfig } from '../support/kubeconfig-file.ts';
import { startChild } from './child-process.ts';
import { type Hub, type HubWithFacade, startFacadeOf } from './hub-with-facade.ts';
import { inParallel } from './in-parallel.ts';

export interface FleetSizes {
  readonly clusters: number;
  readonly tokens: number;
}

/** Starts a hub with a fleet, and a façade. Purser does not change the fleet, because it runs without controllers. */
export async function startUiWorld(sizes: FleetSizes): Promise<HubWithFacade> {
  return await startFacadeOf(await startEmbeddedHub(), async (client) => {
    const { clusters, tokens } = fleetAt(Date.now(), sizes);
    const namespaces = new Set(tokens.map(({ metadata }) => metadata.namespace ?? ''));
    await inParallel([...namespaces], async (name) => void (await client.create(Namespaces, { metadata: { name } })));
    await createWithStatus(client, Clusters, clusters);
    await createWithStatus(client, ManagedTokens, tokens);
  });
}

/**
 * Starts the embedded API server as the hub: the page must receive 500 events a second, and kube-apiserver accepted 190 writes a second on
 * the two cores that it shares with the browser.
 */
async function startEmbeddedHub(): Promise<Hub> {
  const folder = await mkdtemp(join(tmpdir(), 'purser-bench-'));
  const { pid, message, stop } = await startChild<{ readonly url: string; readonly ca: string }>('test/support/api-server-process.ts', [
    join(folder, 'hub'),
  ]);
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, adminKubeConfig(message.url, message.ca));
  const remove = () => rm(folder, { recursive: true, force: true });
  return { url: message.url, pid, kubeconfig: () => Promise.resolve(kubeconfig), stop: () => stop().then(remove) };
}

/** Writes the status of tokens, `perSecond` times a second; returns the rate at which the hub accepted the writes. */
export async function rotateTokens(
  { client }: Pick<HubWithFacade, 'client'>,
  sizes: FleetSizes,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
): Promise<number> {
  const startedAt = performance.now();
  const writes = Array.from({ length: perSecond * seconds }, (_, index) => startedAt + (index / perSecond) * 1_000);
  await inParallel(writes, async (dueAt, index) => {
    await delay(Math.max(0, dueAt - performance.now()));
    const { metadata, status } = tokenAt((index * 31) % sizes.tokens, Date.now(), { clusters: sizes.clusters, generation: 1 });
    await client.patchStatus(ManagedTokens, metadata, { status });
  });
  return writes.length / ((performance.now() - startedAt) / 1_000);
}

/** Creates one more token. */
export async function addToken({ client }: Pick<HubWithFacade, 'client'>, { clusters, tokens }: FleetSizes): Promise<void> {
  await createWithStatus(client, ManagedTokens, [tokenAt(tokens, Date.now(), { clusters })]);
}

async function createWithStatus<T extends ApiObject>(
  client: KubeClient,
  resource: Resource<T>,
  objects: readonly FleetObject[],
): Promise<void> {
  await inParallel(objects, async ({ status, metadata, ...rest }) => {
    // The hub sets its own.
    const { resourceVersion: _, uid: __, ...named } = metadata;
    await client.create(resource, { ...rest, metadata: named } as unknown as T);
    await client.patchStatus(resource, metadata, { status });
  });
}
