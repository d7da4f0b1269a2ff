// A ManagedTokenSet for many clusters, compared with as many ManagedTokens that a client creates.

import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster } from '../../../src/api/cluster.gen.ts';
import type { ManagedToken } from '../../../src/api/managed-token.gen.ts';
import type { ManagedTokenSet } from '../../../src/api/managed-token-set.gen.ts';
import { TokenConditionType } from '../../../src/api/names.ts';
import {
  ClusterRoles,
  Clusters,
  ManagedTokenSets,
  ManagedTokens,
  Namespaces,
  Secrets,
  ServiceAccounts,
  type Stored,
} from '../../../src/api/resources.ts';
import { findCondition } from '../../../src/kubernetes/conditions.ts';
import { ignoreReasons } from '../../../src/kubernetes/status.ts';
import { type AuditedRequest, AuditTail } from '../audit-tail.ts';
import { base64, NAMESPACE, ROLE } from '../hub.ts';
import { inParallel } from '../in-parallel.ts';
import { type Purser, startPurser } from '../purser-process.ts';
import { restart } from '../restart.ts';
import { atMost, type PrintProgress, type Scenario } from '../scenario.ts';
import { clientCertificate, PURSER_USER, startTokenWorld, type TokenWorld } from '../token-world.ts';

/** Costs of sets, and of ManagedTokens that a client creates; times are in seconds. */
interface SetCosts {
  readonly clusters: number;
  /** From the first creation by the client to the last token, in two rounds. */
  readonly handMade: readonly number[];
  /** From the creation of the set to the last token, in two rounds. */
  readonly sets: readonly number[];
  readonly writesPerChange: number;
  readonly requestsAtRest: number;
  /** From the labeling of a Cluster to the creation of its Secret. */
  readonly join: number;
  /** Resident memory in MB after restarts for the namespaces with ManagedTokens of the client, and for those with sets, in two rounds. */
  readonly memory: { readonly handMade: readonly number[]; readonly sets: readonly number[] };
}

export const tokenSets: Scenario = {
  name: 'token-sets',
  title: 'A ManagedTokenSet for many clusters',
  sizeUnit: 'clusters',
  sizes: { small: 200, full: 1_000 },
  note: `All Clusters refer to the same API server. The client sends 32 requests at a time. Both cases are measured twice, in turns, because
Purser is faster after it has warmed up. Memory is measured after a restart with \`--namespaces\`, with the same number of ManagedTokens in
both cases.`,
  run: async ({ size }, progress) => {
    const measured = await measure(size, progress);
    const { handMade, sets, writesPerChange, requestsAtRest, join, memory } = measured;
    const total = (seconds: readonly number[]) => seconds.reduce((sum, each) => sum + each, 0);
    const name = `${size.toLocaleString('en-US')} clusters`;
    return {
      measured,
      figures: [
        {
          name: `${name}: wall time of a new set, relative to ManagedTokens that a client creates`,
          value: total(sets) / total(handMade),
          unit: '×',
          goal: atMost(1.2),
        },
        {
          name: `${name}: ManagedToken writes per cluster for a change to the template`,
          value: writesPerChange,
          unit: '',
          goal: atMost(1),
        },
        { name: `${name}: requests for sets, ManagedTokens and reviews in 20 s at rest`, value: requestsAtRest, unit: '', goal: atMost(0) },
        { name: `${name}: time from the label on a Cluster to its Secret`, value: join, unit: 's', goal: atMost(2) },
        {
          name: `${name}: memory with two sets, relative to ManagedTokens that a client creates`,
          value: total(memory.sets) / total(memory.handMade),
          unit: '×',
          goal: atMost(1.1),
        },
      ],
      charts: [],
    };
  },
};

const TEAM = 'fleet';
const SELECTED = { fleet: 'bench' };
const POLL_MS = 250;
const STALL_MS = 300_000;
const REST_MS = 20_000;

async function measure(clusters: number, progress: PrintProgress): Promise<SetCosts> {
  const world = await startTokenWorld();
  try {
    progress(`registering ${clusters} clusters`);
    const names = Array.from({ length: clusters }, (_, index) => `c-${index}`);
    await registerAll(world, [...names, 'joining']);
    const purser = await startPurser(world.kubeconfig);
    await purser.ready;
    await waitUntil(purser, async () => (await readyClusters(world)) > clusters);
    const costs = await measureIn(world, purser, names, progress);
    await purser.stop();
    progress('restarting for some of the namespaces');
    const memory: { readonly handMade: number[]; readonly sets: number[] } = { handMade: [], sets: [] };
    for (let round = 0; round < 2; round++) {
      memory.handMade.push(await memoryFor(world, ['first', 'second']));
      memory.sets.push(await memoryFor(world, ['first-set', TEAM]));
    }
    return { clusters, ...costs, memory };
  } finally {
    await world.stop();
  }
}

