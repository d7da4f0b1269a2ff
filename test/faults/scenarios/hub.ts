// Faults of the hub: its API server, its storage, its watches and its responses.

import { paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { restartCluster } from '../bench-cluster.ts';
import { isSecretWrite, isWatch, type Matcher, matchRequests } from '../proxy/rules.ts';
import { rotateAndWait, type Scenario } from '../scenario.ts';
import { TEAM } from '../seed.ts';

/** Time until Purser retries a failed renewal, a fifth of the remaining lifetime, in milliseconds. */
const LATEST_RETRY_MS = 120_000;
const isTokenWatch: Matcher = (request) => matchRequests('GET', /\/managedtokens\?/)(request) && isWatch(request);

/** Resets all connections, so that watches restart under the fault. */
async function breakConnections({ hub }: Bench): Promise<void> {
  await hub.proxy.setTcpMode('reset');
  await hub.proxy.setTcpMode('pass');
}

async function killDuringWrite(bench: Bench): Promise<void> {
  const { hub } = bench;
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  hub.proxy.addRule(isSecretWrite, { type: 'stop', when: 'before', act: async () => resolve() }, 1);
  await bench.rotate('one-1', 'two-2');
  await reached;
  await hub.cluster.kill();
  bench.recordCause('*', 'hub killed');
  await bench.wait(30_000);
  await restartCluster(hub);
}

async function restartRepeatedly(bench: Bench): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    bench.recordCause('*', 'hub restarted');
    await restartCluster(bench.hub, 'stop');
    await bench.rotate('one-2', 'two-2');
    await bench.wait(3_000);
  }
}

async function stallStorage(bench: Bench): Promise<void> {
  await bench.rotate('one-2');
  bench.hub.cluster.pauseStorage();
  bench.recordCause('*', 'hub storage stalled');
  await bench.wait(20_000);
  bench.hub.cluster.resumeStorage();
}

async function compactHistory(bench: Bench): Promise<void> {
  const { hub } = bench;
  await hub.proxy.setTcpMode('refuse');
  for (let n = 0; n < 120; n += 1) await hub.api.patch(paths.namespaces(TEAM), { metadata: { annotations: { churn: String(n) } } });
  await bench.rotate('one-2');
  await hub.cluster.compact();
  bench.recordCause('*', 'hub restarted');
  await restartCluster(hub);
  await hub.proxy.setTcpMode('pass');
}

/** Requests rotations while watches stall without being closed. */
async function stallWatches(bench: Bench): Promise<void> {
  await bench.hub.proxy.setTcpMode('freeze');
  await bench.rotate('one-2', 'two-2');
  const before = await bench.readToken('one-2');
  await bench.waitForRenewal('one-2', before, 150_000);
}

async function corruptWatchLines(bench: Bench): Promise<void> {
  const { hub } = bench;
  let isBroken = false;
  const corrupt = (chunk: Buffer) => {
    isBroken = !isBroken;
    return [isBroken ? Buffer.from(chunk.toString().replace('"type"', '"ty\u0000pe')) : chunk];
  };
  hub.proxy.addRule(isTokenWatch, { type: 'stream', alter: corrupt }, 2);
  await breakConnections(bench);
  await rotateAndWait(bench, 6_000, ['one-2', 'two-2']);
  hub.proxy.addRule(isWatch, { type: 'stream', alter: (chunk) => [...chunk].map((byte) => Buffer.from([byte])) }, 8);
  await breakConnections(bench);
  await bench.rotate('one-3', 'two-3');
  const metadata = { name: 'large', namespace: TEAM, labels: { 'tokens.purser.dev/managed-by': 'purser' } };
  await hub.api.create(paths.secrets(TEAM), { metadata, data: { large: Buffer.alloc(700_000).toString('base64') } });
  await bench.wait(5_000);
  await hub.api.delete(paths.secrets(TEAM, 'large'));
}

async function sendErrorEvents(bench: Bench): Promise<void> {
  for (const code of [500, 504, 410]) {
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: 'fault', reason: 'InternalError', code };
    const line = Buffer.from(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
    bench.hub.proxy.addRule(isWatch, { type: 'stream', alter: () => [line] }, 3);
    await breakConnections(bench);
    await rotateAndWait(bench, 5_000, ['one-2', 'two-2']);
  }
}

/** Writes ManagedTokens and Secrets continuously, as another client would. */
async function writeConcurrently(bench: Bench): Promise<void> {
  const { api } = bench.hub;
  const endAt = Date.now() + 15_000;
  const writeRepeatedly = async (path: string) => {
    for (let n = 0; Date.now() < endAt; n += 1) await api.patch(path, { metadata: { annotations: { other: `${n}` } } }).catch(() => {});
  };
  await bench.rotate('one-2', 'two-2');
  await Promise.all(
    ['one-2', 'two-2'].flatMap((name) => [writeRepeatedly(paths.tokens(TEAM, name)), writeRepeatedly(paths.secrets(TEAM, name))]),
  );
}

async function rejectStatusWrites(bench: Bench): Promise<void> {
  const isStatus = matchRequests('PUT', /\/managedtokens\/[^/]+\/status/);
  bench.hub.proxy.addRule(isStatus, { type: 'respond', status: 403 });
  const before = await bench.readToken('one-2');
  await bench.rotate('one-2');
  await bench.waitForRenewal('one-2', before, 20_000);
  await bench.wait(75_000);
}

