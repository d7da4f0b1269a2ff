// Restart of Purser with many tokens, compared with bare lists, and take-over by a second replica.

import { setTimeout as delay } from 'node:timers/promises';
import { Label, LabelValue } from '../../../src/api/names.ts';
import { ManagedTokens, Secrets } from '../../../src/api/resources.ts';
import { collectionPath } from '../../../src/kube/paths.ts';
import type { BareListJob, BareListResult } from '../bare-list-process.ts';
import { runJob, serverOf } from '../bare-loop.ts';
import { issueAll, measureIdleStart } from '../issuance.ts';
import { type Purser, startPurser } from '../purser-process.ts';
import { restart } from '../restart.ts';
import { atMost, type Outcome, type PrintProgress, type Scenario } from '../scenario.ts';
import { createTokens, startTokenWorld, type TokenWorld } from '../token-world.ts';

export const largeRestart: Scenario = {
  name: 'restart',
  title: 'Restart with many tokens',
  sizeUnit: 'ManagedTokens',
  sizes: { small: 2_000, full: 100_000 },
  note: `Nothing is due at the restart, except perhaps a heartbeat of the Cluster, which is not counted as a write. The bare lists read and
parse all ManagedTokens and their Secrets in parallel, and keep nothing. Memory per ManagedToken includes its Secret; the memory of a Purser
without ManagedTokens is subtracted.`,
  run: ({ size }, progress) => runRestart(size, progress),
};

async function runRestart(count: number, progress: PrintProgress): Promise<Outcome> {
  const world = await startTokenWorld();
  try {
    const idle = await measureIdleStart(world);
    progress(`creating ${count} ManagedTokens`);
    await createTokens(world.client, { prefix: 'team', count, expirationSeconds: 86_400, renewBefore: '20%' });
    progress('issuing tokens');
    const { purser: first, ...issued } = await issueAll(world, count, idle.seconds);
    await first.stop();
    progress(`issued in ${issued.seconds.toFixed(0)} s; restarting Purser`);
    const bare = await listBare(world);
    const { purser, ...restarted } = await restart(world);
    progress(`served after ${restarted.seconds.toFixed(1)} s, bare lists ${bare.seconds.toFixed(1)} s; killing the leader`);
    const takeOverSeconds = await takeOver(world, purser);
    const kilobytesEach = ((restarted.rssMegabytes - idle.rssMegabytes) * 1_000) / count;
    return {
      measured: { count, idle, issued, bare, restarted, takeOverSeconds, kilobytesEach },
      figures: [
        { name: 'time until Purser serves, relative to bare lists', value: restarted.seconds / bare.seconds, unit: '×', goal: atMost(1.3) },
        { name: 'writes after the restart, excluding those of the Lease', value: restarted.writes.length, unit: '', goal: atMost(0) },
        { name: 'memory per ManagedToken', value: kilobytesEach, unit: 'kB', goal: atMost(4) },
        { name: 'peak memory after the restart', value: restarted.peakRssMegabytes, unit: 'MB', goal: atMost(512) },
        { name: 'time until another replica leads, after the leader is killed', value: takeOverSeconds, unit: 's', goal: atMost(15) },
      ],
      charts: [],
    };
  } finally {
    await world.stop();
  }
}

async function listBare({ hub }: TokenWorld): Promise<BareListResult> {
  const secrets = new URLSearchParams({ labelSelector: `${Label.managedBy}=${LabelValue.managedBy}` });
  const paths = [`${collectionPath(ManagedTokens)}?`, `${collectionPath(Secrets)}?${secrets.toString()}`];
  const job: BareListJob = { hub: await serverOf(hub), paths };
  return await runJob(hub, 'bare-list-process.ts', job);
}

const POLL_MS = 100;

/** Starts a second replica, kills the leader, and returns the time until the second replica leads. */
async function takeOver({ kubeconfig }: TokenWorld, leader: Purser): Promise<number> {
  const standby = await startPurser(kubeconfig);
  await standby.ready;
  process.kill(leader.pid, 'SIGKILL');
  const startedAt = performance.now();
  while (!/^purser_leader\S* 1$/m.test(await standby.state())) {
    await standby.assertRunning();
    await delay(POLL_MS);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  await standby.stop();
  return seconds;
}
