// F56: faults drawn by chance, one after the other and several at once, while tokens rotate. The seed gives the same again.

import { paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { TEAM } from '../furnish.ts';
import type { Place } from '../place.ts';
import { type Action, MATCHERS, type Matcher } from '../proxy/rules.ts';
import type { TcpMode, TcpQuality } from '../proxy/tcp-front.ts';
import { pick } from '../random.ts';
import type { Scenario } from '../scenario.ts';

/** Draws faults for a time. */
export function randomFaults(minutes: number): Scenario {
  return {
    id: 'F56',
    title: 'random faults, one after the other and several at once',
    on: 'purser',
    run: (bench) => schedule(bench, minutes),
  };
}

const MODES: readonly TcpMode[] = ['refuse', 'reset', 'freeze', 'silent'];
const LINES: readonly TcpQuality[] = [{ delayMs: 300 }, { delayMs: 1_500 }, { bytesPerSecond: 10_000 }, { cutAfterBytes: 5_000 }];
const ACTIONS: readonly Action[] = [
  { type: 'drop' },
  { type: 'lose' },
  { type: 'hold' },
  { type: 'delay', ms: 4_000 },
  { type: 'truncate', bytes: 30 },
  { type: 'alter', alter: () => '{}' },
  { type: 'answer', status: 500 },
  { type: 'answer', status: 503, headers: { 'retry-after': '1' } },
  { type: 'answer', status: 429, headers: { 'retry-after': '2' } },
  { type: 'answer', status: 409 },
  { type: 'answer', status: 302, headers: { location: 'https://127.0.0.1:1/' } },
];

async function schedule(bench: Bench, minutes: number): Promise<void> {
  const endAt = Date.now() + minutes * 60_000;
  for (let round = 1; Date.now() < endAt; round += 1) {
    const steps = 1 + Math.floor(bench.random() * 3);
    for (let step = 0; step < steps; step += 1) await pick(bench.random, STEPS)(bench);
    await bench.pass(2_000 + bench.random() * 10_000);
    await bench.heal();
    if (!bench.purser.isRunning) await bench.startPurser();
    // Now and then everything has to be well again.
    if (round % 4 === 0) await bench.settled(60_000);
  }
}

function place({ random, hub, targets }: Bench): Place {
  return pick(random, [hub, ...targets]);
}

function told({ history }: Bench, what: string): void {
  history.add({ type: 'step', what });
}

async function connections(bench: Bench): Promise<void> {
  const [{ name, proxy }, mode] = [place(bench), pick(bench.random, MODES)];
  told(bench, `${name}: ${mode}`);
  await proxy.tcp(mode);
}

async function line(bench: Bench): Promise<void> {
  const [{ name, proxy }, quality] = [place(bench), pick(bench.random, LINES)];
  told(bench, `${name}: ${JSON.stringify(quality)}`);
  proxy.line(quality);
}

async function answers(bench: Bench): Promise<void> {
  const [{ name, proxy }, action] = [place(bench), pick(bench.random, ACTIONS)];
  const which = pick(bench.random, Object.keys(MATCHERS));
  const times = pick(bench.random, [1, 3, Infinity]);
  told(bench, `${name}: ${which} ${JSON.stringify(action)} ×${times}`);
  proxy.rule(MATCHERS[which] as Matcher, action, times);
}

async function rotation(bench: Bench): Promise<void> {
  const name = pick(bench.random, await bench.tokens());
  told(bench, `rotate ${name}`);
  await bench.rotate(name);
}

async function deletion(bench: Bench): Promise<void> {
  const name = pick(bench.random, await bench.tokens());
  told(bench, `delete the Secret of ${name}`);
  bench.cause(name, 'Secret deleted');
  bench.excuse(name, ['I1', 'I12', 'I9'], 90_000, 'Secret deleted under faults');
  await bench.hub.api.delete(paths.secrets(TEAM, name));
}

async function crash(bench: Bench): Promise<void> {
  told(bench, 'SIGKILL');
  await bench.purser.kill();
  if (bench.random() < 0.5) await bench.freeLease();
  await bench.startPurser();
}

async function stop(bench: Bench): Promise<void> {
  told(bench, 'SIGSTOP');
  const { purser } = bench;
  purser.pause();
  await bench.pass(1_000 + bench.random() * 20_000);
  purser.resume();
}

const STEPS = [connections, connections, line, answers, answers, answers, rotation, rotation, deletion, crash, stop];
