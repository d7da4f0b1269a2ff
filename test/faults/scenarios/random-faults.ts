// Random faults, one after another and several at once, while tokens rotate (F56). The seed determines the sequence.

import { pick } from '../../support/random.ts';
import { paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { type Action, DISTURBANCES, MATCHERS, type Matcher } from '../proxy/rules.ts';
import { OUTAGES, type TrafficShape } from '../proxy/tcp-relay.ts';
import type { Scenario } from '../scenario.ts';
import { TEAM } from '../seed.ts';

/** Returns a scenario that draws random faults for some minutes. */
export function randomFaults(minutes: number): Scenario {
  return {
    id: 'F56',
    title: 'random faults, one after another and several at once',
    on: 'purser',
    run: (bench) => runRandomFaults(bench, minutes),
  };
}

const SHAPES: readonly TrafficShape[] = [{ delayMs: 300 }, { delayMs: 1_500 }, { bytesPerSecond: 10_000 }, { cutAfterBytes: 5_000 }];
/** Redirect that Purser must not follow, because it would send its bearer token to another server. */
const REDIRECT: Action = { type: 'respond', status: 302, headers: { location: 'https://127.0.0.1:1/' } };

async function runRandomFaults(bench: Bench, minutes: number): Promise<void> {
  const endAt = Date.now() + minutes * 60_000;
  for (let round = 1; Date.now() < endAt; round += 1) {
    const steps = 1 + Math.floor(bench.random() * 3);
    for (let step = 0; step < steps; step += 1) await pick(bench.random, STEPS)(bench);
    await bench.wait(2_000 + bench.random() * 10_000);
    await bench.heal();
    if (!bench.purser.isRunning) await bench.startPurser();
    // All tokens must recover after every fourth round.
    if (round % 4 === 0) await bench.waitUntilHealthy(60_000);
  }
}

function pickCluster({ random, hub, targets }: Bench): BenchCluster {
  return pick(random, [hub, ...targets]);
}

function recordStep({ history }: Bench, description: string): void {
  history.add({ type: 'step', description });
}

async function breakConnections(bench: Bench): Promise<void> {
  const [{ name, proxy }, mode] = [pickCluster(bench), pick(bench.random, OUTAGES)];
  recordStep(bench, `${name}: ${mode}`);
  await proxy.setTcpMode(mode);
}

async function shapeTraffic(bench: Bench): Promise<void> {
  const [{ name, proxy }, shape] = [pickCluster(bench), pick(bench.random, SHAPES)];
  recordStep(bench, `${name}: ${JSON.stringify(shape)}`);
  proxy.shapeTraffic(shape);
}

async function addRandomRule(bench: Bench): Promise<void> {
  const [{ name, proxy }, action] = [pickCluster(bench), pick(bench.random, [...DISTURBANCES, REDIRECT])];
  const which = pick(bench.random, Object.keys(MATCHERS));
  const times = pick(bench.random, [1, 3, Infinity]);
  recordStep(bench, `${name}: ${which} ${JSON.stringify(action)} ×${times}`);
  proxy.addRule(MATCHERS[which] as Matcher, action, times);
}

async function rotateToken(bench: Bench): Promise<void> {
  const name = pick(bench.random, await bench.listTokenNames());
  recordStep(bench, `rotate ${name}`);
  await bench.rotate(name);
}

async function deleteSecret(bench: Bench): Promise<void> {
  const name = pick(bench.random, await bench.listTokenNames());
  recordStep(bench, `delete the Secret of ${name}`);
  bench.recordCause(name, 'Secret deleted');
  bench.recordExcuse(name, ['I1', 'I12', 'I9'], 90_000, 'Secret deleted under faults');
  await bench.hub.api.delete(paths.secrets(TEAM, name));
}

async function killPurser(bench: Bench): Promise<void> {
  recordStep(bench, 'SIGKILL');
  await bench.purser.kill();
  if (bench.random() < 0.5) await bench.deleteLease();
  await bench.startPurser();
}

async function pausePurser(bench: Bench): Promise<void> {
  recordStep(bench, 'SIGSTOP');
  const { purser } = bench;
  purser.pause();
  await bench.wait(1_000 + bench.random() * 20_000);
  purser.resume();
}

/** Faults of connections, requests and the process, which change no object. */
export const FAULTS: readonly ((bench: Bench) => Promise<void>)[] = [
  breakConnections,
  breakConnections,
  shapeTraffic,
  addRandomRule,
  addRandomRule,
  addRandomRule,
  killPurser,
  pausePurser,
];

const STEPS = [...FAULTS, rotateToken, rotateToken, deleteSecret];
