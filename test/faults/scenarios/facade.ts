// Faults from the point of view of callers of the façade.

import type { Bench } from '../bench.ts';
import { restartCluster } from '../bench-cluster.ts';
import { FacadeClient } from '../facade-client.ts';
import type { Scenario } from '../scenario.ts';

/** Disconnects the hub: callers get 503, watches end, and no caller gets 401. */
async function disconnectHub(bench: Bench): Promise<void> {
  const client = await FacadeClient.connect(bench, bench.purser);
  const watch = await client.watch();
  if (watch.status !== 200 || (await client.issue('one', 'one-2')) !== 201)
    bench.recordViolation('I10', 'the façade fails before the fault');
  bench.recordCause('one-2', 'a caller of the façade');
  await bench.hub.proxy.setTcpMode('refuse');
  // The façade caches authentication for ten seconds.
  await bench.wait(12_000);
  const statuses = await Promise.all([client.issue('one', 'one-2'), client.list()]);
  if (statuses.some((status) => status !== 503)) bench.recordViolation('I9', `the façade returns ${statuses.join(', ')} without its hub`);
  await bench.hub.proxy.setTcpMode('pass');
  bench.recordCause('one-2', 'a caller of the façade');
  await bench.expect('I10', 'the façade issues again', 30_000, async () => (await client.issue('one', 'one-2')) === 201);
  watch.close();
  client.close();
}

const CALLS_MS = 12_000;
const CALLERS = 20;
/** Pause of each caller between calls, in milliseconds: all callers are one user, whose rate is limited. */
const PAUSE_MS = CALLERS * 12;
/** Minimum number of calls for a significant load. */
const MIN_CALLS = 500;

/** Kills one of two replicas under load: only the requests in flight are lost. */
async function killReplica(bench: Bench): Promise<void> {
  const first = bench.purser;
  const second = await bench.startPurser();
  const clients = [await FacadeClient.connect(bench, first), await FacadeClient.connect(bench, second)] as const;
  const endAt = Date.now() + CALLS_MS;
  const responses = new Map<string, number>();
  const call = async (index: 0 | 1) => {
    while (Date.now() < endAt) {
      const status = await clients[index].list();
      responses.set(`${index} ${status}`, (responses.get(`${index} ${status}`) ?? 0) + 1);
      await bench.wait(PAUSE_MS);
      // A failed call goes to the other replica, as with a Service.
      if (status === 0) index = 1;
    }
  };
  const calls = Promise.all(Array.from({ length: CALLERS }, (_, n) => call(n % 2 === 0 ? 0 : 1)));
  await bench.wait(CALLS_MS / 3);
  await first.kill();
  await calls;
  const served = (responses.get('0 200') ?? 0) + (responses.get('1 200') ?? 0);
  bench.history.add({ type: 'step', description: `${served} calls served in ${CALLS_MS / 1_000} s` });
  if (served < MIN_CALLS) bench.recordViolation('I10', `only ${served} calls were served`);
  const lost = responses.get('0 0') ?? 0;
  if (lost > CALLERS) bench.recordViolation('I10', `${lost} calls were lost`);
  const other = [...responses.keys()].filter((key) => !['0 200', '0 0', '1 200'].includes(key));
  if (other.length > 0)
    bench.recordViolation('I10', `the façade returned ${other.map((key) => `${key} ×${responses.get(key)}`).join(', ')}`);
  for (const client of clients) client.close();
}

const WATCHERS = 500;
/** Number of watches to open per second: half of the rate that the façade allows one caller. */
const BATCH = 50;

/** Restarts the hub under many watches: each watch stays open or ends cleanly, and memory stays within its limit. */
async function restartHubUnderWatches(bench: Bench): Promise<void> {
  const client = await FacadeClient.connect(bench, bench.purser);
  bench.recordExcuse('*', ['I8'], 60_000, 'each watcher has a socket');
  const watches: Awaited<ReturnType<FacadeClient['watch']>>[] = [];
  while (watches.length < WATCHERS) {
    watches.push(...(await Promise.all(Array.from({ length: BATCH }, () => client.watch()))));
    await bench.wait(1_000);
  }
  const open = watches.filter(({ status }) => status === 200);
  if (open.length < WATCHERS) bench.recordViolation('I10', `${WATCHERS - open.length} of ${WATCHERS} watches were rejected`);
  bench.recordCause('*', 'hub restarted');
  await restartCluster(bench.hub, 'kill');
  await bench.wait(10_000);
  await bench.expect('I10', 'the façade lists again', 30_000, async () => (await client.list()) === 200);
  const ends = await Promise.all(open.map(({ ended }) => Promise.race([ended, Promise.resolve('open' as const)])));
  const [broken, kept] = [ends.filter((end) => end === false).length, ends.filter((end) => end === 'open').length];
  bench.history.add({ type: 'step', description: `${kept} of ${WATCHERS} watches still open, ${broken} broken` });
  if (broken > 0) bench.recordViolation('I10', `${broken} watches broke without a clean end`);
  for (const { close } of watches) close();
  client.close();
}

/** Disconnects a target: its callers get an error in time, and callers of other targets are not delayed. */
async function disconnectTarget(bench: Bench): Promise<void> {
  const client = await FacadeClient.connect(bench, bench.purser);
  for (const name of ['one-2', 'two-2']) bench.recordExcuse(name, ['I2'], 60_000, 'callers of the façade');
  for (const mode of ['refuse', 'silent'] as const) {
    await bench.one.proxy.setTcpMode(mode);
    const startedAt = performance.now();
    const [down, up] = await Promise.all([client.issue('one', 'one-2'), client.issue('two', 'two-2')]);
    const tookMs = performance.now() - startedAt;
    if (![503, 504].includes(down) || up !== 201)
      bench.recordViolation('I5', `the façade returns ${down} for a dead target and ${up} for another`);
    if (tookMs > 15_000) bench.recordViolation('I5', `a dead target took ${Math.round(tookMs)} ms`);
  }
  client.close();
}

export const facadeFaults: readonly Scenario[] = [
  { id: 'F53', title: 'façade: hub down for 12 s', on: 'hub', run: disconnectHub },
  { id: 'F54', title: 'façade: one of two replicas killed under load', on: 'purser', run: killReplica },
  { id: 'F55', title: `façade: ${WATCHERS} watchers, hub killed and restarted`, on: 'hub', run: restartHubUnderWatches },
  { id: 'A1', title: 'façade: target refuses connections, then does not respond', on: 'one', run: disconnectTarget },
];
