// Hub with the fleet that the web UI shows, and a façade.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type ApiObject,
  ClusterRoleBindings,
  ClusterRoles,
  Clusters,
  ManagedTokens,
  Namespaces,
  type Resource,
  RoleBindings,
} from '../../src/api/resources.ts';
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

/** Token of a user who sees everything by a permission in each namespace. */
export const VIEWER = 'alicetoken';
/** Namespace of the last tokens, on which the viewer's permission changes repeatedly, and their number. */
const BATCH = 'batch';
const BATCH_SIZE = 100;
const ROLE = 'fleet-viewer';

/** Starts a hub with a fleet, and a façade. Purser does not change the fleet, because it runs without controllers. */
export async function startUiWorld(sizes: FleetSizes): Promise<HubWithFacade> {
  return await startFacadeOf(await startEmbeddedHub(), async (client) => {
    const { clusters, tokens: inTeams } = fleetAt(Date.now(), sizes);
    const firstOfBatch = sizes.tokens - BATCH_SIZE;
    const tokens = inTeams.map((token, at) =>
      at < firstOfBatch ? token : { ...token, metadata: { ...token.metadata, namespace: BATCH } },
    );
    const namespaces = new Set(tokens.map(({ metadata }) => metadata.namespace ?? ''));
    await inParallel([...namespaces], async (name) => void (await client.create(Namespaces, { metadata: { name } })));
    await grantAll(client, namespaces);
    await createWithStatus(client, Clusters, clusters);
    await createWithStatus(client, ManagedTokens, tokens);
  });
}

/** Grants the viewer the Clusters, and the ManagedTokens in each namespace. */
async function grantAll(client: KubeClient, namespaces: ReadonlySet<string>): Promise<void> {
  const rules = [
    { verbs: ['list'], apiGroups: ['registry.purser.dev'], resources: ['clusters'] },
    { verbs: ['list'], apiGroups: ['tokens.purser.dev'], resources: ['managedtokens'] },
  ];
  const [clusters, tokens] = [`${ROLE}-clusters`, ROLE];
  await client.create(ClusterRoles, { metadata: { name: clusters }, rules: rules.slice(0, 1) });
  await client.create(ClusterRoles, { metadata: { name: tokens }, rules: rules.slice(1) });
  await client.create(ClusterRoleBindings, { metadata: { name: clusters }, ...bindingTo(clusters) });
  await inParallel([...namespaces], (namespace) => grantTokens(client, namespace));
}

async function grantTokens(client: KubeClient, namespace: string): Promise<void> {
  await client.create(RoleBindings, { metadata: { namespace, name: ROLE }, ...bindingTo(ROLE) });
}

function bindingTo(role: string) {
  const apiGroup = 'rbac.authorization.k8s.io';
  return { roleRef: { apiGroup, kind: 'ClusterRole', name: role }, subjects: [{ apiGroup, kind: 'User', name: 'alice' }] };
}

/**
 * Starts the embedded API server as the hub, because kube-apiserver accepted only 190 writes per second on the two cores that it shares
 * with the browser.
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

/** Rate of the events that are caused for the viewer, and its duration. */
interface Rate {
  /** Number of changes to tokens per second. */
  readonly changes: number;
  /** Number of tokens per second that a change of permission hides or shows. */
  readonly hidden: number;
  readonly seconds: number;
}

/** Changes tokens and a permission on the hub. Returns the number of events per second for the viewer. */
export async function causeEvents({ client }: Pick<HubWithFacade, 'client'>, sizes: FleetSizes, rate: Rate): Promise<number> {
  const startedAt = performance.now();
  // An even number, so that all tokens are visible in the end.
  const switches = 2 * Math.ceil((rate.hidden * rate.seconds) / BATCH_SIZE / 2);
  const changes = rate.changes * rate.seconds;
  await Promise.all([
    inParallel(timesOf(changes, rate), async (dueAt, index) => {
      await delay(Math.max(0, startedAt + dueAt - performance.now()));
      const at = (index * 31) % (sizes.tokens - BATCH_SIZE);
      const { metadata, status } = tokenAt(at, Date.now(), { clusters: sizes.clusters, generation: 1 });
      await client.patchStatus(ManagedTokens, metadata, { status });
    }),
    inParallel(
      timesOf(switches, rate),
      async (dueAt, index) => {
        await delay(Math.max(0, startedAt + dueAt - performance.now()));
        if (index % 2 === 0) await client.delete(RoleBindings, { namespace: BATCH, name: ROLE });
        else await grantTokens(client, BATCH);
      },
      1,
    ),
  ]);
  return (changes + switches * BATCH_SIZE) / ((performance.now() - startedAt) / 1_000);
}

/** Returns evenly spread times, in milliseconds. */
function timesOf(count: number, { seconds }: Rate): readonly number[] {
  return Array.from({ length: count }, (_, index) => (index / count) * seconds * 1_000);
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
    // The hub sets its own version and UID.
    const { resourceVersion: _, uid: __, ...named } = metadata;
    await client.create(resource, { ...rest, metadata: named } as unknown as T);
    await client.patchStatus(resource, metadata, { status });
  });
}
