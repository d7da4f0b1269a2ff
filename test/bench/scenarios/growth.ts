// Cost per token and per cluster in a large fleet, compared with a small one.

import { runScript } from '../child-process.ts';
import { issueAll, measureIdleStart } from '../issuance.ts';
import { atMost, type Outcome, type PrintProgress, type Scenario } from '../scenario.ts';
import { createTokens, startTokenWorld } from '../token-world.ts';
import type { ListFigures } from './cluster-lists.ts';
import type { IdleFigures } from './idle-clusters.ts';

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
    return toOutcome({ name: 'growth-tokens', title, unit: 'ms', sizeUnit: 'ManagedTokens', sizes, values });
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
    return toOutcome({ name: 'growth-lists', title, unit: 'µs', sizeUnit: 'clusters', sizes, values });
  },
};

export const growingRest: Scenario = {
  name: 'growth-rest',
  title: 'Growth: clusters at rest',
  sizeUnit: 'clusters',
  // Maximum number of stub targets on one machine.
  sizes: { small: 400, full: 1_000 },
  run: async ({ scale, size }, progress) => {
    const sizes = [scale === 'full' ? 250 : 100, size];
    const values = await measureEach(sizes, (count) => measureRest(count, scale === 'full' ? 60 : 20, progress));
    const title = 'CPU of Purser per cluster at rest, as a share of a core';
    return toOutcome({ name: 'growth-rest', title, unit: '‰', sizeUnit: 'clusters', sizes, values });
  },
};

interface Growth {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  /** Unit of the sizes, such as `clusters`. */
  readonly sizeUnit: string;
  readonly sizes: readonly number[];
  readonly values: readonly number[];
}

function toOutcome({ name, title, unit, sizeUnit, sizes, values }: Growth): Outcome {
  const [from = '', to = ''] = sizes.map((size) => size.toLocaleString('en-US'));
  const [before = 0, after = 0] = values;
  const bars = [
    { label: `${to} ${sizeUnit}`, value: after },
    { label: `${from} ${sizeUnit}`, value: before },
  ];
  return {
    measured: { sizes, values },
    figures: [{ name: `${title}, with ${to} ${sizeUnit} relative to ${from}`, value: after / before, unit: '×', goal: atMost(FLAT) }],
    charts: [{ name, title, unit, bars }],
  };
}

async function measureEach(sizes: readonly number[], measure: (count: number) => Promise<number>): Promise<readonly number[]> {
  const values: number[] = [];
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

/** Measures the CPU time per cluster at rest, in thousandths of a core. */
async function measureRest(count: number, seconds: number, progress: PrintProgress): Promise<number> {
  progress(`${count} clusters at rest`);
  const { cpuPercent } = await runScript<IdleFigures>('clusters-idle.ts', [count, seconds]);
  return (cpuPercent * 10) / count;
}