async function measureIn(
  { client, hub }: TokenWorld,
  purser: Purser,
  names: readonly string[],
  progress: PrintProgress,
): Promise<Omit<SetCosts, 'clusters' | 'memory'>> {
  const timeOf = async (namespace: string, create: () => Promise<void>) => {
    // A new namespace each time: the budget of a namespace grows with its ManagedTokens.
    await client.create(Namespaces, { metadata: { name: namespace } });
    await client.create(ServiceAccounts, { metadata: { namespace, name: 'default' } });
    const startedAt = performance.now();
    await create();
    await waitUntil(purser, async () => (await client.listAll(ManagedTokens, { namespace })).filter(isReady).length === names.length);
    return (performance.now() - startedAt) / 1_000;
  };
  const byHand = (namespace: string) =>
    timeOf(namespace, () => inParallel(names, async (name) => void (await client.create(ManagedTokens, tokenFor(namespace, name)))));
  progress('creating ManagedTokens');
  const first = await byHand('first');
  progress('creating a set');
  const bySet = (namespace: string) =>
    timeOf(namespace, async () => void (await client.create(ManagedTokenSets, setFor(namespace, names.length))));
  const firstSet = await bySet('first-set');
  progress('creating ManagedTokens again');
  const second = await byHand('second');
  progress('creating another set');
  const secondSet = await bySet(TEAM);
  progress('changing the template');
  const log = new AuditTail(hub.auditLog, PURSER_USER);
  await log.next();
  const patch = { spec: { template: { spec: { rotation: { renewBefore: '30%' } } } } };
  await client.patch(ManagedTokenSets, { namespace: TEAM, name: TEAM }, patch);
  await waitUntil(purser, async () => {
    const { metadata, status } = await client.get(ManagedTokenSets, { namespace: TEAM, name: TEAM });
    return status?.observedGeneration === metadata.generation && status?.updated === names.length && status.ready === names.length;
  });
  const changes = (await log.next()).filter(({ request }) => /^(create|patch|update) managedtokens$/.test(request));
  progress('at rest');
  await delay(REST_MS);
  await log.next();
  await delay(REST_MS);
  const atRest = (await log.next()).filter(isForSets);
  progress('labeling a Cluster');
  const startedAt = performance.now();
  await client.patch(Clusters, { name: 'joining' }, { metadata: { labels: SELECTED } });
  await waitUntil(
    purser,
    async () => (await ignoreReasons(client.get(Secrets, { namespace: TEAM, name: 'joining' }), 'NotFound')) !== undefined,
    20,
  );
  const join = (performance.now() - startedAt) / 1_000;
  return {
    handMade: [first, second],
    sets: [firstSet, secondSet],
    writesPerChange: changes.length / names.length,
    requestsAtRest: atRest.length,
    join,
  };
}

async function memoryFor(world: TokenWorld, namespaces: readonly string[]): Promise<number> {
  const { purser, rssMegabytes } = await restart(world, ['--namespaces', namespaces.join(',')]);
  await purser.stop();
  return rssMegabytes;
}

function isForSets({ request }: AuditedRequest): boolean {
  return / (managedtokens|managedtokensets)(\/status)?$/.test(request) || request === 'create subjectaccessreviews';
}

function isReady(token: Stored<ManagedToken>): boolean {
  return findCondition(token, TokenConditionType.ready)?.status === 'True';
}

async function readyClusters({ client }: TokenWorld): Promise<number> {
  return (await client.listAll(Clusters)).filter((cluster) => findCondition(cluster, 'Ready')?.status === 'True').length;
}

async function waitUntil(purser: Purser, isDone: () => Promise<boolean>, pollMs = POLL_MS): Promise<void> {
  const startedAt = performance.now();
  while (!(await isDone())) {
    await purser.assertRunning();
    if (performance.now() - startedAt > STALL_MS) throw new Error(`the bench does not proceed; ${await purser.state()}`);
    await delay(pollMs);
  }
}

async function registerAll({ client, target }: TokenWorld, names: readonly string[]): Promise<void> {
  await client.patch(ClusterRoles, { name: ROLE }, [{ op: 'remove', path: '/rules/0/resourceNames' }]);
  const { certificate, key } = await clientCertificate(target, PURSER_USER);
  const data = { 'tls.crt': certificate, 'tls.key': key, server: target.url, 'ca.crt': target.ca, cluster: names.join('\n') };
  await client.create(Secrets, {
    metadata: { namespace: NAMESPACE, name: TEAM },
    type: 'Opaque',
    data: Object.fromEntries(Object.entries(data).map(([name, text]) => [name, base64(text)])),
  });
  await inParallel(names, async (name) => void (await client.create(Clusters, clusterFor(name, target))));
}

function clusterFor(name: string, { url, ca }: TokenWorld['target']): Cluster {
  return {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name, ...(name !== 'joining' && { labels: SELECTED }) },
    spec: {
      orchestratorApiEndpoints: { caBundle: base64(ca), serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: url }] },
      authInfo: { controller: { kind: 'Secret', namespace: NAMESPACE, name: TEAM } },
    },
  };
}

const TEMPLATE = { serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: ['https://kubernetes.default.svc'] };

/** Returns a ManagedToken without the defaults, which the API server sets. */
function tokenFor(namespace: string, name: string): ManagedToken {
  return { metadata: { namespace, name }, spec: { ...TEMPLATE, clusterName: name } } as unknown as ManagedToken;
}

function setFor(namespace: string, maxConcurrent: number): ManagedTokenSet {
  const template = { spec: { ...TEMPLATE, secret: { name: '{{cluster}}' } } };
  const spec = { clusterSelector: { matchLabels: SELECTED }, template, rollout: { maxConcurrent } };
  return { metadata: { namespace, name: TEAM }, spec } as unknown as ManagedTokenSet;
}
