// Cost per token, cluster and watch in a large installation, compared with a small one.

import { runScript } from '../child-process.ts';
import { issueAll, measureIdleStart } from '../issuance.ts';
import { atMost, type Outcome, type PrintProgress, type Scenario } from '../scenario.ts';
import { createTokens, startTokenWorld } from '../token-world.ts';
import type { ListFigures } from './cluster-lists.ts';
import { type IdleFigures, toProbeFigures } from './idle-clusters.ts';

/** Tolerance for two measurements of the same cost. */
const FLAT = 1.2;
const WATCHERS = 20;

export const growingTokens: Scenario = {
  name: 'growth-tokens',
  title: 'Growth: first tokens',
  sizeUnit: 'ManagedTokens',
  sizes: { small: 4_000, full: 20_000 },
  run: async ({ scale, size }, progress) => {
    const sizes = [scale === 'full' ? 1_000 : 500, size];
    const values = await measureEach(sizes, (count) => measureIssuance(count, progress));
    const title = 'CPU of Purser per first token';
    return toOutcome({ sizeUnit: 'ManagedTokens', sizes }, [{ name: 'growth-tokens', title, unit: 'ms', values }]);
  },
};

export const growingLists: Scenario = {
  name: 'growth-lists',
  title: 'Growth: lists of clusters',
  sizeUnit: 'clusters',
  sizes: { small: 4_000, full: 20_000 },
  run: async ({ size }, progress) => {
    const sizes = [1_000, size];
    const values = await measureEach(sizes, (count) => measureList(count, progress));
    const title = 'CPU of the façade per listed cluster';
    return toOutcome({ sizeUnit: 'clusters', sizes }, [{ name: 'growth-lists', title, unit: 'µs', values }]);
  },
};

export const growingRest: Scenario = {
  name: 'growth-rest',
  title: 'Growth: clusters at rest',
  sizeUnit: 'clusters',
  sizes: { small: 400, full: 5_000 },
  note: `All clusters are healthy stubs. CPU and memory do not include those of a Purser without clusters. Purser writes at most 3.4
heartbeats per second, so each of many clusters has fewer of them.`,
  run: async ({ scale, size }, progress) => {
    const sizes = scale === 'full' ? [1_000, size] : [100, size];
    const seconds = scale === 'full' ? 120 : 20;
    const empty = await measureRest(0, seconds, progress);
    const rests = await measureEach(sizes, (count) => measureRest(count, seconds, progress));
    const perCluster = (total: (rest: IdleFigures) => number) => rests.map((rest) => (total(rest) - total(empty)) / rest.clusters);
    const cpu = perCluster(({ cpuPercent }) => cpuPercent * 10);
    const memory = perCluster(({ rssMegabytes }) => rssMegabytes * 1_000);
    const outcome = toOutcome({ sizeUnit: 'clusters', sizes }, [
      { name: 'growth-rest', title: 'CPU of Purser per cluster at rest, as a share of a core', unit: '‰', values: cpu },
      { name: 'growth-rest-memory', title: 'memory of Purser per cluster at rest', unit: 'kB', values: memory },
    ]);
    const probes = rests.flatMap((rest) => toProbeFigures(`${rest.clusters.toLocaleString('en-US')} clusters`, rest));
    return { ...outcome, figures: [...outcome.figures, ...probes], measured: { empty, rests } };
  },
};

/** Figures that `watch-views.ts` prints and the scenario uses. */
interface ViewFigures {
  /** CPU time of the façade per delivered event. */
  readonly microseconds: number;
  /** Memory of the façade per watch. */
  readonly kilobytes: number;
}

/** Number of events that are delivered in a measurement. */
const DELIVERIES = 40_000;
const VIEWS = 50;

