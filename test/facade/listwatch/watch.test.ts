import { beforeEach, describe, expect, it } from '@jest/globals';
import { parseVersion } from '../../../src/facade/listwatch/version.ts';
import { FakeClock } from '../../support/clock.ts';
import { callerOf, HandHub, Replica, requestOf, settled, viewerRule, type WatchedEvent, type WatchStream, withToken } from './replica.ts';

const ALICE = callerOf('alice', 'team');
const ADMIN = callerOf('admin');

let hub: HandHub;
let replica: Replica;

beforeEach(() => {
  hub = new HandHub();
  for (const name of ['a', 'b', 'c']) hub.putCluster(name, { env: 'prod' });
  hub.grant('admin', 'all', { kind: 'User', name: 'admin' });
  hub.grant('alice', ['a', 'b'], { kind: 'User', name: 'alice' });
  replica = new Replica(hub);
});

function told(stream: WatchStream): readonly string[] {
  return stream.take().map(summary);
}

function summary({ type, object }: WatchedEvent): string {
  return `${type} ${type === 'ERROR' ? object.code : (object.metadata.name ?? '')}`.trim();
}

async function versionFor(caller = ADMIN): Promise<string> {
  return (await replica.get('', caller)).body.metadata.resourceVersion;
}

describe('a watch from a version', () => {
  it('tells what happened since, and what happens from now on', async () => {
    const version = await versionFor();
    hub.putCluster('a', { env: 'dev' });
    await replica.catchUp();
    const stream = await replica.watch(`resourceVersion=${version}`, ADMIN);
    expect(told(stream)).toEqual(['MODIFIED a']);
    hub.putCluster('d');
    hub.clusters.delete('b');
    await replica.catchUp();
    expect(told(stream)).toEqual(['ADDED d', 'DELETED b']);
  });

  it('counts the selectors that matched before and match now', async () => {
    const stream = await replica.watch(`labelSelector=env%3Dprod&resourceVersion=${await versionFor()}`, ADMIN);
    hub.putCluster('a', { env: 'dev' });
    hub.putCluster('a', { env: 'dev' });
    hub.putCluster('a', { env: 'prod' });
    await replica.catchUp();
    expect(told(stream)).toEqual(['DELETED a', 'ADDED a']);
  });

  it('writes what happens in one turn at once', async () => {
    const stream = await replica.watch(`resourceVersion=${await versionFor()}`, ADMIN);
    const sizes: number[] = [];
    const write = stream.write.bind(stream) as (chunk: Buffer) => boolean;
    stream.write = ((chunk: Buffer) => {
      sizes.push(chunk.toString().split('\n').length - 1);
      return write(chunk);
    }) as typeof stream.write;
    for (let count = 0; count < 10; count++) hub.putCluster('a', { count: String(count) });
    await replica.catchUp();
    expect(sizes).toEqual([10]);
  });

  it('is told 410 for a version from before the log', async () => {
    const stream = await replica.watch('resourceVersion=1', ADMIN);
    expect(stream.text).toBe(
      `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (107)","reason":"Expired","code":410}}\n`,
    );
    expect(stream.writableEnded).toBe(true);
  });

  it('is told 410 for a version with other rights than it has now', async () => {
    const version = await versionFor(ALICE);
    expect(told(await replica.watch(`resourceVersion=${version}`, ADMIN))).toEqual(['ERROR 410']);
    hub.roles.put('alice', { rules: [viewerRule(['a', 'c'])] });
    await replica.catchUp();
    expect(told(await replica.watch(`resourceVersion=${version}`, ALICE))).toEqual(['ERROR 410']);
    hub.roles.put('alice', { rules: [viewerRule(['b', 'a'])] });
    await replica.catchUp();
    expect(told(await replica.watch(`resourceVersion=${version}`, ALICE))).toEqual([]);
  });

  it('is silent until a version of the future has come', async () => {
    const stream = await replica.watch(`resourceVersion=${Number(hub.revision) + 1}`, ADMIN);
    hub.putCluster('a', { env: 'dev' });
    await replica.catchUp();
    hub.putCluster('b', { env: 'dev' });
    await replica.catchUp();
    expect(told(stream)).toEqual(['MODIFIED b']);
  });

  it('is told 410 when the hub was listed anew past a version that only others have seen', async () => {
    hub.putCluster('ghost');
    const stream = await replica.watch(`resourceVersion=${hub.revision}`, ADMIN);
    hub.clusters.delete('ghost');
    replica.clusters.list();
    await settled();
    expect(told(stream)).toEqual(['ERROR 410']);
    const late = await replica.watch(`resourceVersion=${Number(hub.revision) - 1}`, ADMIN);
    expect(told(late)).toEqual(['ERROR 410']);
  });

  it('cannot be resumed from the middle of what a new list of the hub brought', async () => {
    const stream = await replica.watch(`resourceVersion=${await versionFor()}`, ADMIN);
    hub.putCluster('a', { env: 'dev' });
    hub.putCluster('b', { env: 'dev' });
    hub.clusters.delete('c');
    replica.clusters.list();
    await settled();
    const events = stream.take();
    expect(events.map(summary)).toEqual(['DELETED c', 'MODIFIED a', 'MODIFIED b']);
    const [first, second, last] = events.map(({ object }) => object.metadata.resourceVersion);
    expect(told(await replica.watch(`resourceVersion=${first}`, ADMIN))).toEqual(['ERROR 410']);
    expect(told(await replica.watch(`resourceVersion=${second}`, ADMIN))).toEqual(['ERROR 410']);
    expect(told(await replica.watch(`resourceVersion=${last}`, ADMIN))).toEqual([]);
    expect(last).toBe(hub.revision);
  });

  it('means the same at every replica', async () => {
    const other = new Replica(hub);
    hub.putCluster('a', { env: 'dev' });
    const stream = await other.watch(`resourceVersion=${await versionFor(ALICE)}`, ALICE);
    await other.catchUp();
    expect(told(stream)).toEqual(['MODIFIED a']);
  });
});

