// Cost of first tokens: Purser, then the agent of open-cluster-management's managed-serviceaccount, on the same real hub and target:
// `node test/bench/peers.ts TOKENS`. Prints figures as JSON. The agent listens on ports of all addresses.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ApiObject, Namespaces, type Resource } from '../../src/api/resources.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import { applyAll, parseManifests } from '../../src/kube/manifests.ts';
import { systemClock as clock } from '../../src/std/clock.ts';
import { peerBinary } from '../support/kube-binaries.ts';
import { crdFiles, PEER_CRDS } from '../support/operator-crds.ts';
import { type Program, startProgram } from '../support/processes.ts';
import { type AuditedRequest, countRequests } from './audit-tail.ts';
import { inParallel } from './in-parallel.ts';
import { type AuditLogs, followLogs, type Issuance } from './issuance.ts';
import { cpuSeconds, memoryOf } from './process-usage.ts';
import { type Purser, startPurser } from './purser-process.ts';
import { createTokens, PURSER_USER, startTokenWorld, type TokenWorld } from './token-world.ts';

/** Time and cost of the first tokens of one program. */
export type PeerCost = Pick<Issuance, 'seconds' | 'cpuMsPerToken' | 'requests' | 'rssMegabytes' | 'peakRssMegabytes'>;

export interface PeerFigures {
  readonly purser: PeerCost;
  readonly agent: PeerCost;
}

/** The agent's user name on the hub and on the target. */
const AGENT_USER = 'agent';
/** Name of the cluster, and of the namespace on the hub with its ManagedServiceAccounts. */
const CLUSTER = 'target';
const POLL_MS = 500;
const QUIET_MS = 3_000;
const STALL_MS = 120_000;

const ManagedServiceAccounts: Resource<ApiObject & { readonly spec: object }> = {
  group: 'authentication.open-cluster-management.io',
  version: 'v1beta1',
  plural: 'managedserviceaccounts',
  kind: 'ManagedServiceAccount',
  namespaced: true,
};

async function bench(tokens: number): Promise<PeerFigures> {
  const world = await startTokenWorld();
  try {
    const purser = await measurePurser(world, tokens);
    return { purser, agent: await measureAgent(world, tokens) };
  } finally {
    await world.stop();
  }
}

async function measurePurser(world: TokenWorld, count: number): Promise<PeerCost> {
  const purser = await startPurser(world.kubeconfig);
  await purser.ready;
  const batch = { prefix: 'team', count, expirationSeconds: 3_600, renewBefore: '20%' };
  const create = async () => void (await createTokens(world.client, batch));
  const program = { pid: purser.pid, user: PURSER_USER, assertRunning: purser.assertRunning, state: purser.state };
  const cost = await measure(world, program, count, create);
  await purser.stop();
  return cost;
}

async function measureAgent(world: TokenWorld, count: number): Promise<PeerCost> {
  const { client } = world;
  const crds = await Promise.all(crdFiles(PEER_CRDS).map((file) => readFile(file, 'utf8')));
  await applyAll(client, crds.flatMap(parseManifests));
  await waitUntilServed(client, [ManagedServiceAccounts], { clock, random: Math.random, signal: AbortSignal.timeout(STALL_MS) });
  await client.create(Namespaces, { metadata: { name: CLUSTER } });
  const agent = await startAgent(world);
  const state = async () => (await agent.output()).slice(-4_000);
  const assertRunning = async () => {
    if (!agent.isRunning()) throw new Error(`the agent exited:\n${await state()}`);
  };
  const program = { pid: agent.pid, user: AGENT_USER, assertRunning, state };
  await waitFor(program, 1, async () => Number((await agent.output()).includes('Starting workers')));
  const names = Array.from({ length: count }, (_, index) => `token-${index}`);
  const create = () =>
    inParallel(names, async (name) => {
      await client.create(ManagedServiceAccounts, { metadata: { namespace: CLUSTER, name }, spec: { rotation: {} } });
    });
  const cost = await measure(world, program, count, create);
  await agent.stop();
  return cost;
}

async function startAgent({ hub, target }: TokenWorld): Promise<Program> {
  const path = peerBinary();
  if (path === undefined) throw new Error('The managed-serviceaccount agent was not found. Run `npm run kube:build -- peers`.');
  const [hubConfig, targetConfig] = await Promise.all([hub, target].map((each) => each.kubeconfig(AGENT_USER, ['system:masters'])));
  const args = ['agent', `--cluster-name=${CLUSTER}`, `--kubeconfig=${hubConfig}`, `--spoke-kubeconfig=${targetConfig}`];
  const env = { ...process.env, NAMESPACE: 'deploy', HUB_KUBECONFIG: hubConfig };
  return await startProgram(path, args, join(hub.folder, 'agent.log'), { env });
}

/** Running program that issues tokens. */
interface Issuer extends Pick<Purser, 'pid' | 'assertRunning' | 'state'> {
  /** User name on the hub and on the target. */
  readonly user: string;
}

/** Measures a started program from the first creation of an object to the last Secret; CPU until the program is at rest again. */
async function measure(world: TokenWorld, issuer: Issuer, count: number, create: () => Promise<void>): Promise<PeerCost> {
  const logs = followLogs(world, issuer.user);
  await waitUntilQuiet(logs);
  const [idleSeconds, startedAt] = [await cpuSeconds(issuer.pid), Date.now()];
  await create();
  const audited: AuditedRequest[] = [];
  const secrets = () => audited.filter(({ request, code }) => request === 'create secrets' && code === 201);
  await waitFor(issuer, count, async () => {
    audited.push(...(await logs.next()));
    return secrets().length;
  });
  audited.push(...(await waitUntilQuiet(logs)));
  return {
    seconds: (Math.max(...secrets().map(({ respondedAt }) => respondedAt)) - startedAt) / 1_000,
    cpuMsPerToken: (((await cpuSeconds(issuer.pid)) - idleSeconds) * 1_000) / count,
    requests: countRequests(audited),
    ...(await memoryOf(issuer.pid)),
  };
}

/** Waits until a program writes nothing about tokens for three seconds. */
async function waitUntilQuiet(logs: AuditLogs): Promise<readonly AuditedRequest[]> {
  const audited: AuditedRequest[] = [];
  for (;;) {
    await delay(QUIET_MS);
    const next = await logs.next();
    audited.push(...next);
    if (!next.some(({ request }) => WRITES.test(request))) return audited;
  }
}

const WRITES = /^(create|update|patch) (secrets|serviceaccounts(\/token)?|events|managed\w+\/status)$/;

/** Waits until `progress` returns `goal`. Throws if it does not increase for two minutes, or if the program exits. */
async function waitFor(issuer: Issuer, goal: number, progress: () => Promise<number>): Promise<void> {
  let [last, lastAt] = [-1, performance.now()];
  for (let now = await progress(); now < goal; now = await progress()) {
    if (now > last) [last, lastAt] = [now, performance.now()];
    await issuer.assertRunning();
    if (performance.now() - lastAt > STALL_MS) throw new Error(`${now} of ${goal} tokens were issued; ${await issuer.state()}`);
    await delay(POLL_MS);
  }
}

console.log(JSON.stringify(await bench(Number(process.argv[2]))));
process.exit();
