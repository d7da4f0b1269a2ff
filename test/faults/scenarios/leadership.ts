// Faults of leadership: two processes of Purser, and a Lease that cannot be had.

import { paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { isLease, isSecretWrite } from '../proxy/rules.ts';
import { during, type Scenario } from '../scenario.ts';

/** The Lease expires, and the other one asks for it. */
const TAKEN_MS = 30_000;

async function holder({ hub }: Bench): Promise<unknown> {
  return (await hub.api.get(paths.lease)).spec?.['holderIdentity'];
}

/** Both are cut off from the Lease: nobody leads, and nobody issues; then somebody does. */
async function leaseDropped(bench: Bench): Promise<void> {
  const first = bench.purser;
  await bench.startPurser();
  await bench.pass(2_000);
  bench.cause('*', 'change of leaders');
  bench.hub.proxy.rule(isLease, { type: 'drop' });
  await bench.pass(15_000);
  const startedAt = Date.now();
  await bench.rotate('one-2', 'two-2');
  await bench.pass(8_000);
  const asked = bench.history.entries.filter((entry) => entry.type === 'request' && entry.at > startedAt && entry.path.endsWith('/token'));
  if (asked.length > 0) bench.violation('I2', `${asked.length} tokens were issued by one that could not renew its Lease`);
  await bench.hub.proxy.heal();
  await bench.settled(TAKEN_MS);
  await bench.endPursers(bench.purser);
  if (first.isRunning) bench.violation('I10', 'the first did not end');
}

/** The leader is stopped with a write in flight, and goes on when another leads. */
async function stoppedLeader(bench: Bench): Promise<void> {
  const first = bench.purser;
  const before = await holder(bench);
  await bench.startPurser();
  await bench.pass(3_000);
  const rule = bench.hub.proxy.rule(isSecretWrite, { type: 'delay', ms: 25_000 }, 1);
  await bench.rotate('one-2');
  await bench.expect('I10', 'a Secret is written', 10_000, async () => rule.hits() === 1);
  first.pause();
  await bench.expect('I10', 'the other takes over', TAKEN_MS, async () => (await holder(bench)) !== before);
  await bench.settled(TAKEN_MS);
  first.resume();
  await bench.rotate('one-2', 'two-2');
  await bench.pass(15_000);
  await bench.endPursers(bench.purser);
}

async function leaseTrouble(bench: Bench): Promise<void> {
  const first = bench.purser;
  await bench.startPurser();
  bench.cause('*', 'change of leaders');
  await bench.hub.api.delete(paths.lease);
  await during(bench, 6_000, ['one-2']);
  bench.hub.proxy.rule(isLease, { type: 'answer', status: 409 });
  await during(bench, 8_000, ['two-2']);
  await bench.hub.proxy.heal();
  await bench.settled(TAKEN_MS);
  const renewTime = new Date(Date.now() + 3_600_000).toISOString().replace('Z', '000Z');
  bench.cause('*', 'change of leaders');
  await bench.hub.api.patch(paths.lease, { spec: { holderIdentity: 'somebody-else', renewTime } });
  await bench.rotate('one-2');
  await bench.settled(TAKEN_MS);
  await first.stop();
}

export const leadershipFaults: readonly Scenario[] = [
  { id: 'F29', title: 'two processes, requests for the Lease dropped', on: 'purser', run: leaseDropped },
  { id: 'F30', title: 'leader stopped during a write, resumed later', on: 'purser', run: stoppedLeader },
  {
    id: 'F31',
    title: 'Lease deleted, 409 on its updates, held by a process whose clock is an hour ahead',
    on: 'purser',
    run: leaseTrouble,
  },
];
