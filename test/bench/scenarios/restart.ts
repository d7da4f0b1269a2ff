// Restart of Purser with many tokens, compared with bare lists, take-over by a second replica, and rotation of all tokens.

import { setTimeout as delay } from 'node:timers/promises';
import { Label, LabelValue } from '../../../src/api/names.ts';
import { ManagedTokens, Secrets } from '../../../src/api/resources.ts';
import { collectionPath } from '../../../src/kube/paths.ts';
import type { BareListJob, BareListResult } from '../bare-list-process.ts';
import { runJob, serverOf } from '../bare-loop.ts';
import { issueAll, measureIdleStart } from '../issuance.ts';
import { type Purser, startPurser } from '../purser-process.ts';
import { restart } from '../restart.ts';
import {
  estimateIssuanceSeconds,
  ISSUANCE_MARGIN,
  LATE_SECONDS,
  type Rotation,
  rotateAll,
  SHORTEST_LIFETIME_SECONDS,
} from '../rotation.ts';
import { atMost, type Figure, type Outcome, type PrintProgress, type Scenario } from '../scenario.ts';
import { createTokens, startTokenWorld, type TokenWorld } from '../token-world.ts';

export const largeRestart: Scenario = {
  name: 'restart',
  title: 'Restart with many tokens, and their rotation',
  sizeUnit: 'ManagedTokens',
  sizes: { small: 2_000, full: 100_000 },
  note: `Nothing is due at the restart, except perhaps a heartbeat of the Cluster, which is not counted as a write. The bare lists read and
parse all ManagedTokens and their Secrets in parallel, and keep nothing. Memory per ManagedToken includes its Secret; the memory of a Purser
without ManagedTokens is subtracted. Then all tokens become due in a window of 36 ms for each token, so 100,000 in an hour; some are rotated
again in the window. Delays are those of the first rotation of each token. Verification is that of a new leader with the default
\`--verify-interval\`.`,
  run: ({ size }, progress) => runRestart(size, progress),
};

async function runRestart(count: number, progress: PrintProgress): Promise<Outcome> {
  const world = await startTokenWorld();
  try {
    const idle = await measureIdleStart(world);
    progress(`creating ${count} ManagedTokens`);
    await createTokensForWindow(world, count);
    progress('issuing tokens');
    const { purser: first, ...issued } = await issueAll(world, count, idle.seconds);
    await first.stop();
    progress(`issued in ${issued.seconds.toFixed(0)} s; restarting Purser`);
    const bare = await listBare(world);
    const { purser, ...restarted } = await restart(world);
    progress(`served after ${restarted.seconds.toFixed(1)} s, bare lists ${bare.seconds.toFixed(1)} s; killing the leader`);
    const { purser: leader, seconds: takeOverSeconds } = await takeOver(world, purser);
    progress(`taken over after ${takeOverSeconds.toFixed(1)} s; waiting for rotations`);
    await delay(SETTLE_MS);
    const rotated = await rotateAll(world, leader);
    await leader.stop();
    const kilobytesEach = ((restarted.rssMegabytes - idle.rssMegabytes) * 1_000) / count;
    return {
      measured: { count, idle, issued, bare, restarted, takeOverSeconds, kilobytesEach, rotated },
      figures: [
        { name: 'time until Purser serves, relative to bare lists', value: restarted.seconds / bare.seconds, unit: '×', goal: atMost(1.3) },
        { name: 'writes after the restart, excluding those of the Lease', value: restarted.writes.length, unit: '', goal: atMost(0) },
        { name: 'memory per ManagedToken', value: kilobytesEach, unit: 'kB', goal: atMost(4) },
        { name: 'peak memory after the restart', value: restarted.peakRssMegabytes, unit: 'MB', goal: atMost(512) },
        { name: 'peak memory after a scrape of the metrics', value: restarted.scraped.peakRssMegabytes, unit: 'MB', goal: atMost(512) },
        { name: 'time until another replica leads, after the leader is killed', value: takeOverSeconds, unit: 's', goal: atMost(15) },
        ...toRotationFigures(count, rotated),
      ],
      charts: [],
    };
  } finally {
    await world.stop();
  }
}

