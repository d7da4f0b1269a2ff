// Whether a token and a cluster cost the same in a large fleet as in a small one.

import { idleStartSeconds, issueAll } from '../issuance.ts';
import { atMost, type Outcome, type Scenario, type Tell } from '../scenario.ts';
import { runScript } from '../script.ts';
import { createTokens, startTokenWorld } from '../token-world.ts';
import type { ListFigures } from './cluster-lists.ts';
import type { IdleFigures } from './idle-clusters.ts';

/** Flat, within what two measurements of the same differ by. */
const FLAT = 1.2;
const WATCHERS = 20;

export const growingTokens: Scenario = {
  name: 'growth-tokens',
  title: 'Growth: first tokens',
  what: 'ManagedTokens',
  sizes: { small: 4_000, full: 20_000 },
  run: async ({ scale, size }, tell) => {
    const sizes = [scale === 'full' ? 1_000 : 500, size];
    const values = await each(sizes, (count) => issuing(count, tell));
    return outcomeOf({ name: 'growth-tokens', title: 'CPU of Purser per first token', unit: 'ms', sizes, values });
  },
};

export const growingLists: Scenario = {
  name: 'growth-lists',
  title: 'Growth: lists of clusters',
  what: 'clusters',
  sizes: { small: 4_000, full: 20_000 },
  run: async ({ size }, tell) => {
    const sizes = [1_000, size];
    const values = await each(sizes, (count) => listing(count, tell));
    return outcomeOf({ name: 'growth-lists', title: 'CPU of the façade per listed cluster', unit: 'µs', sizes, values });
  },
};

export const growingRest: Scenario = {
  name: 'growth-rest',
  title: 'Growth: clusters at rest',
  what: 'clusters',
  // As many as one machine can answer for.
  sizes: { small: 400, full: 1_000 },
  run: async ({ scale, size }, tell) => {
    const sizes = [scale === 'full' ? 250 : 100, size];
    const values = await each(sizes, (count) => resting(count, scale === 'full' ? 60 : 20, tell));
    return outcomeOf({ name: 'growth-rest', title: 'CPU of Purser per cluster at rest, share of a core', unit: '‰', sizes, values });
  },
};

interface Grown {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly sizes: readonly number[];
  readonly values: readonly number[];
}

function outcomeOf({ name, title, unit, sizes, values }: Grown): Outcome {
  const [from = '', to = ''] = sizes.map((size) => size.toLocaleString('en-US'));
  const [before = 0, after = 0] = values;
  const bars = [
    { label: to, value: after },
    { label: from, value: before },
  ];
  return {
    measured: { sizes, values },
    figures: [{ name: `${title}, at ${to} relative to ${from}`, value: after / before, unit: '×', goal: atMost(FLAT) }],
    charts: [{ name, title, unit, bars }],
  };
}

async function each(sizes: readonly number[], measure: (count: number) => Promise<number>): Promise<readonly number[]> {
  const values: number[] = [];
  for (const count of sizes) values.push(await measure(count));
  return values;
}

/** Milliseconds of CPU for a first token. */
async function issuing(count: number, tell: Tell): Promise<number> {
  tell(`${count} ManagedTokens`);
  const world = await startTokenWorld();
  try {
    const idleSeconds = await idleStartSeconds(world);
    await createTokens(world.client, { prefix: 'team', count, expirationSeconds: 36_000, renewBefore: '20%' });
    const { purser, cpuMsPerToken } = await issueAll(world, count, idleSeconds);
    await purser.stop();
    return cpuMsPerToken;
  } finally {
    await world.stop();
  }
}

/** Microseconds of CPU for one cluster of a list. */
async function listing(count: number, tell: Tell): Promise<number> {
  tell(`a list of ${count} clusters`);
  const { lists } = await runScript<ListFigures>('clusters-list.ts', [count, WATCHERS]);
  return (lists.fullMs.facade * 1_000) / count;
}

/** Thousandths of a core for one cluster. */
async function resting(count: number, seconds: number, tell: Tell): Promise<number> {
  tell(`${count} clusters at rest`);
  const { cpuPercent } = await runScript<IdleFigures>('clusters-idle.ts', [count, seconds]);
  return (cpuPercent * 10) / count;
}
