// Cost per token, cluster and watch in a large installation, compared with a small one.

import { runScript } from '../child-process.ts';
import { issueAll, measureIdleStart } from '../issuance.ts';
import { atMost, type Outcome, type PrintProgress, type Scenario } from '../scenario.ts';
import { createTokens, startTokenWorld } from '../token-world.ts';
import type { ListFigures } from './cluster-lists.ts';
import type { IdleFigures } from './idle-clusters.ts';

/** Tolerance for two measurements of the same cost. */
const FLAT = 1.2;
const WATCHERS = 20;
/** Time until the memory of a Purser without clusters is measured, in seconds. */
const EMPTY_SECONDS = 20;

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
  note: `All clusters are healthy stubs. Memory per cluster does not include the memory of a Purser without clusters.`,
  run: async ({ scale, size }, progress) => {
    const sizes = scale === 'full' ? [1_000, size] : [100, size];
    const { rssMegabytes: emptyMegabytes } = await measureRest(0, EMPTY_SECONDS, progress);
    const rests = await measureEach(sizes, (count) => measureRest(count, scale === 'full' ? 120 : 20, progress));
    const perCluster = (total: (rest: IdleFigures) => number) => rests.map((rest) => total(rest) / rest.clusters);
    const cpu = perCluster(({ cpuPercent }) => cpuPercent * 10);
    const memory = perCluster(({ rssMegabytes }) => (rssMegabytes - emptyMegabytes) * 1_000);
    return toOutcome({ sizeUnit: 'clusters', sizes }, [
      { name: 'growth-rest', title: 'CPU of Purser per cluster at rest, as a share of a core', unit: '‰', values: cpu },
      { name: 'growth-rest-memory', title: 'memory of Purser per cluster at rest', unit: 'kB', values: memory },
    ]);
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
const DELIVERIES = 100_000;
const VIEWS = 50;

export const growingWatches: Scenario = {
  name: 'growth-watches',
  title: 'Growth: watches with different views',
  sizeUnit: 'watchers',
  sizes: { small: 2_000, full: 10_000 },
  note: `${VIEWS} callers watch over HTTP/2, and each caller sees 14 of 700 clusters, which no other caller sees. Each change of a cluster is
an event for the watches of one caller.`,
  run: async ({ scale, size }, progress) => {
    const sizes = [scale === 'full' ? 1_000 : 500, size];
    const views = await measureEach(sizes, async (watchers) => {
      progress(`${watchers} watchers`);
      return await runScript<ViewFigures>('watch-views.ts', [watchers, Math.ceil((DELIVERIES * VIEWS) / watchers)]);
    });
    return toOutcome({ sizeUnit: 'watchers', sizes }, [
      {
        name: 'growth-watches',
        title: 'CPU of the façade per delivered event',
        unit: 'µs',
        values: views.map(({ microseconds }) => microseconds),
      },
      {
        name: 'growth-watches-memory',
        title: 'memory of the façade per watch',
        unit: 'kB',
        values: views.map(({ kilobytes }) => kilobytes),
      },
    ]);
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
