// Faults of the hub: its API server, its storage, its watches and its answers.

import { paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { TEAM } from '../furnish.ts';
import { restartPlace } from '../place.ts';
import { isSecretWrite, isWatch, type Matcher, requests } from '../proxy/rules.ts';
import { during, type Scenario } from '../scenario.ts';

/** A failed renewal is tried again within a fifth of what is left of the token. */
const LATEST_RETRY_MS = 120_000;
const isTokenWatch: Matcher = (request) => requests('GET', /\/managedtokens\?/)(request) && isWatch(request);

/** Ends all watches, so that they begin again under the fault. */
async function breakConnections({ hub }: Bench): Promise<void> {
  await hub.proxy.tcp('reset');
  await hub.proxy.tcp('pass');
}

async function killMidRotation(bench: Bench): Promise<void> {
  const { hub } = bench;
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  hub.proxy.rule(isSecretWrite, { type: 'stop', when: 'before', act: async () => resolve() }, 1);
  await bench.rotate('one-1', 'two-2');
  await reached;
  await hub.cluster.kill();
  bench.cause('*', 'hub killed');
  await bench.pass(30_000);
  await restartPlace(hub);
}

async function rollingRestarts(bench: Bench): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    bench.cause('*', 'hub restarted');
    await restartPlace(bench.hub, 'stop');
    await bench.rotate('one-2', 'two-2');
    await bench.pass(3_000);
  }
}

async function stalledStorage(bench: Bench): Promise<void> {
  await bench.rotate('one-2');
  bench.hub.cluster.pauseStorage();
  bench.cause('*', 'hub storage stalled');
  await bench.pass(20_000);
  bench.hub.cluster.resumeStorage();
}

async function compacted(bench: Bench): Promise<void> {
  const { hub } = bench;
  await hub.proxy.tcp('refuse');
  for (let n = 0; n < 120; n += 1) await hub.api.patch(paths.namespaces(TEAM), { metadata: { annotations: { churn: String(n) } } });
  await bench.rotate('one-2');
  await hub.cluster.compact();
  bench.cause('*', 'hub restarted');
  await restartPlace(hub);
  await hub.proxy.tcp('pass');
}

/** New objects and changes while the watches are silent without an end. */
async function frozenWatches(bench: Bench): Promise<void> {
  await bench.hub.proxy.tcp('freeze');
  await bench.rotate('one-2', 'two-2');
  const before = await bench.tokenText('one-2');
  await bench.renewed('one-2', before, 150_000);
}

async function brokenLines(bench: Bench): Promise<void> {
  const { hub } = bench;
  let isBroken = false;
  const corrupt = (chunk: Buffer) => {
    isBroken = !isBroken;
    return [isBroken ? Buffer.from(chunk.toString().replace('"type"', '"ty\u0000pe')) : chunk];
  };
  hub.proxy.rule(isTokenWatch, { type: 'stream', alter: corrupt }, 2);
  await breakConnections(bench);
  await during(bench, 6_000, ['one-2', 'two-2']);
  hub.proxy.rule(isWatch, { type: 'stream', alter: (chunk) => [...chunk].map((byte) => Buffer.from([byte])) }, 8);
  await breakConnections(bench);
  await bench.rotate('one-3', 'two-3');
  const metadata = { name: 'large', namespace: TEAM, labels: { 'tokens.purser.dev/managed-by': 'purser' } };
  await hub.api.create(paths.secrets(TEAM), { metadata, data: { large: Buffer.alloc(700_000).toString('base64') } });
  await bench.pass(5_000);
  await hub.api.delete(paths.secrets(TEAM, 'large'));
}

async function errorEvents(bench: Bench): Promise<void> {
  for (const code of [500, 504, 410]) {
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: 'fault', reason: 'InternalError', code };
    const line = Buffer.from(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
    bench.hub.proxy.rule(isWatch, { type: 'stream', alter: () => [line] }, 3);
    await breakConnections(bench);
    await during(bench, 5_000, ['one-2', 'two-2']);
  }
}

/** Somebody else changes ManagedTokens and Secrets all the time. */
async function conflicts(bench: Bench): Promise<void> {
  const { api } = bench.hub;
  const endAt = Date.now() + 15_000;
  const others = (path: string) => async () => {
    for (let n = 0; Date.now() < endAt; n += 1) await api.patch(path, { metadata: { annotations: { other: `${n}` } } }).catch(() => {});
  };
  await bench.rotate('one-2', 'two-2');
  await Promise.all(['one-2', 'two-2'].flatMap((name) => [others(paths.tokens(TEAM, name))(), others(paths.secrets(TEAM, name))()]));
}

async function refusedStatus(bench: Bench): Promise<void> {
  const isStatus = requests('PUT', /\/managedtokens\/[^/]+\/status/);
  bench.hub.proxy.rule(isStatus, { type: 'answer', status: 403 });
  const before = await bench.tokenText('one-2');
  await bench.rotate('one-2');
  await bench.renewed('one-2', before, 20_000);
  await bench.pass(75_000);
}