async function rejectSecretWrites(bench: Bench): Promise<void> {
  const rule = bench.hub.proxy.addRule(isSecretWrite, { type: 'respond', status: 403 });
  await rotateAndWait(bench, 45_000, ['one-2', 'two-2']);
  // With backoff from half a second, Purser tries each token seven times in 45 s.
  if (rule.hits() > 14 * 8) bench.recordViolation('I10', `${rule.hits()} Secret writes in 45 s`);
}

async function runOutOfStorage(bench: Bench): Promise<void> {
  await bench.hub.cluster.fillStorage(true);
  await bench.rotate('one-2').catch(() => {});
  await bench.wait(20_000);
  await bench.hub.cluster.fillStorage(false);
}

/** Returns a scenario in which lists of some kinds are empty: of the initial events of a watch, the proxy keeps only bookmarks. */
function emptyLists(kinds: RegExp, informers: number, ms: number): (bench: Bench) => Promise<void> {
  return async (bench) => {
    const { proxy } = bench.hub;
    const isKind: Matcher = ({ path }) => kinds.test(path);
    const isList: Matcher = (request) => isKind(request) && request.path.includes('sendInitialEvents=true');
    const rule = proxy.addRule(isList, { type: 'stream', alter: keepBookmarks });
    const expired = proxy.addRule((request) => isKind(request) && isWatch(request) && !isList(request), { type: 'respond', status: 410 });
    await breakConnections(bench);
    await bench.expect('I10', 'all kinds are listed again', 30_000, async () => rule.hits() >= informers);
    expired.remove();
    await bench.wait(ms);
    await proxy.heal();
    const again = proxy.addRule((request) => isKind(request) && isWatch(request), { type: 'respond', status: 410 }, informers);
    await breakConnections(bench);
    await bench.expect('I10', 'all kinds are listed after the fault', 30_000, async () => again.hits() === informers);
  };
}

/** Keeps the bookmarks of a chunk; a chunk contains complete lines. */
function keepBookmarks(chunk: Buffer): readonly Buffer[] {
  const lines = chunk.toString().split(/(?<=\n)/);
  return lines.filter((line) => line.includes('"type":"BOOKMARK"')).map((line) => Buffer.from(line));
}

/** Duration that exceeds the delay between withdrawal and removal of Secrets, in milliseconds. */
const WITHDRAWAL_MS = 45_000;

async function slowDownHub(bench: Bench): Promise<void> {
  bench.hub.proxy.shapeTraffic({ delayMs: 800 });
  await rotateAndWait(bench, 15_000, ['one-2', 'two-2']);
  bench.hub.proxy.shapeTraffic({ bytesPerSecond: 20_000 });
  await rotateAndWait(bench, 15_000, ['one-3', 'two-3']);
}

const makeUnavailable = async (bench: Bench) => {
  bench.hub.proxy.addRule(() => true, { type: 'respond', status: 503, headers: { 'retry-after': '2' } });
  await rotateAndWait(bench, 20_000, ['one-2', 'two-2']);
};

export const hubFaults: readonly Scenario[] = [
  { id: 'F1', title: "hub's API server killed during a Secret write, restarted after 30 s", on: 'hub', run: killDuringWrite },
  { id: 'F2', title: 'hub restarted three times in a row', on: 'hub', run: restartRepeatedly },
  { id: 'F3', title: "hub's etcd stalls for 20 s", on: 'hub', run: stallStorage },
  { id: 'F4', title: 'history compacted while watches are disconnected (410)', on: 'hub', run: compactHistory },
  { id: 'F5', title: 'watches stall without being closed', on: 'hub', run: stallWatches },
  { id: 'F6', title: 'watch lines corrupted, split into bytes, or 1 MB long', on: 'hub', run: corruptWatchLines },
  { id: 'F7', title: 'ERROR events with codes 500, 504 and 410, each on three watches', on: 'hub', run: sendErrorEvents },
  { id: 'F35', title: "hub's storage full for 20 s", on: 'hub', run: runOutOfStorage },
  { id: 'F37', title: 'another writer edits Secrets and ManagedTokens for 15 s', on: 'hub', run: writeConcurrently },
  { id: 'F38', title: 'status writes rejected for 75 s; rotation continues', on: 'hub', run: rejectStatusWrites },
  { id: 'F39', title: 'Secret writes rejected for 45 s', on: 'hub', run: rejectSecretWrites, recoveryMs: LATEST_RETRY_MS },
  { id: 'F57', title: 'all lists returned empty by mistake for 45 s', on: 'hub', run: emptyLists(/./, 7, WITHDRAWAL_MS) },
  {
    id: 'F57b',
    title: 'list of requesters returned empty by mistake for 45 s',
    on: 'hub',
    run: emptyLists(/v1\/serviceaccounts/, 1, WITHDRAWAL_MS),
  },
  { id: 'F57c', title: 'list of Secrets returned empty by mistake for 20 s', on: 'hub', run: emptyLists(/\/secrets/, 2, 20_000) },
  { id: 'F57d', title: 'list of Clusters returned empty by mistake for 20 s', on: 'hub', run: emptyLists(/\/clusters\?/, 1, 20_000) },
  { id: 'H1', title: 'hub with a delay of 800 ms each way, then limited to 20 kB/s', on: 'hub', run: slowDownHub },
  { id: 'H2', title: 'hub returns 503 to all requests for 20 s', on: 'hub', run: makeUnavailable },
];
