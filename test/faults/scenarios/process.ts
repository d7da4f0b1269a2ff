// Faults of Purser's process and of its machine.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import type { PurserOptions } from '../purser.ts';
import { rotateAndWait, type Scenario } from '../scenario.ts';
import { PURSER_NAMESPACE } from '../seed.ts';

/** Returns a scenario that replaces Purser with a process with other options, requests rotations, and restores a normal process. */
function runWith(options: Partial<PurserOptions>, renewalLimitMs = 20_000): (bench: Bench) => Promise<void> {
  return async (bench) => {
    await bench.stopPursers();
    const purser = await bench.startPurser(options);
    const before = await bench.readToken('one-2');
    await bench.rotate('one-2', 'two-2');
    await bench.waitForRenewal('one-2', before, renewalLimitMs);
    await bench.wait(10_000);
    if (!purser.isRunning) bench.recordViolation('I10', 'Purser exited');
    await purser.stop();
    await bench.startPurser();
  };
}

/** Returns a scenario that starts Purser with a wrong clock and limits the number of token requests. */
function skewClock(skewMs: number): (bench: Bench) => Promise<void> {
  return async (bench) => {
    const startedAt = Date.now();
    // A wrong clock makes other renewals due.
    bench.recordExcuse('*', ['I2', 'I9', 'I5'], 60_000, "Purser's clock is wrong");
    await runWith({ skewMs })(bench);
    const fleet = (await bench.listTokenNames()).length;
    const requests = bench.countRequests(startedAt, (path) => path.endsWith('/token'));
    if (requests > fleet * 2 + 4) bench.recordViolation('I2', `${requests} token requests for ${fleet} ManagedTokens with a wrong clock`);
    for (const name of await bench.listTokenNames()) bench.recordCause(name, 'clock corrected');
  };
}

async function shiftClock(bench: Bench): Promise<void> {
  bench.recordExcuse('*', ['I2', 'I9', 'I5'], 90_000, "Purser's clock jumps");
  for (const skewMs of [3_600_000, 0, -3_600_000, 0]) {
    const startedAt = Date.now();
    await bench.purser.inject({ skewMs });
    await bench.wait(12_000);
    const requests = bench.countRequests(startedAt, (path) => path.endsWith('/token'));
    if (requests > (await bench.listTokenNames()).length * 2)
      bench.recordViolation('I2', `${requests} token requests within 12 s after a clock jump of ${skewMs / 1_000} s`);
  }
  for (const name of await bench.listTokenNames()) bench.recordCause(name, 'clock corrected');
}

async function suspendProcess(bench: Bench): Promise<void> {
  bench.purser.pause();
  await bench.wait(60_000);
  bench.purser.resume();
}

async function stopUnderLoad(bench: Bench): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await bench.rotate('one-2', 'one-3', 'two-2', 'two-3');
    await bench.wait(round * 25);
    const tookMs = await bench.purser.stop();
    if (tookMs > 25_000) bench.recordViolation('I10', `stopping took ${tookMs} ms`);
    const lease = (await bench.hub.api.get(paths.lease)).spec?.['holderIdentity'];
    if (lease) bench.recordViolation('I10', 'the Lease was not released');
    await bench.startPurser();
    await bench.waitUntilHealthy(30_000);
  }
}

async function blockEventLoop(bench: Bench): Promise<void> {
  bench.recordCause('*', 'event loop blocked');
  await bench.purser.inject({ blockMs: 20_000 });
  await rotateAndWait(bench, 20_000, ['one-2', 'two-2']);
  bench.recordCause('*', 'killed');
  await bench.purser.kill();
  await bench.startPurser();
}

/** Restarts Purser while nothing is due. */
async function restartIdle(bench: Bench): Promise<void> {
  await bench.purser.stop();
  bench.history.add({ type: 'quiet', begins: true });
  await bench.startPurser();
  await bench.wait(12_000);
  bench.history.add({ type: 'quiet', begins: false });
}

/** Starts another process before the previous one stops, three times. */
async function replaceProcess(bench: Bench): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    const old = bench.purser;
    await bench.startPurser();
    await bench.wait(1_500);
    await bench.rotate('one-2', 'two-2');
    await old.stop();
    await bench.waitUntilHealthy(30_000);
  }
}

/** Replaces the token in the token file, and invalidates the previous token. */
async function replaceHubToken(bench: Bench): Promise<void> {
  const { api } = bench.hub;
  const file = join(bench.folder, 'hub.token');
  const former = await readFile(file, 'utf8');
  const anchor = { name: 'hub-anchor', namespace: PURSER_NAMESPACE };
  const secret = await api.create(paths.secrets(PURSER_NAMESPACE), { metadata: anchor });
  const boundObjectRef = { apiVersion: 'v1', kind: 'Secret', name: anchor.name, uid: secret.metadata.uid };
  const { status } = await api.create(`${paths.serviceAccounts(PURSER_NAMESPACE, 'purser')}/token`, {
    spec: { expirationSeconds: 3_600, boundObjectRef },
  });
  await writeFile(file, status?.token ?? '');
  await bench.stopPursers();
  await bench.startPurser();
  await bench.waitUntilHealthy(30_000);
  await writeFile(file, former);
  await api.delete(paths.secrets(PURSER_NAMESPACE, anchor.name));
  await bench.wait(11_000);
  const before = await bench.readToken('one-2');
  await bench.rotate('one-2');
  await bench.waitForRenewal('one-2', before, 20_000);
}

/** Shell command that starts Purser with its log in a full pipe without a reader. */
const FULL_PIPE = [
  '/bin/sh',
  '-c',
  'mkfifo unread; exec 3<>unread; rm unread; head -c 1000000 /dev/zero >&3 & sleep 1; kill $!; exec "$0" "$@" 2>&3',
];
const FEW_DESCRIPTORS = ['/bin/sh', '-c', 'ulimit -n 64; exec "$0" "$@"'];

export const processFaults: readonly Scenario[] = [
  { id: 'I3', title: 'restart while nothing is due', on: 'purser', run: restartIdle },
  { id: 'F27', title: "Purser's clock 5 min ahead", on: 'purser', run: skewClock(300_000) },
  { id: 'F27b', title: "Purser's clock 5 min behind", on: 'purser', run: skewClock(-300_000) },
  { id: 'F28', title: "Purser's clock jumps by an hour, forward and backward", on: 'purser', run: shiftClock, recoveryMs: 90_000 },
  { id: 'F28b', title: 'process suspended for 60 s', on: 'purser', run: suspendProcess },
  { id: 'F33', title: 'SIGTERM under load, three times', on: 'purser', run: stopUnderLoad },
  { id: 'F34', title: 'event loop blocked for 20 s, then process killed', on: 'purser', run: blockEventLoop },
  {
    id: 'F36',
    title: 'temporary and home directories not writable',
    on: 'purser',
    run: runWith({ env: { TMPDIR: '/proc', HOME: '/proc' } }),
  },
  { id: 'F49', title: 'process replaced under load, three times', on: 'purser', run: replaceProcess },
  { id: 'F51', title: "Purser's hub token replaced on disk, old token invalidated", on: 'purser', run: replaceHubToken },
  { id: 'F59', title: 'log output not read', on: 'purser', run: runWith({ wrapper: FULL_PIPE }, 40_000) },
  {
    id: 'F60',
    title: 'limit of 64 file descriptors',
    on: 'purser',
    run: runWith({ wrapper: FEW_DESCRIPTORS }, 30_000),
  },
];