export const growingWatches: Scenario = {
  name: 'growth-watches',
  title: 'Growth: watches with different views',
  sizeUnit: 'watchers',
  sizes: { small: 2_000, full: 10_000 },
  note: `${VIEWS} callers watch over HTTP/2, and each caller sees 14 of 700 clusters, which no other caller sees. Each change of a cluster is
an event for the watches of one caller; the next change follows when all of them have received it. Every change also wakes the watches that
do not see it. CPU and memory are those of the watches beyond one for each caller.`,
  run: async ({ scale, size }, progress) => {
    const sizes = [scale === 'full' ? 1_000 : 500, size];
    const views = await measureEach(sizes, async (watchers) => {
      progress(`${watchers} watchers`);
      return await runScript<ViewFigures>('watch-views.ts', [watchers, Math.ceil((DELIVERIES * VIEWS) / watchers)]);
    });
    const cpu = views.map(({ microseconds }) => microseconds);
    const memory = views.map(({ kilobytes }) => kilobytes);
    const outcome = toOutcome({ sizeUnit: 'watchers', sizes }, [
      { name: 'growth-watches', title: 'CPU of the façade per delivered event', unit: 'µs', values: cpu },
      { name: 'growth-watches-memory', title: 'memory of the façade per watch', unit: 'kB', values: memory },
    ]);
    return { ...outcome, measured: views };
  },
};

/** Sizes of the measurements of a scenario. */
interface Sizes {
  /** Unit of the sizes, such as `clusters`. */
  readonly sizeUnit: string;
  readonly sizes: readonly number[];
}

/** A cost at each size. */
interface Growth {
  /** Name of the chart. */
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly values: readonly number[];
}

function toOutcome({ sizeUnit, sizes }: Sizes, growths: readonly Growth[]): Outcome {
  const [from = '', to = ''] = sizes.map((size) => size.toLocaleString('en-US'));
  const noisy = growths.find(({ values }) => !values.every((value) => value > 0));
  if (noisy !== undefined) throw new Error(`${noisy.title}: ${noisy.values.join(' and ')}, within the noise of the machine`);
  const figures = growths.flatMap(({ title, unit, values: [before = 0, after = 0] }) => [
    { name: `${title}, with ${to} ${sizeUnit} relative to ${from}`, value: after / before, unit: '×', goal: atMost(FLAT) },
    { name: `${title}, with ${to} ${sizeUnit}`, value: after, unit },
  ]);
  const charts = growths.map(({ name, title, unit, values: [before = 0, after = 0] }) => ({
    name,
    title,
    unit,
    bars: [
      { label: `${to} ${sizeUnit}`, value: after },
      { label: `${from} ${sizeUnit}`, value: before },
    ],
  }));
  return { measured: { sizes, growths }, figures, charts };
}

async function measureEach<T>(sizes: readonly number[], measure: (count: number) => Promise<T>): Promise<readonly T[]> {
  const values: T[] = [];
  for (const count of sizes) values.push(await measure(count));
  return values;
}

/** Measures the CPU time per first token, in milliseconds. */
async function measureIssuance(count: number, progress: PrintProgress): Promise<number> {
  progress(`${count} ManagedTokens`);
  const world = await startTokenWorld();
  try {
    const { seconds: idleSeconds } = await measureIdleStart(world);
    await createTokens(world.client, { prefix: 'team', count, expirationSeconds: 36_000, renewBefore: '20%' });
    const { purser, cpuMsPerToken } = await issueAll(world, count, idleSeconds);
    await purser.stop();
    return cpuMsPerToken;
  } finally {
    await world.stop();
  }
}

/** Measures the CPU time per cluster in a list, in microseconds. */
async function measureList(count: number, progress: PrintProgress): Promise<number> {
  progress(`a list of ${count} clusters`);
  const { lists } = await runScript<ListFigures>('clusters-list.ts', [count, WATCHERS]);
  return (lists.fullMs.facade * 1_000) / count;
}

async function measureRest(count: number, seconds: number, progress: PrintProgress): Promise<IdleFigures> {
  progress(`${count} clusters at rest`);
  return await runScript<IdleFigures>('clusters-idle.ts', [count, seconds]);
}
