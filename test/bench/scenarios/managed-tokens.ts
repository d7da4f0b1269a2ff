// The life of many ManagedTokens: to ready, a restart, the rotation of all of them, beside a loop that does only what must be.

import { ManagedTokens } from '../../../src/api/resources.ts';
import { nameOf } from '../../../src/kube/paths.ts';
import { type BareLoop, bestBareLoop } from '../bare-loop.ts';
import { type Issuance, idleStartSeconds, issueAll } from '../issuance.ts';
import { type Restart, restart } from '../restart.ts';
import { type Rotation, rotateAll } from '../rotation.ts';
import { atMost, type Chart, type Figure, type Outcome, type Scenario, type Tell } from '../scenario.ts';
import { createTokens, startTokenWorld, type TokenWorld } from '../token-world.ts';

interface Life {
  readonly count: number;
  readonly issued: Issuance;
  readonly restarted: Restart;
  readonly rotated: Rotation;
  readonly bare: BareLoop;
}

/** The goal for memory is for so many. */
const MANY = 10_000;
const NOTE = 'The bare loop sends the same requests with the same HTTP client, without watches, decisions or retries.';

/** Some ManagedTokens, and many: what costs more with their number shows between the two. */
export const someTokens: Scenario = {
  name: 'some-tokens',
  title: 'Few ManagedTokens: issuance, restart and rotation',
  what: 'ManagedTokens',
  sizes: { small: 500, full: 2_000 },
  note: NOTE,
  run: ({ size }, tell) => lived(size, tell),
};

export const manyTokens: Scenario = {
  name: 'many-tokens',
  title: 'Many ManagedTokens: issuance, restart and rotation',
  what: 'ManagedTokens',
  sizes: { small: 1_000, full: MANY },
  note: NOTE,
  run: ({ size }, tell) => lived(size, tell),
};

async function lived(count: number, tell: Tell): Promise<Outcome> {
  const life = await live(count, tell);
  return { measured: life, figures: figuresOf(life), charts: chartsOf(life) };
}

async function live(count: number, tell: Tell): Promise<Life> {
  const world = await startTokenWorld();
  try {
    return await liveIn(world, count, tell);
  } finally {
    await world.stop();
  }
}

async function liveIn(world: TokenWorld, count: number, tell: Tell): Promise<Life> {
  const idleSeconds = await idleStartSeconds(world);
  tell(`makes ${count} ManagedTokens`);
  const dueSeconds = await secondsUntilDue(world, count);
  const expirationSeconds = Math.ceil(Math.max(SHORTEST_SECONDS, dueSeconds * 4));
  await createTokens(world.client, { prefix: 'team', count, expirationSeconds, renewBefore: '75%' });
  tell('starts Purser on them');
  const { purser: first, ...issued } = await issueAll(world, count, idleSeconds);
  await first.stop();
  tell(`ready after ${issued.seconds.toFixed(1)} s; starts Purser again`);
  const { purser, ...restarted } = await restart(world);
  tell(`served after ${restarted.seconds.toFixed(1)} s; waits for rotations`);
  const rotated = await rotateAll(world, purser);
  await purser.stop();
  tell(`${rotated.rotations} rotations; runs the bare loop`);
  const bare = await bestBareLoop(world, count, issued.eventShare);
  return { count, issued, restarted, rotated, bare };
}

const SHORTEST_SECONDS = 600;
const TRIAL = 100;
/** A token takes five requests and a ManagedToken one; a busy machine may become busier. */
const ISSUED_TO_MADE = 8;
const RESTART_SECONDS = 90;

/** Long enough for the last token to be issued, and the restart to be over, before the first one is due. */
async function secondsUntilDue({ client }: TokenWorld, count: number): Promise<number> {
  const startedAt = performance.now();
  const trial = { prefix: 'trial', count: TRIAL, expirationSeconds: SHORTEST_SECONDS, renewBefore: '20%' };
  const made = await createTokens(client, trial);
  const secondsEach = (performance.now() - startedAt) / 1_000 / TRIAL;
  for (const token of made) await client.delete(ManagedTokens, nameOf(token));
  return RESTART_SECONDS + ISSUED_TO_MADE * count * secondsEach;
}

function figuresOf({ count, issued, restarted, rotated, bare }: Life): readonly Figure[] {
  const name = count.toLocaleString('en-US');
  const loopSeconds = count / bare.tokensPerSecond;
  return [
    { name: `issuance of ${name}: wall time, relative to a bare loop`, value: issued.seconds / loopSeconds, unit: '×', goal: atMost(1.2) },
    { name: `issuance of ${name}: CPU of Purser per token`, value: issued.cpuMsPerToken, unit: 'ms', goal: atMost(2) },
    { name: `issuance of ${name}: CPU of the bare loop per token`, value: bare.cpuMsPerToken, unit: 'ms' },
    { name: `issuance of ${name}: requests per token`, value: issued.requestsPerToken, unit: '', goal: atMost(6) },
    { name: `rotation of ${name}: reviews per token`, value: rotated.reviewsPerRotation, unit: '', goal: atMost(1) },
    { name: `rotation of ${name}: other requests per token`, value: rotated.requestsPerRotation, unit: '', goal: atMost(3) },
    { name: `rotation of ${name}: tokens that expired before rotation`, value: rotated.late, unit: '', goal: atMost(0) },
    { name: `rotation of ${name}: longest delay`, value: rotated.worstLateSeconds, unit: 's', goal: atMost(LATE_SECONDS) },
    { name: `rotation of ${name}: CPU of Purser per token`, value: rotated.cpuMsPerRotation, unit: 'ms' },
    { name: `restart with ${name}: writes other than the Lease`, value: restarted.writes.length, unit: '', goal: atMost(0) },
    { name: `restart with ${name}: time until synced and serving`, value: restarted.seconds, unit: 's', goal: atMost(5) },
    { name: `restart with ${name}: memory`, value: restarted.rssMegabytes, unit: 'MB', ...(count <= MANY && { goal: atMost(250) }) },
  ];
}

/** A token that is renewed as long after its time as a queue of its window may take. */
const LATE_SECONDS = 10;

function chartsOf({ count, issued, bare }: Life): readonly Chart[] {
  return [
    {
      name: `managed-tokens-${count}`,
      title: `${count.toLocaleString('en-US')} ManagedTokens to ready`,
      unit: 's',
      bars: [
        { label: 'Purser', value: issued.seconds },
        { label: `bare loop, ${bare.concurrency} at a time`, value: count / bare.tokensPerSecond },
      ],
    },
  ];
}
