// Whether a token and a cluster cost the same in a large fleet as in a small one.

import { idleStartSeconds, issueAll } from '../issuance.ts';
import { atMost, type Bar, type Figure, type Scenario, type Tell } from '../scenario.ts';
import { runScript } from '../script.ts';
import { createTokens, startTokenWorld } from '../token-world.ts';
import type { ListFigures } from './cluster-lists.ts';
import type { IdleFigures } from './idle-clusters.ts';

const SIZES = {
  small: { tokens: [500, 4_000], listed: [500, 4_000], idle: [100, 400], idleSeconds: 20 },
  // As many idle clusters as one machine can answer for.
  full: { tokens: [1_000, 20_000], listed: [1_000, 20_000], idle: [250, 1_000], idleSeconds: 60 },
} as const;
const WATCHERS = 20;
/** Flat, within what two measurements of the same differ by. */
const FLAT = 1.2;

export const growth: Scenario = {
  name: 'growth',
  title: 'Growth',
  run: async (scale, tell) => {
    const { tokens, listed, idle, idleSeconds } = SIZES[scale];
    const token = await each(tokens, (count) => issuing(count, tell));
    const list = await each(listed, (count) => listing(count, tell));
    const rest = await each(idle, (count) => resting(count, idleSeconds, tell));
    const bars = (sizes: readonly number[], values: readonly number[], what: string): Bar[] =>
      values.map((value, index) => ({ label: `${sizes[index]?.toLocaleString('en-US')} ${what}`, value }));
    return {
      measured: { token, list, rest },
      figures: [
        grown('CPU for a token', tokens, token),
        grown('CPU for a cluster in a list', listed, list),
        grown('CPU for a cluster at rest', idle, rest),
      ],
      charts: [
        { name: 'growth-tokens', title: 'CPU of Purser for a first token', unit: 'ms', bars: bars(tokens, token, 'tokens') },
        { name: 'growth-lists', title: 'CPU of the façade for a cluster in a list', unit: 'µs', bars: bars(listed, list, 'clusters') },
        { name: 'growth-rest', title: 'CPU for a cluster at rest, of a core', unit: '‰', bars: bars(idle, rest, 'clusters') },
      ],
    };
  },
};

async function each(sizes: readonly number[], measure: (count: number) => Promise<number>): Promise<readonly number[]> {
  const values: number[] = [];
  for (const count of sizes) values.push(await measure(count));
  return values;
}

function grown(name: string, [from = 0, to = 0]: readonly number[], [before = 0, after = 0]: readonly number[]): Figure {
  const sizes = `${from.toLocaleString('en-US')} to ${to.toLocaleString('en-US')}`;
  return { name: `${name}, from ${sizes}`, value: after / before, unit: '×', goal: atMost(FLAT) };
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