describe('a watch with initial events', () => {
  it('begins with what is there, and can be resumed only when all of it has come', async () => {
    const stream = await replica.watch('allowWatchBookmarks=true', ALICE);
    const events = stream.take();
    expect(events.map(summary)).toEqual(['ADDED a', 'ADDED b', 'BOOKMARK']);
    expect(events.map(({ object }) => parseVersion(BigInt(object.metadata.resourceVersion)).fingerprint === 1)).toEqual([
      true,
      false,
      false,
    ]);
    expect(events[2]?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
    expect(events[2]?.object.metadata.resourceVersion).toBe(await versionFor(ALICE));
  });

  it('has no bookmark for those who do not ask for it', async () => {
    expect(told(await replica.watch('', ALICE))).toEqual(['ADDED a', 'ADDED b']);
  });

  it('waits for a version that is to come, and gives up after three seconds', async () => {
    const ahead = Number(hub.revision) + 1;
    const query = `sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=${ahead}`;
    const stream = await replica.watch(query, ADMIN);
    expect(stream.text).toBe('');
    hub.putCluster('d');
    await replica.catchUp();
    expect(told(stream)).toEqual(['ADDED a', 'ADDED b', 'ADDED c', 'ADDED d']);
    const late = await replica.watch(query.replace(String(ahead), String(ahead + 1)), ADMIN);
    replica.clock.advance(3_000);
    await settled();
    expect(told(late)).toEqual(['ERROR 504']);
    expect(late.writableEnded).toBe(true);
  });

  it('has none when they are not wanted', async () => {
    const stream = await replica.watch('sendInitialEvents=false&resourceVersionMatch=NotOlderThan', ADMIN);
    expect(stream.text).toBe('');
    hub.putCluster('d');
    await replica.catchUp();
    expect(told(stream)).toEqual(['ADDED d']);
  });
});

describe('a watch while rights change', () => {
  it('takes away what is lost and shows what is gained, with a version at the end (case 109)', async () => {
    const stream = await replica.watch(`allowWatchBookmarks=true&resourceVersion=${await versionFor(ALICE)}`, ALICE);
    hub.roles.put('alice', { rules: [viewerRule(['b', 'c'])] });
    await replica.catchUp();
    const events = stream.take();
    expect(events.map(summary)).toEqual(['DELETED a', 'ADDED c', 'BOOKMARK']);
    expect(events.map(({ object }) => object.metadata.resourceVersion).slice(1)).toEqual([
      await versionFor(ALICE),
      await versionFor(ALICE),
    ]);
    hub.putCluster('a', { env: 'secret' });
    await replica.catchUp();
    expect(stream.take()).toEqual([]);
  });

  it('follows a role that is bound, a group, and a service account', async () => {
    const bot = callerOf('system:serviceaccount:ci:bot', 'system:serviceaccounts', 'system:serviceaccounts:ci');
    const streams = [await replica.watch('resourceVersion=0', ALICE), await replica.watch('', bot)];
    streams.forEach((stream) => stream.take());
    hub.grant('team', ['c'], { kind: 'Group', name: 'team' });
    hub.grant('bot', ['a'], { kind: 'ServiceAccount', name: 'bot', namespace: 'ci' });
    await replica.catchUp();
    expect(streams.map(told)).toEqual([['ADDED c'], ['ADDED a']]);
    hub.bindings.delete('team');
    hub.roles.delete('bot');
    await replica.catchUp();
    expect(streams.map(told)).toEqual([['DELETED c'], ['DELETED a']]);
  });

  it('keeps everything for those whom another authoriser shows everything', async () => {
    hub.listers.add('admin');
    const stream = await replica.watch('', ADMIN);
    stream.take();
    hub.bindings.delete('admin');
    await replica.catchUp();
    expect(told(stream)).toEqual([]);
    hub.listers.delete('admin');
    replica.clock.advance(300);
    await settled();
    expect(told(stream)).toEqual(['DELETED a', 'DELETED b', 'DELETED c']);
  });

  it('takes a yes that is withdrawn away within ten seconds', async () => {
    hub.listers.add('alice');
    const stream = await replica.watch('', ALICE);
    expect(told(stream)).toEqual(['ADDED a', 'ADDED b', 'ADDED c']);
    hub.listers.delete('alice');
    replica.clock.advance(10_000);
    await settled();
    expect(told(stream)).toEqual(['DELETED c']);
  });

  it('believes a yes for ten seconds while the hub does not answer', async () => {
    hub.listers.add('alice');
    const stream = await replica.watch('', ALICE);
    stream.take();
    hub.isDown = true;
    replica.clock.advance(9_500);
    await settled();
    expect(told(stream)).toEqual([]);
    for (let second = 0; second < 12; second++) {
      replica.clock.advance(1_000);
      await settled();
    }
    expect(told(stream)).toEqual(['DELETED c']);
  });
});

describe('a watch of a caller who sees no cluster', () => {
  const NOBODY = callerOf('nobody');

  it('reports nothing of hidden changes, and resumes from any version', async () => {
    const small = new Replica(hub, undefined, { historyCapacity: 4 });
    const { resourceVersion } = (await small.get('', NOBODY)).body.metadata;
    const bookmarked = await small.watch(`allowWatchBookmarks=true&resourceVersion=${resourceVersion}`, NOBODY);
    for (let count = 0; count < 20; count++) hub.putCluster('a', { count: String(count) });
    await small.catchUp();
    small.clock.advance(120_000);
    await settled();
    expect(bookmarked.text).toBe('');
    const resumed = await small.watch(`resourceVersion=${resourceVersion}`, NOBODY);
    hub.grant('nobody', ['b'], { kind: 'User', name: 'nobody' });
    await small.catchUp();
    expect([told(bookmarked), told(resumed)]).toEqual([['ADDED b', 'BOOKMARK'], ['ADDED b']]);
  });
});

describe('bookmarks', () => {
  it('tell every minute how far the watch has come, if that is news', async () => {
    const stream = await replica.watch(`allowWatchBookmarks=true&resourceVersion=${await versionFor(ALICE)}`, ALICE);
    replica.clock.advance(60_000);
    expect(told(stream)).toEqual([]);
    hub.putCluster('c', { env: 'dev' });
    await replica.catchUp();
    replica.clock.advance(60_000);
    const [bookmark] = stream.take();
    expect(bookmark).toEqual({
      type: 'BOOKMARK',
      object: { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', metadata: { resourceVersion: await versionFor(ALICE) } },
    });
  });

  it('come once more before the end', async () => {
    const stream = await replica.watch(`allowWatchBookmarks=true&timeoutSeconds=30&resourceVersion=${await versionFor()}`, ADMIN);
    hub.clusters.bookmark();
    hub.next();
    hub.clusters.bookmark();
    await replica.catchUp();
    replica.clock.advance(28_000);
    expect(told(stream)).toEqual(['BOOKMARK']);
    replica.clock.advance(2_000);
    expect(stream.writableEnded).toBe(true);
  });
});

describe('the end of a watch', () => {
  it.each([
    ['after its timeout', 'timeoutSeconds=1', 1_000],
    ['at once with a negative timeout', 'timeoutSeconds=-1', 0],
    ['after three quarters of an hour by default, and chance', '', 2_700_000],
    ['after an hour, whatever is asked for (case 108)', 'timeoutSeconds=1000000000000', 3_600_000],
  ])('comes %s', async (_, query, ms) => {
    const stream = await replica.watch(query, ADMIN);
    if (ms > 0) {
      replica.clock.advance(ms - 1);
      expect(stream.writableEnded).toBe(false);
      replica.clock.advance(1);
    }
    expect(stream.writableEnded).toBe(true);
    expect(stream.text).not.toContain('ERROR');
  });

  it('comes when the token is no longer good, for all who share it (cases 110 and 111)', async () => {
    const carol = callerOf('carol');
    const streams = [await replica.watch('', carol), await replica.watch('', carol), await replica.watch('', ADMIN)];
    carol.isValid = false;
    for (let second = 0; second < 10; second++) {
      replica.clock.advance(1_000);
      await settled();
    }
    expect(streams.map((stream) => stream.writableEnded)).toEqual([true, true, false]);
  });

  it('leaves nothing behind', async () => {
    const idle = replica.clock.pending;
    const streams = [await replica.watch('allowWatchBookmarks=true', ALICE), await replica.watch('', ADMIN)];
    expect(replica.clock.pending).toBeGreaterThan(idle);
    for (const stream of streams) stream.leave();
    await settled();
    expect(replica.clock.pending).toBe(idle);
  });
});

describe('a reader who does not read', () => {
  it('is told 410 when the log has gone on without it, and cut off (case 112)', async () => {
    const small = new Replica(hub, undefined, { historyCapacity: 100 });
    const stream = await small.watch(`resourceVersion=${await versionFor()}`, ADMIN);
    stream.isStalled = true;
    for (let count = 0; count < 1_000; count++) hub.putCluster('a', { count: String(count) });
    for (let count = 0; count < 200; count++) {
      for (let step = 0; step < 5; step++) small.clusters.step();
      await settled();
    }
    expect(stream.writableLength).toBeLessThan(20_000);
    expect(stream.writableEnded).toBe(true);
    small.clock.advance(10_000);
    expect(stream.destroyed).toBe(true);
  });

  it('goes on where it stopped, if the log reaches back that far', async () => {
    const stream = await replica.watch(`resourceVersion=${await versionFor()}`, ADMIN);
    stream.isStalled = true;
    for (let count = 0; count < 50; count++) {
      hub.putCluster('a', { count: String(count) });
      await replica.catchUp();
    }
    expect(told(stream).length).toBeLessThan(50);
    stream.resumeReading();
    await settled();
    expect(stream.text.split('\n').length - 1).toBe(50);
  });
});

describe('what a watcher does not see', () => {
  it('costs it not a single byte, but for bookmarks (case 114)', async () => {
    const stream = await replica.watch(`resourceVersion=${await versionFor(ALICE)}`, ALICE);
    for (let count = 0; count < 1_000; count++) hub.putCluster('c', { count: String(count) });
    await replica.catchUp();
    expect(stream.text).toBe('');
  });

  it('is nobody else’s business: 5,000 watches of one caller leave others alone (case 113)', async () => {
    const greedy = callerOf('greedy');
    const opened = await Promise.allSettled(Array.from({ length: 5_000 }, () => replica.endpoints.list(watchRequest(greedy))));
    const refused = opened.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBe(4_000);
    expect((refused[0] as PromiseRejectedResult).reason).toMatchObject({ code: 429, retryAfterSeconds: 1 });
    expect(told(await replica.watch('', ALICE))).toEqual(['ADDED a', 'ADDED b']);
  });

  it('counts the watches of a caller, whichever token each came with', async () => {
    const opened = await Promise.allSettled(
      Array.from({ length: 1_001 }, (_, index) => replica.endpoints.list(watchRequest(withToken(ADMIN, index)))),
    );
    expect(opened.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  });

  it('limits the watches of one source address, whoever opens them', async () => {
    const limited = new Replica(hub, new FakeClock(), { watchLimits: { perCaller: 10, perAddress: 3, total: 10 } });
    for (let index = 0; index < 3; index++) await limited.endpoints.list(watchRequest(callerOf(`caller-${index}`)));
    await expect(limited.endpoints.list(watchRequest(ALICE))).rejects.toMatchObject({ code: 429, retryAfterSeconds: 1 });
    await expect(limited.endpoints.list({ ...watchRequest(ALICE), address: '10.0.0.2' })).resolves.toMatchObject({ status: 200 });
  });

  it('takes no place for a caller who leaves while the hub is asked', async () => {
    const gone = new AbortController();
    const opening = Promise.allSettled(
      Array.from({ length: 2_000 }, () => replica.endpoints.list({ ...watchRequest(ALICE), signal: gone.signal })),
    );
    gone.abort();
    expect((await opening).every(({ status }) => status === 'rejected')).toBe(true);
    expect(told(await replica.watch('', ALICE))).toEqual(['ADDED a', 'ADDED b']);
  });
});

describe('initial events', () => {
  const fill = async () => {
    for (let index = 0; index < 20; index++) hub.putCluster(`long-${index}`, {}, `https://${'x'.repeat(4_000)}`);
    hub.grant('all', 'all', { kind: 'Group', name: 'system:authenticated' });
    await replica.catchUp();
  };

  it('are sent to eight watches of one caller at a time, and to other callers meanwhile', async () => {
    await fill();
    const greedy = callerOf('greedy');
    const stalled = [];
    for (let index = 0; index < 9; index++) stalled.push(await replica.watch('', greedy, undefined, { isStalled: true }));
    expect(stalled.map(({ text }) => text.length > 0)).toEqual([...Array.from({ length: 8 }, () => true), false]);
    expect((await replica.watch('', callerOf('polite'))).take().length).toBeGreaterThanOrEqual(20);
    stalled[0]?.resumeReading();
    await settled();
    expect(stalled[8]?.text).not.toBe('');
  });

  it('end for a reader who takes nothing, after ten seconds, and the next reader begins', async () => {
    await fill();
    const greedy = callerOf('greedy');
    const stalled = [];
    for (let index = 0; index < 9; index++) stalled.push(await replica.watch('', greedy, undefined, { isStalled: index < 8 }));
    replica.clock.advance(10_000);
    await settled();
    expect(stalled.map(({ destroyed }) => destroyed)).toEqual([...Array.from({ length: 8 }, () => true), false]);
    expect(stalled[8]?.take().length).toBeGreaterThanOrEqual(20);
  });

  it('hold no more than one small piece in memory for a reader who takes nothing', async () => {
    await fill();
    const stream = await replica.watch('', ALICE, undefined, { isStalled: true });
    expect(stream.writableLength).toBeGreaterThan(0);
    expect(stream.writableLength).toBeLessThan(17_000);
  });
});

function watchRequest(caller: typeof ALICE) {
  return requestOf('watch=true', caller);
}