async function refusedSecrets(bench: Bench): Promise<void> {
  const rule = bench.hub.proxy.rule(isSecretWrite, { type: 'answer', status: 403 });
  await during(bench, 45_000, ['one-2', 'two-2']);
  // Doubling from half a second, a token is tried seven times in that time.
  if (rule.hits() > 14 * 8) bench.violation('I10', `${rule.hits()} writes of Secrets in 45 s`);
}

async function fullStorage(bench: Bench): Promise<void> {
  await bench.hub.cluster.fillStorage(true);
  const asked = Promise.all(['one-2'].map((name) => bench.rotate(name).catch(() => {})));
  await asked;
  await bench.pass(20_000);
  await bench.hub.cluster.fillStorage(false);
}

/** Lists of some kinds are empty by mistake, with a version of today; they come as watches, of which only the bookmarks are left. */
function emptyLists(kinds: RegExp, informers: number, ms: number): (bench: Bench) => Promise<void> {
  return async (bench) => {
    const { proxy } = bench.hub;
    const isKind: Matcher = ({ path }) => kinds.test(path);
    const isList: Matcher = (request) => isKind(request) && request.path.includes('sendInitialEvents=true');
    const rule = proxy.rule(isList, { type: 'stream', alter: onlyBookmarks });
    const expired = proxy.rule((request) => isKind(request) && isWatch(request) && !isList(request), { type: 'answer', status: 410 });
    await breakConnections(bench);
    await bench.expect('I10', 'everything is listed again', 30_000, async () => rule.hits() >= informers);
    expired.remove();
    await bench.pass(ms);
    await proxy.heal();
    const again = proxy.rule((request) => isKind(request) && isWatch(request), { type: 'answer', status: 410 }, informers);
    await breakConnections(bench);
    await bench.expect('I10', 'everything is listed once more', 30_000, async () => again.hits() === informers);
  };
}

/** Events come as whole lines. */
function onlyBookmarks(chunk: Buffer): readonly Buffer[] {
  const lines = chunk.toString().split(/(?<=\n)/);
  return lines.filter((line) => line.includes('"type":"BOOKMARK"')).map((line) => Buffer.from(line));
}

/** Longer than a withdrawal takes. */
const WITHDRAWAL_MS = 45_000;

async function slowHub(bench: Bench): Promise<void> {
  bench.hub.proxy.line({ delayMs: 800 });
  await during(bench, 15_000, ['one-2', 'two-2']);
  bench.hub.proxy.line({ bytesPerSecond: 20_000 });
  await during(bench, 15_000, ['one-3', 'two-3']);
}

const unavailable = async (bench: Bench) => {
  bench.hub.proxy.rule(() => true, { type: 'answer', status: 503, headers: { 'retry-after': '2' } });
  await during(bench, 20_000, ['one-2', 'two-2']);
};

export const hubFaults: readonly Scenario[] = [
  { id: 'F1', title: "hub's API server killed during a Secret write, restarted after 30 s", on: 'hub', run: killMidRotation },
  { id: 'F2', title: 'hub restarted three times in a row', on: 'hub', run: rollingRestarts },
  { id: 'F3', title: "hub's etcd stalls for 20 s", on: 'hub', run: stalledStorage },
  { id: 'F4', title: 'history compacted while watches are disconnected (410)', on: 'hub', run: compacted },
  { id: 'F5', title: 'watches stall without being closed', on: 'hub', run: frozenWatches },
  { id: 'F6', title: 'watch lines corrupted, split into bytes, or 1 MB long', on: 'hub', run: brokenLines },
  { id: 'F7', title: 'ERROR events 500, 504, 410 on every watch', on: 'hub', run: errorEvents },
  { id: 'F35', title: "hub's storage full for 20 s", on: 'hub', run: fullStorage },
  { id: 'F37', title: 'another writer edits Secrets and ManagedTokens for 15 s', on: 'hub', run: conflicts },
  { id: 'F38', title: 'status writes rejected for 75 s; rotation continues', on: 'hub', run: refusedStatus },
  { id: 'F39', title: 'Secret writes rejected for 45 s', on: 'hub', run: refusedSecrets, recoveryMs: LATEST_RETRY_MS },
  { id: 'F57', title: 'all lists empty by mistake for 45 s', on: 'hub', run: emptyLists(/./, 7, WITHDRAWAL_MS) },
  { id: 'F57b', title: 'no requesters listed by mistake for 45 s', on: 'hub', run: emptyLists(/v1\/serviceaccounts/, 1, WITHDRAWAL_MS) },
  { id: 'F57c', title: 'no Secrets listed by mistake for 20 s', on: 'hub', run: emptyLists(/\/secrets/, 2, 20_000) },
  { id: 'F57d', title: 'no Clusters listed by mistake for 20 s', on: 'hub', run: emptyLists(/\/clusters\?/, 1, 20_000) },
  { id: 'H1', title: 'hub slow (800 ms each way), then 20 kB/s', on: 'hub', run: slowHub },
  { id: 'H2', title: 'hub returns 503 to all requests for 20 s', on: 'hub', run: unavailable },
];
