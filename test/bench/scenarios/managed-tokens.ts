// Lifecycle of many ManagedTokens: issuance, restart and rotation, compared with a bare loop.

import { type BareLoop, measureBareLoop } from '../bare-loop.ts';
import { type Issuance, issueAll, measureIdleStart } from '../issuance.ts';
import { type Restart, restart } from '../restart.ts';
import {
  estimateIssuanceSeconds,
  ISSUANCE_MARGIN,
  LATE_SECONDS,
  type Rotation,
  rotateAll,
  SHORTEST_LIFETIME_SECONDS,
} from '../rotation.ts';
import { atMost, type Chart, type Figure, type Outcome, type PrintProgress, type Scenario } from '../scenario.ts';
import { createTokens, startTokenWorld, type TokenWorld } from '../token-world.ts';

interface Lifecycle {
  readonly count: number;
  readonly issued: Issuance;
  readonly restarted: Restart;
  readonly rotated: Rotation;
  readonly bare: BareLoop;
}

/** Number of ManagedTokens for which the memory goal applies. */
const MANY = 10_000;
const NOTE = 'The bare loop sends the same requests with the same HTTP client, without watches, decisions or retries.';

/** Small number of ManagedTokens; the difference from many-tokens shows costs that grow. */
export const someTokens: Scenario = {
  name: 'some-tokens',
  title: 'Few ManagedTokens: issuance, restart and rotation',
  sizeUnit: 'ManagedTokens',
  sizes: { small: 500, full: 2_000 },
  note: NOTE,
  run: ({ size }, progress) => runLifecycle(size, progress),
};

export const manyTokens: Scenario = {
  name: 'many-tokens',
  title: 'Many ManagedTokens: issuance, restart and rotation',
  sizeUnit: 'ManagedTokens',
  sizes: { small: 1_000, full: MANY },
  note: NOTE,
  run: ({ size }, progress) => runLifecycle(size, progress),
};

async function runLifecycle(count: number, progress: PrintProgress): Promise<Outcome> {
  const lifecycle = await measureLifecycle(count, progress);
  return { measured: lifecycle, figures: toFigures(lifecycle), charts: toCharts(lifecycle) };
}

async function measureLifecycle(count: number, progress: PrintProgress): Promise<Lifecycle> {
  const world = await startTokenWorld();
  try {
    return await measureIn(world, count, progress);
  } finally {
    await world.stop();
  }
}

async function measureIn(world: TokenWorld, count: number, progress: PrintProgress): Promise<Lifecycle> {
  const { seconds: idleSeconds } = await measureIdleStart(world);
  progress(`creating ${count} ManagedTokens`);
  const dueSeconds = RESTART_SECONDS + ISSUANCE_MARGIN * (await estimateIssuanceSeconds(world, count));
  const expirationSeconds = Math.ceil(Math.max(SHORTEST_LIFETIME_SECONDS, dueSeconds * 4));
  await createTokens(world.client, { prefix: 'team', count, expirationSeconds, renewBefore: '75%' });
  progress('starting Purser');
  const { purser: first, ...issued } = await issueAll(world, count, idleSeconds);
  await first.stop();
  progress(`ready after ${issued.seconds.toFixed(1)} s; restarting Purser`);
  const { purser, ...restarted } = await restart(world);
  progress(`served after ${restarted.seconds.toFixed(1)} s; waiting for rotations`);
  const rotated = await rotateAll(world, purser);
  await purser.stop();
  progress(`${rotated.rotations} rotations; running the bare loop`);
  const bare = await measureBareLoop(world, count, issued.eventShare);
  return { count, issued, restarted, rotated, bare };
}

/** Time for a restart, before which no token may be due. */
const RESTART_SECONDS = 90;

function toFigures({ count, issued, restarted, rotated, bare }: Lifecycle): readonly Figure[] {
  const name = count.toLocaleString('en-US');
  const loopSeconds = count / bare.tokensPerSecond;
  const memoryGoal = count <= MANY && { goal: atMost(250) };
  return [
    {
      name: `issuance of ${name} tokens: wall time, relative to a bare loop`,
      value: issued.seconds / loopSeconds,
      unit: '×',
      goal: atMost(1.2),
    },
    { name: `issuance of ${name} tokens: CPU of Purser per token`, value: issued.cpuMsPerToken, unit: 'ms', goal: atMost(2) },
    { name: `issuance of ${name} tokens: CPU of the bare loop per token`, value: bare.cpuMsPerToken, unit: 'ms' },
    { name: `issuance of ${name} tokens: requests per token`, value: issued.requestsPerToken, unit: '', goal: atMost(6) },
    { name: `rotation of ${name} tokens: access reviews per token`, value: rotated.reviewsPerRotation, unit: '', goal: atMost(1) },
    { name: `rotation of ${name} tokens: other requests per token`, value: rotated.requestsPerRotation, unit: '', goal: atMost(3) },
    { name: `rotation of ${name} tokens: tokens that expired before rotation`, value: rotated.late, unit: '', goal: atMost(0) },
    { name: `rotation of ${name} tokens: longest delay`, value: rotated.worstLateSeconds, unit: 's', goal: atMost(LATE_SECONDS) },
    { name: `rotation of ${name} tokens: CPU of Purser per token`, value: rotated.cpuMsPerRotation, unit: 'ms' },
    {
      name: `restart with ${name} tokens: writes, excluding those of the Lease`,
      value: restarted.writes.length,
      unit: '',
      goal: atMost(0),
    },
    { name: `restart with ${name} tokens: time until synced and serving`, value: restarted.seconds, unit: 's', goal: atMost(5) },
    { name: `restart with ${name} tokens: memory`, value: restarted.rssMegabytes, unit: 'MB', ...memoryGoal },
    {
      name: `restart with ${name} tokens: memory after a scrape of the metrics`,
      value: restarted.scraped.rssMegabytes,
      unit: 'MB',
      ...memoryGoal,
    },
  ];
}

function toCharts({ count, issued, bare }: Lifecycle): readonly Chart[] {
  return [
    {
      name: `managed-tokens-${count}`,
      title: `Time until ${count.toLocaleString('en-US')} ManagedTokens are ready`,
      unit: 's',
      bars: [
        { label: 'Purser', value: issued.seconds },
        { label: `bare loop, ${bare.concurrency} at a time`, value: count / bare.tokensPerSecond },
      ],
    },
  ];
}
