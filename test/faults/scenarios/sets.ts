// ManagedTokenSets whose Clusters, templates and permissions change at random, during random faults.

import { SetAnnotation } from '../../../src/api/names.ts';
import { createRandom, pick } from '../../support/random.ts';
import { conditionOf, type KubeObject, paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import type { Matcher } from '../proxy/rules.ts';
import type { Scenario } from '../scenario.ts';
import { buildServiceAccount, DEPLOY, PURSER_NAMESPACE, register } from '../seed.ts';
import { FLEETS } from '../tenants/names.ts';
import { FAULTS } from './random-faults.ts';

/** Returns a scenario that changes sets at random under random faults for some minutes. */
export function setsUnderFaults(minutes: number): Scenario {
  return {
    id: 'sets',
    title: 'ManagedTokenSets with changing labels, templates and permissions, and random faults',
    on: 'purser',
    run: (bench) => runSets(bench, minutes * 60_000),
  };
}

/** Number of Clusters: more than a set removes at once, and fewer than the removal limit of a namespace. */
const SIZE = 16;
const SET = 'fleet';
/** Service account of all tokens on the targets. */
const ACCOUNT = 'fleet';
const LABELS = ['prod', 'test', 'none'] as const;
/** Values of the label `env` that the set of each namespace selects. */
const SELECTED = { 'fleet-a': ['prod'], 'fleet-b': ['prod', 'test'] } as const;
const SAMPLE_MS = 500;
/** Limit for the convergence of all sets: recovery, a minute after a restart, checks before removals, and a rollout. */
const CONVERGENCE_MS = 240_000;
/** Time in which the hub must accept a change by the administrator, even on a busy machine, in milliseconds. */
const ACCEPTED_MS = 60_000;
/** Maximum pause after a change, and maximum wait for a kill at a write, in milliseconds. */
const CHANGE_MS = 4_000;
const KILL_MS = 15_000;

type FleetName = (typeof FLEETS)[number];

const isSetWrite: Matcher = ({ method, path }) => method !== 'GET' && /\/managedtokens(ets)?[/?]/.test(path);

/** Clusters, and the ManagedTokens that sets should have for them. */
class SetsWorld {
  readonly bench: Bench;
  readonly clusters = Array.from({ length: SIZE }, (_, index) => `${index % 2 === 0 ? 'one' : 'two'}-set-${index + 1}`);
  readonly #labels = new Map<string, string>();
  readonly #allowed = new Map<FleetName, ReadonlySet<string>>();
  #revision = 0;

  constructor(bench: Bench) {
    this.bench = bench;
  }

  async create(): Promise<void> {
    const { hub, targets } = this.bench;
    for (const { api } of targets) await api.apply(paths.serviceAccounts(DEPLOY, ACCOUNT), buildServiceAccount(DEPLOY, ACCOUNT));
    for (const cluster of this.clusters) await register(hub, cluster, this.bench.target(cluster));
    await this.label(this.clusters, 'prod');
    for (const fleet of FLEETS) {
      await hub.api.apply(paths.namespaces(fleet), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: fleet } });
      await hub.api.apply(paths.serviceAccounts(fleet, 'default'), buildServiceAccount(fleet, 'default'));
      await this.allow(fleet, this.clusters);
      await hub.api.create(paths.sets(fleet), buildSet(fleet));
    }
  }

  async remove(): Promise<void> {
    const { api } = this.bench.hub;
    for (const fleet of FLEETS) await api.delete(paths.sets(fleet, SET));
    for (const fleet of FLEETS)
      await this.bench.expect('I10', `${fleet} is empty`, 60_000, async () => (await this.#tokens(fleet)).length === 0);
    for (const fleet of FLEETS) await api.delete(paths.rbac('clusterrolebindings', `issue-${fleet}`));
    for (const cluster of this.clusters) {
      await api.delete(paths.clusters(cluster));
      for (const suffix of ['', '-renewed']) await api.delete(paths.secrets(PURSER_NAMESPACE, `${cluster}-credential${suffix}`));
    }
  }

  /** Changes the label that the sets select. */
  async label(clusters: readonly string[], env: string): Promise<void> {
    for (const cluster of clusters) this.#labels.set(cluster, env);
    await this.#change(() =>
      Promise.all(clusters.map((cluster) => this.bench.hub.api.patch(paths.clusters(cluster), { metadata: { labels: { env } } }))),
    );
  }

  /** Sends a change, which may be sent again if the hub does not respond in time. */
  async #change(send: () => Promise<unknown>): Promise<void> {
    await this.bench.expect('I10', 'the hub accepts a change', ACCEPTED_MS, () => send().then(() => true));
  }

  /** Lets the requester of a set issue for exactly these clusters. */
  async allow(fleet: FleetName, clusters: readonly string[]): Promise<void> {
    const { api } = this.bench.hub;
    const [name, group] = [`issue-${fleet}`, 'rbac.authorization.k8s.io'];
    // An empty list of names would allow all clusters.
    const resourceNames = ['nothing', ...clusters];
    const rules = [{ apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], resourceNames, verbs: ['issue'] }];
    const role = { apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata: { name }, rules };
    const binding = {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', namespace: fleet, name: 'default' }],
    };
    await this.#change(() => api.apply(paths.rbac('clusterroles', name), role));
    await this.#change(() => api.apply(paths.rbac('clusterrolebindings', name), binding));
    this.#allowed.set(fleet, new Set(clusters));
    this.bench.history.add({ type: 'allowance', fleet, clusters });
  }

  /** Changes the template of a set: a lifetime, a label, and one that a later change drops. */
  async changeTemplate(fleet: FleetName): Promise<void> {
    const revision = (this.#revision += 1);
    const labels = { revision: String(revision), odd: revision % 2 === 0 ? null : 'true' };
    const template = { metadata: { labels }, spec: { expirationSeconds: 3_600 + revision, secret: { labels } } };
    await this.#change(() => this.bench.hub.api.patch(paths.sets(fleet, SET), { spec: { template } }));
  }

  /** Returns the clusters that a set should have a ManagedToken for. */
  expected(fleet: FleetName): readonly string[] {
    const selected: readonly string[] = SELECTED[fleet];
    const isMember = (cluster: string) =>
      selected.includes(this.#labels.get(cluster) ?? '') && this.#allowed.get(fleet)?.has(cluster) === true;
    return this.clusters.filter(isMember).sort();
  }

  /** Records the state of each set until the signal aborts. */
  async observe(signal: AbortSignal): Promise<void> {
    const { bench } = this;
    while (!signal.aborted) {
      for (const fleet of FLEETS) await this.#sample(fleet).catch(() => {});
      await bench.wait(SAMPLE_MS);
    }
  }

  async #sample(fleet: FleetName): Promise<void> {
    const { api } = this.bench.hub;
    const [set, tokens, secrets] = await Promise.all([
      api.find(paths.sets(fleet, SET)),
      this.#tokens(fleet),
      api.list(paths.secrets(fleet)),
    ]);
    if (set === undefined) return;
    const held = secrets.filter(({ data }) => data?.['token'] !== undefined).map(clusterOf);
    this.bench.history.add({ type: 'fleet', fleet, clusters: tokens.map(clusterOf), held, isPaused: isPaused(set) });
  }

  async #tokens(fleet: FleetName): Promise<readonly KubeObject[]> {
    return (await this.bench.hub.api.list(paths.tokens(fleet))).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** Waits until each set has exactly the ManagedTokens that it should have; confirms paused removals. */
  async converge(): Promise<void> {
    let problems: readonly string[] = [];
    const hasConverged = async () => {
      problems = (await Promise.all(FLEETS.map((fleet) => this.#problems(fleet)))).flat();
      return problems.length === 0;
    };
    await this.bench.expect('I10', 'all sets converge', CONVERGENCE_MS, hasConverged);
    if (problems.length > 0) this.bench.recordViolation('I10', problems.join('; '));
  }

  async #problems(fleet: FleetName): Promise<readonly string[]> {
    const set = await this.bench.hub.api.get(paths.sets(fleet, SET));
    const names = (await this.#tokens(fleet)).map(clusterOf).sort();
    const expected = this.expected(fleet);
    if (isPaused(set)) {
      await this.#confirm(
        fleet,
        set,
        names.filter((name) => !expected.includes(name)),
      );
    }
    const { metadata, status = {} } = set;
    const { clusters, ready, updated, observedGeneration } = status;
    const found = `${clusters}/${ready}/${updated} ${conditionOf(set, 'Progressing')}`;
    const count = expected.length;
    const isComplete = observedGeneration === metadata.generation && found === `${count}/${count}/${count} False/Complete`;
    return isComplete && names.join() === expected.join() ? [] : [`${fleet}: ${found} with ${names.join()}, expected ${expected.join()}`];
  }

  async #confirm(fleet: FleetName, { metadata, status }: KubeObject, clusters: readonly string[]): Promise<void> {
    const { message = '' } = status?.conditions?.find(({ reason }) => reason === 'RemovalPaused') ?? {};
    const [, value] = /tokens\.purser\.dev\/confirm-removal=(\S+)/.exec(message) ?? [];
    if (value === undefined || metadata.annotations?.[SetAnnotation.confirmRemoval] === value) return;
    this.bench.history.add({ type: 'confirmation', fleet, clusters });
    await this.bench.hub.api.patch(paths.sets(fleet, SET), { metadata: { annotations: { [SetAnnotation.confirmRemoval]: value } } });
  }
}

function clusterOf({ metadata }: KubeObject): string {
  return metadata.name.slice(SET.length + 1);
}

function isPaused(set: KubeObject): boolean {
  return conditionOf(set, 'Progressing') === 'False/RemovalPaused';
}

function buildSet(fleet: FleetName): object {
  return {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedTokenSet',
    metadata: { name: SET, namespace: fleet },
    spec: {
      clusterSelector: { matchExpressions: [{ key: 'env', operator: 'In', values: SELECTED[fleet] }] },
      template: {
        spec: { serviceAccount: { namespace: DEPLOY, name: ACCOUNT }, audiences: ['https://hub.test'], expirationSeconds: 3_600 },
      },
      rollout: { maxConcurrent: 6 },
    },
  };
}

async function runSets(bench: Bench, ms: number): Promise<void> {
  const world = new SetsWorld(bench);
  const end = new AbortController();
  bench.recordExcuse(ACCOUNT, ['I2'], ms + 900_000, 'ManagedTokens of sets share a service account');
  await world.create();
  const observation = world.observe(end.signal);
  try {
    await world.converge();
    for (const endAt = Date.now() + ms; Date.now() < endAt; ) await disturb(world);
  } finally {
    end.abort();
    await observation;
    await bench.heal();
    if (!bench.purser.isRunning) await bench.startPurser();
    await world.remove();
  }
}

/** Runs one or two faults while the sets change, waits until they have converged, and changes them once more without faults. */
async function disturb(world: SetsWorld): Promise<void> {
  const { bench } = world;
  // Changes have their own random sequence, so that the duration of faults does not alter the changes.
  const random = createRandom(Math.floor(bench.random() * 2 ** 32));
  bench.history.add({ type: 'disturbance', begins: true });
  await Promise.all([disturbProcess(world), changeSets(world, random)]);
  await bench.heal();
  if (!bench.purser.isRunning) await bench.startPurser();
  bench.history.add({ type: 'disturbance', begins: false });
  await world.converge();
  await changeSets(world, random);
  await world.converge();
}

async function disturbProcess(world: SetsWorld): Promise<void> {
  const { bench } = world;
  const steps = 1 + Math.floor(bench.random() * 2);
  for (let step = 0; step < steps; step += 1) {
    if (bench.random() < 0.4) await killAtWrite(world);
    else await pick(bench.random, FAULTS)(bench);
  }
}

/** Kills Purser before or after one of the writes of sets and ManagedTokens. */
async function killAtWrite({ bench }: SetsWorld): Promise<void> {
  const [at, when] = [1 + Math.floor(bench.random() * 12), pick(bench.random, ['before', 'after'] as const)];
  bench.history.add({ type: 'step', description: `SIGKILL ${when} write ${at} of sets` });
  const { purser } = bench;
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  let writes = 0;
  const act = async () => {
    await purser.kill();
    resolve();
  };
  bench.hub.proxy.addRule((request) => isSetWrite(request) && ++writes === at, { type: 'stop', when, act });
  await Promise.race([reached, bench.wait(KILL_MS)]);
  await bench.heal();
  if (bench.random() < 0.5) await bench.deleteLease();
  if (!bench.purser.isRunning) await bench.startPurser();
}

type Change = (world: SetsWorld, random: () => number) => Promise<void>;

async function changeSets(world: SetsWorld, random: () => number): Promise<void> {
  const changes = 1 + Math.floor(random() * 4);
  for (let change = 0; change < changes; change += 1) {
    await pick(random, CHANGES)(world, random);
    await world.bench.wait(random() * CHANGE_MS);
  }
}

/** Returns some clusters, and sometimes all of them. */
function someClusters({ clusters }: SetsWorld, random: () => number): readonly string[] {
  const share = pick(random, [0.1, 0.3, 0.7, 1]);
  return clusters.filter(() => random() < share);
}

const relabel: Change = async (world, random) => {
  const [clusters, env] = [someClusters(world, random), pick(random, LABELS)];
  world.bench.history.add({ type: 'step', description: `label ${clusters.length} Clusters env=${env}` });
  await world.label(clusters, env);
};

const changePermissions: Change = async (world, random) => {
  const [fleet, clusters] = [pick(random, FLEETS), someClusters(world, random)];
  world.bench.history.add({ type: 'step', description: `allow ${fleet} ${clusters.length} Clusters` });
  await world.allow(fleet, clusters);
};

const changeTemplate: Change = async (world, random) => {
  const fleet = pick(random, FLEETS);
  world.bench.history.add({ type: 'step', description: `change the template of ${fleet}` });
  await world.changeTemplate(fleet);
};

const CHANGES: readonly Change[] = [relabel, relabel, changePermissions, changePermissions, changeTemplate];
