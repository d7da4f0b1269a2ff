// Faults of leadership: two processes of Purser, and a Lease that cannot be acquired.

import { paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { isLease, isSecretWrite } from '../proxy/rules.ts';
import { rotateAndWait, type Scenario } from '../scenario.ts';

/** Time for the Lease to expire and the other replica to acquire it, in milliseconds. */
const TAKEOVER_MS = 30_000;

async function readHolder({ hub }: Bench): Promise<unknown> {
  return (await hub.api.get(paths.lease)).spec?.['holderIdentity'];
}

/** Drops requests for the Lease: no replica leads or issues until the Lease is available again. */
async function dropLeaseRequests(bench: Bench): Promise<void> {
  const first = bench.purser;
  await bench.startPurser();
  await bench.wait(2_000);
  bench.recordCause('*', 'change of leaders');
  bench.hub.proxy.addRule(isLease, { type: 'drop' });
  await bench.wait(15_000);
  const startedAt = Date.now();
  await bench.rotate('one-2', 'two-2');
  await bench.wait(8_000);
  const requests = bench.countRequests(startedAt, (path) => path.endsWith('/token'));
  if (requests > 0) bench.recordViolation('I2', `${requests} tokens were issued by a replica that could not renew its Lease`);
  await bench.hub.proxy.heal();
  await bench.waitUntilHealthy(TAKEOVER_MS);
  await bench.stopPursers(bench.purser);
  if (first.isRunning) bench.recordViolation('I10', 'the first replica did not exit');
}

/** Pauses the leader during a write, and resumes it when another replica leads. */
async function pauseLeader(bench: Bench): Promise<void> {
  const first = bench.purser;
  const before = await readHolder(bench);
  await bench.startPurser();
  await bench.wait(3_000);
  const rule = bench.hub.proxy.addRule(isSecretWrite, { type: 'delay', ms: 25_000 }, 1);
  await bench.rotate('one-2');
  await bench.expect('I10', 'the leader writes a Secret', 10_000, async () => rule.hits() === 1);
  first.pause();
  await bench.expect('I10', 'the other replica leads', TAKEOVER_MS, async () => (await readHolder(bench)) !== before);
  await bench.waitUntilHealthy(TAKEOVER_MS);
  first.resume();
  await bench.rotate('one-2', 'two-2');
  await bench.wait(15_000);
  await bench.stopPursers(bench.purser);
}

async function disturbLease(bench: Bench): Promise<void> {
  const first = bench.purser;
  await bench.startPurser();
  bench.recordCause('*', 'change of leaders');
  await bench.hub.api.delete(paths.lease);
  await rotateAndWait(bench, 6_000, ['one-2']);
  bench.hub.proxy.addRule(isLease, { type: 'respond', status: 409 });
  await rotateAndWait(bench, 8_000, ['two-2']);
  await bench.hub.proxy.heal();
  await bench.waitUntilHealthy(TAKEOVER_MS);
  const renewTime = new Date(Date.now() + 3_600_000).toISOString().replace('Z', '000Z');
  bench.recordCause('*', 'change of leaders');
  await bench.hub.api.patch(paths.lease, { spec: { holderIdentity: 'another-replica', renewTime } });
  await bench.rotate('one-2');
  await bench.waitUntilHealthy(TAKEOVER_MS);
  await first.stop();
}

export const leadershipFaults: readonly Scenario[] = [
  { id: 'F29', title: 'two processes, requests for the Lease dropped', on: 'purser', run: dropLeaseRequests },
  { id: 'F30', title: 'leader suspended during a write, resumed after another replica leads', on: 'purser', run: pauseLeader },
  {
    id: 'F31',
    title: 'Lease deleted, then 409 for all its requests, then held by a replica whose clock is an hour ahead',
    on: 'purser',
    run: disturbLease,
  },
];
