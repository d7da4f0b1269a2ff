// Renewal of Purser's own credentials with lifetimes of ten minutes, on two hubs that share the service account on a target, during
// random faults and a thief.

import { pick } from '../../support/random.ts';
import { conditionOf, type KubeObject, paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { type BenchCluster, restartCluster } from '../bench-cluster.ts';
import { OVERLAP_SECONDS, REFUSED_MS } from '../checks/renewals.ts';
import { scanForTokens } from '../leak-scan.ts';
import { DISTURBANCES, type Matcher } from '../proxy/rules.ts';
import { OUTAGES } from '../proxy/tcp-relay.ts';
import type { Purser } from '../purser.ts';
import type { Scenario } from '../scenario.ts';
import { PURSER_NAMESPACE, register, requestPurserToken, seedHub, writeCredential, writeKubeconfig } from '../seed.ts';
import { type Holder, Thief } from '../thief.ts';

/** Returns a scenario that draws random faults for some minutes while Purser renews its credentials. */
export function renewalUnderFaults(minutes: number): Scenario {
  return {
    id: 'renewal',
    title: "Purser's credentials with a lifetime of 10 min, two hubs, random faults, and a thief",
    on: 'purser',
    run: (bench) => runRenewal(bench, minutes * 60_000),
  };
}

/** Number of Clusters for each pair of a hub and a target. */
const CLUSTERS = 4;
const LIFETIME_SECONDS = 600;
const RENEWAL = { lifetime: '10m', overlap: `${OVERLAP_SECONDS}s` };
/** Limit for the recovery of all credentials: Purser retries within a fifth of the remaining lifetime. */
const RECOVERY_MS = LIFETIME_SECONDS * 200;
/** Maximum duration of one fault, in milliseconds. */
const FAULT_MS = 15_000;
const FIRST_CREDENTIALS_MS = 60_000;

/** Matches the requests of a renewal: anchors, tokens, reviews, and writes of the renewed Secret. */
const isRenewal: Matcher = ({ method, path }) =>
  method !== 'GET' && /\/namespaces\/purser-system\/(secrets|serviceaccounts\/purser\/token)|\/selfsubjectreviews/.test(path);

/** Two hubs: `hub`, and `two`, which is also a target of `hub`. */
class RenewalWorld {
  readonly bench: Bench;
  /** Clusters of the bench, and those that the scenario adds. */
  readonly #clusters: { readonly known: readonly Holder[]; readonly added: readonly Holder[] };
  readonly #kubeconfig: string;
  #second: Purser | undefined;

  constructor(bench: Bench, clusters: { readonly known: readonly Holder[]; readonly added: readonly Holder[] }, kubeconfig: string) {
    this.bench = bench;
    this.#clusters = clusters;
    this.#kubeconfig = kubeconfig;
  }

  get holders(): readonly Holder[] {
    return [...this.#clusters.known, ...this.#clusters.added];
  }

  /** Stops the second Purser, deletes the added Clusters, and restores the renewal terms of the others. */
  async remove(): Promise<void> {
    const { known, added } = this.#clusters;
    await this.bench.heal();
    await this.#second?.stop();
    for (const { name } of this.bench.targets) await this.bench.deleteToken(`${name}-renewal-1`);
    for (const { hub, name } of known) await hub.api.patch(paths.clusters(name), { spec: { credential: null } });
    for (const { hub, name } of added) {
      await hub.api.delete(paths.clusters(name));
      for (const suffix of ['', '-renewed']) await hub.api.delete(paths.secrets(PURSER_NAMESPACE, `${name}-credential${suffix}`));
    }
  }

  /** Returns the process of Purser for a hub. */
  purserOf(hub: BenchCluster): Purser {
    return hub === this.bench.two ? (this.#second as Purser) : this.bench.purser;
  }

  /** Starts Purser for each hub for which it is not running. */
  async startPursers(): Promise<void> {
    const { bench } = this;
    if (!bench.purser.isRunning) await bench.startPurser();
    if (this.#second?.isRunning === true) return;
    this.#second = await bench.startPurser({ kubeconfig: this.#kubeconfig });
    // The last process is the one for the first hub.
    bench.pursers.unshift(...bench.pursers.splice(-1));
  }

  /** Waits until Purser has, for each Cluster, a renewed credential that the cluster accepts. */
  async waitForCredentials(limitMs: number): Promise<void> {
    let problems: readonly string[] = [];
    const areHealthy = async () => (problems = await this.#listProblems()).length === 0;
    await this.bench.expect('I10', 'all credentials are healthy', limitMs, areHealthy);
    if (problems.length > 0) this.bench.recordViolation('I10', problems.join('; '));
  }

  async #listProblems(): Promise<readonly string[]> {
    const clusters = await Promise.all(this.holders.map(({ hub, name }) => hub.api.get(paths.clusters(name))));
    return clusters.flatMap((cluster) => findProblems(cluster));
  }
}

function findProblems(cluster: KubeObject): readonly string[] {
  const conditions = ['Authorized', 'CredentialFresh'].map((type) => `${type}=${conditionOf(cluster, type)}`);
  const problems = conditions.filter((text) => !text.includes('=True'));
  return problems.length === 0 ? [] : [`${cluster.metadata.name}: ${problems.join(', ')}`];
}

async function runRenewal(bench: Bench, ms: number): Promise<void> {
  const world = await createWorld(bench);
  const end = new AbortController();
  const activity = new Thief(bench, world.holders).run(end.signal);
  try {
    await world.startPursers();
    await world.waitForCredentials(FIRST_CREDENTIALS_MS);
    for (const endAt = Date.now() + ms; Date.now() < endAt; ) await disturb(world);
    await scanForTokens(bench);
  } finally {
    end.abort();
    await activity;
    await world.remove();
  }
}

async function createWorld(bench: Bench): Promise<RenewalWorld> {
  const { hub, one, two } = bench;
  await seedHub(two);
  const known = [...(await shortenTerms(bench, hub)), ...(await shortenTerms(bench, two))];
  const pairs = [
    [hub, one],
    [hub, two],
    [two, one],
  ] as const;
  const added = pairs.flatMap(([from, target]) =>
    Array.from({ length: CLUSTERS }, (_, n): Holder => ({ hub: from, name: `${target.name}-renewal-${n + 1}`, target })),
  );
  for (const { hub: from, name, target } of added)
    await register(from, name, target, { expirationSeconds: LIFETIME_SECONDS, renewal: RENEWAL });
  for (const { name } of [one, two]) await bench.createToken(`${name}-renewal-1`, `${name}-renewal-1`);
  return new RenewalWorld(bench, { known, added }, await writeKubeconfig(two, bench.folder));
}

/** Sets the renewal terms of all Clusters on a hub that have a stored credential, and returns these Clusters. */
async function shortenTerms(bench: Bench, hub: BenchCluster): Promise<readonly Holder[]> {
  const names = (await hub.api.list(paths.clusters())).map(({ metadata }) => metadata.name);
  const secrets = await Promise.all(names.map((name) => hub.api.find(paths.secrets(PURSER_NAMESPACE, `${name}-credential`))));
  const holders = names.filter((_, index) => secrets[index] !== undefined).map((name) => ({ hub, name, target: bench.target(name) }));
  for (const { name } of holders) await hub.api.patch(paths.clusters(name), { spec: { credential: RENEWAL } });
  return holders;
}

/** Runs one or two faults, then waits until all credentials have recovered and the clusters must refuse replaced ones. */
async function disturb(world: RenewalWorld): Promise<void> {
  const { bench } = world;
  bench.history.add({ type: 'disturbance', begins: true });
  const steps = 1 + Math.floor(bench.random() * 2);
  for (let step = 0; step < steps; step += 1) await pick(bench.random, STEPS)(world);
  await bench.heal();
  await world.startPursers();
  bench.history.add({ type: 'disturbance', begins: false });
  const calmUntil = Date.now() + REFUSED_MS + 10_000;
  await bench.waitUntilHealthy(60_000);
  await world.waitForCredentials(RECOVERY_MS);
  await bench.wait(Math.max(0, calmUntil - Date.now()));
}

function recordStep({ bench }: RenewalWorld, description: string): void {
  bench.history.add({ type: 'step', description });
}

async function waitForFault({ bench }: RenewalWorld): Promise<void> {
  await bench.wait((0.2 + 0.8 * bench.random()) * FAULT_MS);
}

/** Registers a new token for a random Cluster, which Purser renews immediately; returns the Cluster. */
async function supplyToken(world: RenewalWorld): Promise<Holder> {
  const holder = pick(world.bench.random, world.holders);
  const { hub, name, target } = holder;
  await writeCredential(hub, name, target, { token: await requestPurserToken(target, LIFETIME_SECONDS) });
  return holder;
}

async function cutNetwork(world: RenewalWorld): Promise<void> {
  const { bench } = world;
  const [{ name, proxy }, mode] = [pick(bench.random, bench.clusters), pick(bench.random, OUTAGES)];
  recordStep(world, `${name}: ${mode}`);
  await supplyToken(world);
  await proxy.setTcpMode(mode);
  await waitForFault(world);
}

async function breakRequests(world: RenewalWorld): Promise<void> {
  const { bench } = world;
  const [{ name, proxy }, action] = [pick(bench.random, bench.clusters), pick(bench.random, DISTURBANCES)];
  const times = pick(bench.random, [1, 3, Infinity]);
  recordStep(world, `${name}: requests of renewals ${JSON.stringify(action)} ×${times}`);
  proxy.addRule(isRenewal, action, times);
  await supplyToken(world);
  await waitForFault(world);
}

async function killServer(world: RenewalWorld): Promise<void> {
  const { bench } = world;
  const server = pick(bench.random, bench.clusters);
  recordStep(world, `${server.name}: API server killed`);
  await supplyToken(world);
  bench.recordCause('*', `${server.name} killed`);
  await server.cluster.kill();
  await waitForFault(world);
  await restartCluster(server);
}

async function pauseStorage(world: RenewalWorld): Promise<void> {
  const { bench } = world;
  const { name, cluster } = pick(bench.random, bench.clusters);
  recordStep(world, `${name}: storage stalled`);
  await supplyToken(world);
  bench.recordCause('*', `storage of ${name} stalled`);
  cluster.pauseStorage();
  await waitForFault(world);
  cluster.resumeStorage();
}

async function fillStorage(world: RenewalWorld): Promise<void> {
  const { bench } = world;
  const { name, cluster } = pick(bench.random, bench.clusters);
  recordStep(world, `${name}: storage full`);
  await supplyToken(world);
  await cluster.fillStorage(true);
  await waitForFault(world);
  await cluster.fillStorage(false);
}

async function killPurser(world: RenewalWorld): Promise<void> {
  const { bench } = world;
  const { hub } = await supplyToken(world);
  await bench.wait(bench.random() * 500);
  recordStep(world, `${hub.name}: SIGKILL`);
  await killAndRestart(world, hub);
}

async function killAndRestart(world: RenewalWorld, hub: BenchCluster): Promise<void> {
  await world.purserOf(hub).kill();
  if (world.bench.random() < 0.5) await hub.api.delete(paths.lease);
  await world.startPursers();
}

/** Kills Purser before or after one of the requests of a renewal. */
async function killAtRequest(world: RenewalWorld): Promise<void> {
  const { bench } = world;
  const [at, when] = [1 + Math.floor(bench.random() * 6), pick(bench.random, ['before', 'after'] as const)];
  let requests = 0;
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  const holder = await supplyToken(world);
  const purser = world.purserOf(holder.hub);
  recordStep(world, `${holder.hub.name}: SIGKILL ${when} request ${at} of a renewal`);
  const act = async () => {
    await purser.kill();
    resolve();
  };
  for (const { proxy } of [holder.hub, holder.target])
    proxy.addRule((request) => isRenewal(request) && ++requests === at, { type: 'stop', when, act });
  await Promise.race([reached, bench.wait(FAULT_MS)]);
  await bench.heal();
  await killAndRestart(world, holder.hub);
}

async function pausePurser(world: RenewalWorld): Promise<void> {
  const { hub } = await supplyToken(world);
  const purser = world.purserOf(hub);
  recordStep(world, `${hub.name}: SIGSTOP`);
  purser.pause();
  await waitForFault(world);
  purser.resume();
}

const STEPS = [
  cutNetwork,
  cutNetwork,
  breakRequests,
  breakRequests,
  killServer,
  pauseStorage,
  fillStorage,
  killPurser,
  killAtRequest,
  killAtRequest,
  pausePurser,
];
