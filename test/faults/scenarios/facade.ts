// Faults as callers of the façade meet them.

import type { Bench } from '../bench.ts';
import { FacadeClient } from '../facade-client.ts';
import { restartPlace } from '../place.ts';
import type { Scenario } from '../scenario.ts';

/** The hub goes and returns: 503 to callers, watches end, nobody is called a stranger. */
async function hubDown(bench: Bench): Promise<void> {
  const client = await FacadeClient.of(bench, bench.purser);
  const watch = await client.watch();
  if (watch.status !== 200 || (await client.issue('one', 'one-2')) !== 201)
    bench.violation('I10', 'the façade does not work before the fault');
  bench.cause('one-2', 'a caller of the façade');
  await bench.hub.proxy.tcp('refuse');
  // What it was told of the caller is believed for ten seconds.
  await bench.pass(12_000);
  const refused = await Promise.all([client.issue('one', 'one-2'), client.list()]);
  if (refused.some((status) => status !== 503)) bench.violation('I9', `the façade answers ${refused.join(', ')} without its hub`);
  await bench.hub.proxy.tcp('pass');
  bench.cause('one-2', 'a caller of the façade');
  await bench.expect('I10', 'the façade issues again', 30_000, async () => (await client.issue('one', 'one-2')) === 201);
  watch.close();
  client.close();
}

const CALLS_MS = 12_000;
const CALLERS = 20;
/** Fewer are no load. */
const LEAST_CALLS = 1_000;

/** One of two replicas is killed under load: what was under way is lost, and nothing else. */
async function replicaKilled(bench: Bench): Promise<void> {
  const first = bench.purser;
  const second = await bench.startPurser();
  const clients = [await FacadeClient.of(bench, first), await FacadeClient.of(bench, second)] as const;
  const endAt = Date.now() + CALLS_MS;
  const answers = new Map<string, number>();
  const call = async (index: 0 | 1) => {
    while (Date.now() < endAt) {
      const status = await clients[index].list();
      answers.set(`${index} ${status}`, (answers.get(`${index} ${status}`) ?? 0) + 1);
      await bench.pass(CALLERS * 2);
      // Who is refused tries the other one, as behind a Service.
      if (status === 0) index = 1;
    }
  };
  const calls = Promise.all(Array.from({ length: CALLERS }, (_, n) => call(n % 2 === 0 ? 0 : 1)));
  await bench.pass(CALLS_MS / 3);
  await first.kill();
  await calls;
  const served = (answers.get('0 200') ?? 0) + (answers.get('1 200') ?? 0);
  bench.history.add({ type: 'step', what: `${served} calls answered in ${CALLS_MS / 1_000} s` });
  if (served < LEAST_CALLS) bench.violation('I10', `only ${served} calls were answered`);
  const lost = answers.get('0 0') ?? 0;
  if (lost > CALLERS) bench.violation('I10', `${lost} calls were lost`);
  const other = [...answers.keys()].filter((key) => !['0 200', '0 0', '1 200'].includes(key));
  if (other.length > 0) bench.violation('I10', `the façade answered ${other.map((key) => `${key} ×${answers.get(key)}`).join(', ')}`);
  for (const client of clients) client.close();
}

const WATCHERS = 500;

/** Many watches while the hub restarts: none is lost without an end, and memory stays within bounds. */
async function watchersAndRestart(bench: Bench): Promise<void> {
  const client = await FacadeClient.of(bench, bench.purser);
  bench.excuse('*', ['I8'], 60_000, 'each watcher has a socket');
  const watches = await Promise.all(Array.from({ length: WATCHERS }, () => client.watch()));
  const open = watches.filter(({ status }) => status === 200);
  if (open.length < WATCHERS) bench.violation('I10', `${WATCHERS - open.length} of ${WATCHERS} watches are refused`);
  bench.cause('*', 'hub restarted');
  await restartPlace(bench.hub, 'kill');
  await bench.pass(10_000);
  await bench.expect('I10', 'the façade lists again', 30_000, async () => (await client.list()) === 200);
  const ends = await Promise.all(open.map(({ ended }) => Promise.race([ended, Promise.resolve('open' as const)])));
  const [torn, kept] = [ends.filter((end) => end === false).length, ends.filter((end) => end === 'open').length];
  bench.history.add({ type: 'step', what: `${kept} of ${WATCHERS} watches still open, ${torn} torn` });
  if (torn > 0) bench.violation('I10', `${torn} watches ended without an end`);
  for (const { close } of watches) close();
  client.close();
}

/** A dead target: callers are told soon, and others are not kept waiting. */
async function targetDown(bench: Bench): Promise<void> {
  const client = await FacadeClient.of(bench, bench.purser);
  for (const name of ['one-2', 'two-2']) bench.excuse(name, ['I2'], 60_000, 'callers of the façade');
  for (const mode of ['refuse', 'silent'] as const) {
    await bench.one.proxy.tcp(mode);
    const startedAt = performance.now();
    const [down, up] = await Promise.all([client.issue('one', 'one-2'), client.issue('two', 'two-2')]);
    const tookMs = performance.now() - startedAt;
    if (![503, 504].includes(down) || up !== 201)
      bench.violation('I5', `the façade answers ${down} for a dead target and ${up} for another`);
    if (tookMs > 15_000) bench.violation('I5', `a dead target took ${Math.round(tookMs)} ms`);
  }
  client.close();
}

export const facadeFaults: readonly Scenario[] = [
  { id: 'F53', title: 'façade: hub down for 12 s', on: 'hub', run: hubDown },
  { id: 'F54', title: 'façade: one of two replicas killed under load', on: 'purser', run: replicaKilled },
  { id: 'F55', title: `façade: ${WATCHERS} watchers, hub killed and restarted`, on: 'hub', run: watchersAndRestart },
  { id: 'A1', title: 'façade: target refuses connections, then does not respond', on: 'one', run: targetDown },
];
