// Faults of Purser's own process and of the machine it runs on.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { PURSER_NAMESPACE } from '../furnish.ts';
import type { PurserOptions } from '../purser.ts';
import { during, type Scenario } from '../scenario.ts';

/** Replaces Purser by one that runs under other circumstances, asks it for rotations, and puts a healthy one in its place. */
function under(options: Partial<PurserOptions>, rotateFor = 20_000): (bench: Bench) => Promise<void> {
  return async (bench) => {
    await bench.endPursers();
    const purser = await bench.startPurser(options);
    const before = await bench.tokenText('one-2');
    await bench.rotate('one-2', 'two-2');
    await bench.renewed('one-2', before, rotateFor);
    await bench.pass(10_000);
    if (!purser.isRunning) bench.violation('I10', 'Purser ended');
    await purser.stop();
    await bench.startPurser();
  };
}

/** Starts with a clock that is wrong; counts what it asks for. */
function skewed(skewMs: number): (bench: Bench) => Promise<void> {
  return async (bench) => {
    const startedAt = Date.now();
    // By another clock, other things are due.
    bench.excuse('*', ['I2', 'I9', 'I5'], 60_000, 'clock of Purser wrong');
    await under({ skewMs })(bench);
    const fleet = (await bench.tokens()).length;
    const asked = bench.history.entries.filter(
      (entry) => entry.type === 'request' && entry.at > startedAt && entry.path.endsWith('/token'),
    );
    if (asked.length > fleet * 2 + 4) bench.violation('I2', `${asked.length} tokens for ${fleet} ManagedTokens under a wrong clock`);
    for (const name of await bench.tokens()) bench.cause(name, 'clock set right');
  };
}

async function jumps(bench: Bench): Promise<void> {
  bench.excuse('*', ['I2', 'I9', 'I5'], 90_000, 'clock of Purser jumps');
  for (const skewMs of [3_600_000, 0, -3_600_000, 0]) {
    const startedAt = Date.now();
    await bench.purser.order({ skewMs });
    await bench.pass(12_000);
    const asked = bench.history.entries.filter(
      (entry) => entry.type === 'request' && entry.at > startedAt && entry.path.endsWith('/token'),
    );
    if (asked.length > (await bench.tokens()).length * 2)
      bench.violation('I2', `${asked.length} tokens in 12 s after a jump of the clock by ${skewMs / 1_000} s`);
  }
  for (const name of await bench.tokens()) bench.cause(name, 'clock set right');
}

async function suspended(bench: Bench): Promise<void> {
  bench.purser.pause();
  await bench.pass(60_000);
  bench.purser.resume();
}

async function sigterm(bench: Bench): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await bench.rotate('one-2', 'one-3', 'two-2', 'two-3');
    await bench.pass(round * 25);
    const tookMs = await bench.purser.stop();
    if (tookMs > 25_000) bench.violation('I10', `stopping took ${tookMs} ms`);
    const lease = (await bench.hub.api.get(paths.lease)).spec?.['holderIdentity'];
    if (lease) bench.violation('I10', 'the Lease was not released');
    await bench.startPurser();
    await bench.settled(30_000);
  }
}

async function blocked(bench: Bench): Promise<void> {
  bench.cause('*', 'event loop blocked');
  await bench.purser.order({ blockMs: 20_000 });
  await during(bench, 20_000, ['one-2', 'two-2']);
  bench.cause('*', 'killed, as for want of memory');
  await bench.purser.kill();
  await bench.startPurser();
}

/** A restart while nothing is due. */
async function quietRestart(bench: Bench): Promise<void> {
  await bench.purser.stop();
  bench.history.add({ type: 'quiet', begins: true });
  await bench.startPurser();
  await bench.pass(12_000);
  bench.history.add({ type: 'quiet', begins: false });
}

/** Another process comes before the old one goes, three times. */
async function replaced(bench: Bench): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    const old = bench.purser;
    await bench.startPurser();
    await bench.pass(1_500);
    await bench.rotate('one-2', 'two-2');
    await old.stop();
    await bench.settled(30_000);
  }
}

/** The token in the file is replaced, and the old one dies. */
async function hubToken(bench: Bench): Promise<void> {
  const { api } = bench.hub;
  const file = join(bench.folder, 'hub.token');
  const former = await readFile(file, 'utf8');
  const anchor = { name: 'hub-anchor', namespace: PURSER_NAMESPACE };
  const made = await api.create(paths.secrets(PURSER_NAMESPACE), { metadata: anchor });
  const boundObjectRef = { apiVersion: 'v1', kind: 'Secret', name: anchor.name, uid: made.metadata.uid };
  const { status } = await api.create(`${paths.accounts(PURSER_NAMESPACE, 'purser')}/token`, {
    spec: { expirationSeconds: 3_600, boundObjectRef },
  });
  await writeFile(file, status?.token ?? '');
  await bench.endPursers();
  await bench.startPurser();
  await bench.settled(30_000);
  await writeFile(file, former);
  await api.delete(paths.secrets(PURSER_NAMESPACE, anchor.name));
  await bench.pass(11_000);
  const before = await bench.tokenText('one-2');
  await bench.rotate('one-2');
  await bench.renewed('one-2', before, 20_000);
}

/** Logs into a pipe that is full and that nobody reads. */
const FULL_PIPE = [
  '/bin/sh',
  '-c',
  'mkfifo unread; exec 3<>unread; rm unread; head -c 1000000 /dev/zero >&3 & sleep 1; kill $!; exec "$0" "$@" 2>&3',
];
const FEW_DESCRIPTORS = ['/bin/sh', '-c', 'ulimit -n 64; exec "$0" "$@"'];

export const processFaults: readonly Scenario[] = [
  { id: 'I3', title: 'restart while nothing is due', on: 'purser', run: quietRestart },
  { id: 'F27', title: "Purser's clock 5 min ahead", on: 'purser', run: skewed(300_000) },
  { id: 'F27b', title: "Purser's clock 5 min behind", on: 'purser', run: skewed(-300_000) },
  { id: 'F28', title: 'clock jumps forward and back by an hour', on: 'purser', run: jumps, recoveryMs: 90_000 },
  { id: 'F28b', title: 'process suspended for 60 s', on: 'purser', run: suspended },
  { id: 'F33', title: 'SIGTERM under load, three times', on: 'purser', run: sigterm },
  { id: 'F34', title: 'event loop blocked for 20 s, then process killed', on: 'purser', run: blocked },
  { id: 'F36', title: 'no writable file system', on: 'purser', run: under({ env: { TMPDIR: '/proc', HOME: '/proc' } }) },
  { id: 'F49', title: 'process replaced under load, three times', on: 'purser', run: replaced },
  { id: 'F51', title: "Purser's hub token replaced on disk, old token invalid", on: 'purser', run: hubToken },
  { id: 'F59', title: 'log output not read', on: 'purser', run: under({ through: FULL_PIPE }, 40_000) },
  {
    id: 'F60',
    title: 'limit of 64 file descriptors',
    on: 'purser',
    run: under({ through: FEW_DESCRIPTORS }, 30_000),
  },
];