/** Number of groups of ManagedTokens whose tokens have the same lifetime. */
const GROUPS = 50;
/** Window in which all tokens become due, in seconds for each token. */
const WINDOW_SECONDS = 0.036;
/** Time for a reconcile of every token by the new leader. */
const SETTLE_MS = 15_000;
/** Estimated time from the first tokens to the first rotation, without issuance: a fixed part, and one for each ManagedToken. */
const RESTART_SECONDS = { fixed: 90, each: 0.003 };
/** Share of its lifetime after which a token is due, without jitter. */
const DUE_SHARE = 0.8;
/** Maximum jitter of the renewal, as a share of the lifetime. */
const JITTER_SHARE = 0.05;

/** Creates ManagedTokens whose tokens become due after the restart and the take-over, in a window whose length depends on their number. */
async function createTokensForWindow(world: TokenWorld, count: number): Promise<void> {
  const issuance = await estimateIssuanceSeconds(world, count);
  const first = Math.max(
    SHORTEST_LIFETIME_SECONDS * DUE_SHARE,
    ISSUANCE_MARGIN * issuance + RESTART_SECONDS.fixed + RESTART_SECONDS.each * count,
  );
  const window = WINDOW_SECONDS * count;
  // The issuance and the jitter also spread the rotations.
  const spread = Math.max(0, window - issuance - (JITTER_SHARE * (first + window)) / DUE_SHARE);
  for (let group = 0; group < GROUPS; group++) {
    const size = Math.floor((count * (group + 1)) / GROUPS) - Math.floor((count * group) / GROUPS);
    const dueSeconds = first + (spread * group) / GROUPS;
    const expirationSeconds = Math.ceil(dueSeconds / DUE_SHARE);
    await createTokens(world.client, { prefix: `team-${group}`, count: size, expirationSeconds, renewBefore: '20%' });
  }
}

function toRotationFigures(count: number, rotated: Rotation): readonly Figure[] {
  const { windowSeconds, late, worstLateSeconds, verificationShare, cpuMsPerRotation } = rotated;
  return [
    { name: 'rotation: time in which all tokens became due', value: windowSeconds, unit: 's', goal: atMost(WINDOW_SECONDS * count) },
    { name: 'rotation: tokens that expired before rotation', value: late, unit: '', goal: atMost(0) },
    { name: 'rotation: longest delay', value: worstLateSeconds, unit: 's', goal: atMost(LATE_SECONDS) },
    {
      name: 'rotation: requests for verification, relative to those for rotation',
      value: verificationShare * 100,
      unit: '%',
      goal: atMost(20),
    },
    { name: 'rotation: CPU of Purser per token', value: cpuMsPerRotation, unit: 'ms' },
  ];
}

async function listBare({ hub }: TokenWorld): Promise<BareListResult> {
  const secrets = new URLSearchParams({ labelSelector: `${Label.managedBy}=${LabelValue.managedBy}` });
  const paths = [`${collectionPath(ManagedTokens)}?`, `${collectionPath(Secrets)}?${secrets.toString()}`];
  const job: BareListJob = { hub: await serverOf(hub), paths };
  return await runJob(hub, 'bare-list-process.ts', job);
}

const POLL_MS = 100;

/** Starts a second replica, kills the leader, and returns the second replica and the time until it leads. */
async function takeOver({ kubeconfig }: TokenWorld, leader: Purser): Promise<{ readonly purser: Purser; readonly seconds: number }> {
  const standby = await startPurser(kubeconfig);
  await standby.ready;
  process.kill(leader.pid, 'SIGKILL');
  const startedAt = performance.now();
  while (!/^purser_leader\S* 1$/m.test(await standby.state())) {
    await standby.assertRunning();
    await delay(POLL_MS);
  }
  return { purser: standby, seconds: (performance.now() - startedAt) / 1_000 };
}
