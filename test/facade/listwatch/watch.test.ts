import { beforeEach, describe, expect, it } from '@jest/globals';
import { FakeClock } from '../../support/clock.ts';
import { callerOf, HandHub, Replica, requestOf, settle, viewerRule, type WatchedEvent, type WatchStream, withToken } from './replica.ts';

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

function eventsOf(stream: WatchStream): readonly string[] {
  return stream.take().map(summary);
}

function summary({ type, object }: WatchedEvent): string {
  return `${type} ${type === 'ERROR' ? object.code : (object.metadata.name ?? '')}`.trim();
}

async function versionFor(caller = ADMIN): Promise<string> {
  return (await replica.get('', caller)).body.metadata.resourceVersion;
}

describe('watch from a version', () => {
  it('sends all events after the requested version', async () => {
    const version = await versionFor();
    hub.putCluster('a', { env: 'dev' });
    await replica.catchUp();
    const stream = await replica.watch(`resourceVersion=${version}`, ADMIN);
    expect(eventsOf(stream)).toEqual(['MODIFIED a']);
    hub.putCluster('d');
    hub.clusters.delete('b');
    await replica.catchUp();
    expect(eventsOf(stream)).toEqual(['ADDED d', 'DELETED b']);
  });

  it('sends ADDED and DELETED when selectors start and stop matching', async () => {
    const stream = await replica.watch(`labelSelector=env%3Dprod&resourceVersion=${await versionFor()}`, ADMIN);
    hub.putCluster('a', { env: 'dev' });
    hub.putCluster('a', { env: 'dev' });
    hub.putCluster('a', { env: 'prod' });
    await replica.catchUp();
    expect(eventsOf(stream)).toEqual(['DELETED a', 'ADDED a']);
  });

  it('writes all events of one turn of the event loop at once', async () => {
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

  it('sends 410 for a version before the log', async () => {
    const stream = await replica.watch('resourceVersion=1', ADMIN);
    expect(stream.text).toBe(
      `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (10700000001)","reason":"Expired","code":410}}\n`,
    );
    expect(stream.writableEnded).toBe(true);
  });

  it.each(['abc', '-1', '18446744073709551616'])('returns 400 for a watch from a version that is not a number: %s', async (version) => {
    await expect(replica.watch(`resourceVersion=${version}`, ADMIN)).rejects.toMatchObject({
      code: 400,
      message: expect.stringMatching(/^resourceVersion: Invalid value: /),
    });
  });

  it('rejects contradictory watch options before it rejects YAML', async () => {
    const watch = (query: string) => replica.watch(query, ADMIN, 'application/yaml');
    await expect(watch('sendInitialEvents=true')).rejects.toMatchObject({ code: 422 });
    await expect(watch('resourceVersion=abc')).rejects.toMatchObject({ code: 400 });
    await expect(watch('')).rejects.toMatchObject({ code: 406 });
  });

  it('sends initial events without a bookmark for a version such as 00', async () => {
    const stream = await replica.watch('resourceVersion=00&allowWatchBookmarks=true', ADMIN);
    expect(eventsOf(stream)).toEqual(['ADDED a', 'ADDED b', 'ADDED c']);
  });

  it('sends 410 for a version from a list with other permissions', async () => {
    const version = await versionFor(ALICE);
    expect(eventsOf(await replica.watch(`resourceVersion=${version}`, ADMIN))).toEqual(['ERROR 410']);
    hub.roles.put('alice', { rules: [viewerRule(['a', 'c'])] });
    await replica.catchUp();
    expect(eventsOf(await replica.watch(`resourceVersion=${version}`, ALICE))).toEqual(['ERROR 410']);
    hub.roles.put('alice', { rules: [viewerRule(['b', 'a'])] });
    await replica.catchUp();
    expect(eventsOf(await replica.watch(`resourceVersion=${version}`, ALICE))).toEqual([]);
  });

  it('skips the events up to a future version, and sends the following ones', async () => {
    const stream = await replica.watch(`resourceVersion=${hub.version(1)}`, ADMIN);
    hub.putCluster('a', { env: 'dev' });
    await replica.catchUp();
    hub.putCluster('b', { env: 'dev' });
    await replica.catchUp();
    expect(eventsOf(stream)).toEqual(['MODIFIED b']);
  });

  it('sends 410 if a relist of the hub skips a version of another replica', async () => {
    hub.putCluster('ghost');
    const stream = await replica.watch(`resourceVersion=${hub.version()}`, ADMIN);
    hub.clusters.delete('ghost');
    replica.clusters.list();
    await settle();
    expect(eventsOf(stream)).toEqual(['ERROR 410']);
    const late = await replica.watch(`resourceVersion=${hub.version(-1)}`, ADMIN);
    expect(eventsOf(late)).toEqual(['ERROR 410']);
  });

  it('sends 410 for a version from the middle of a relist', async () => {
    const stream = await replica.watch(`resourceVersion=${await versionFor()}`, ADMIN);
    hub.putCluster('a', { env: 'dev' });
    hub.putCluster('b', { env: 'dev' });
    hub.clusters.delete('c');
    replica.clusters.list();
    await settle();
    const events = stream.take();
    expect(events.map(summary)).toEqual(['DELETED c', 'MODIFIED a', 'MODIFIED b']);
    const [first, second, last] = events.map(({ object }) => object.metadata.resourceVersion);
    expect(eventsOf(await replica.watch(`resourceVersion=${first}`, ADMIN))).toEqual(['ERROR 410']);
    expect(eventsOf(await replica.watch(`resourceVersion=${second}`, ADMIN))).toEqual(['ERROR 410']);
    expect(eventsOf(await replica.watch(`resourceVersion=${last}`, ADMIN))).toEqual([]);
    expect(last).toBe(hub.version());
  });

  it('resumes from the version of another replica', async () => {
    const other = new Replica(hub);
    hub.putCluster('a', { env: 'dev' });
    const stream = await other.watch(`resourceVersion=${await versionFor(ALICE)}`, ALICE);
    await other.catchUp();
    expect(eventsOf(stream)).toEqual(['MODIFIED a']);
  });
});

describe('watch with initial events', () => {
  it('sends all objects as ADDED with their own versions, then a bookmark with the version of the list', async () => {
    const stream = await replica.watch('allowWatchBookmarks=true', ALICE);
    const events = stream.take();
    expect(events.map(summary)).toEqual(['ADDED a', 'ADDED b', 'BOOKMARK']);
    const { body } = await replica.get('', ALICE);
    expect(events.slice(0, 2).map(({ object }) => object.metadata.resourceVersion)).toEqual(
      body.items.map(({ metadata }) => metadata.resourceVersion),
    );
    expect(events[2]?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
    expect(events[2]?.object.metadata.resourceVersion).toBe(await versionFor(ALICE));
  });

  it('sends no bookmark after the initial events without allowWatchBookmarks', async () => {
    expect(eventsOf(await replica.watch('', ALICE))).toEqual(['ADDED a', 'ADDED b']);
  });

  it('waits up to three seconds for a future version before the initial events', async () => {
    const ahead = hub.version(1);
    const query = `sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=${ahead}`;
    const stream = await replica.watch(query, ADMIN);
    expect(stream.text).toBe('');
    hub.putCluster('d');
    await replica.catchUp();
    expect(eventsOf(stream)).toEqual(['ADDED a', 'ADDED b', 'ADDED c', 'ADDED d']);
    const late = await replica.watch(query.replace(ahead, hub.version(1)), ADMIN);
    replica.clock.advance(3_000);
    await settle();
    expect(eventsOf(late)).toEqual(['ERROR 504']);
    expect(late.writableEnded).toBe(true);
  });

  it('sends no initial events with sendInitialEvents=false', async () => {
    const stream = await replica.watch('sendInitialEvents=false&resourceVersionMatch=NotOlderThan', ADMIN);
    expect(stream.text).toBe('');
    hub.putCluster('d');
    await replica.catchUp();
    expect(eventsOf(stream)).toEqual(['ADDED d']);
  });
});

describe('watch during permission changes', () => {
  it('sends DELETED for hidden and ADDED for newly visible clusters, and a version to resume from with the last event', async () => {
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

  it('applies changes to the roles and bindings of users, groups and service accounts', async () => {
    const bot = callerOf('system:serviceaccount:ci:bot', 'system:serviceaccounts', 'system:serviceaccounts:ci');
    const streams = [await replica.watch('resourceVersion=0', ALICE), await replica.watch('', bot)];
    streams.forEach((stream) => stream.take());
    hub.grant('team', ['c'], { kind: 'Group', name: 'team' });
    hub.grant('bot', ['a'], { kind: 'ServiceAccount', name: 'bot', namespace: 'ci' });
    await replica.catchUp();
    expect(streams.map(eventsOf)).toEqual([['ADDED c'], ['ADDED a']]);
    hub.bindings.delete('team');
    hub.roles.delete('bot');
    await replica.catchUp();
    expect(streams.map(eventsOf)).toEqual([['DELETED c'], ['DELETED a']]);
  });

  it('sends no DELETED to a caller whom another authorizer allows to list all clusters', async () => {
    hub.listers.add('admin');
    const stream = await replica.watch('', ADMIN);
    stream.take();
    hub.bindings.delete('admin');
    await replica.catchUp();
    expect(eventsOf(stream)).toEqual([]);
    hub.listers.delete('admin');
    replica.clock.advance(300);
    await settle();
    expect(eventsOf(stream)).toEqual(['DELETED a', 'DELETED b', 'DELETED c']);
  });

  it('sends DELETED within ten seconds after another authorizer denies the list', async () => {
    hub.listers.add('alice');
    const stream = await replica.watch('', ALICE);
    expect(eventsOf(stream)).toEqual(['ADDED a', 'ADDED b', 'ADDED c']);
    hub.listers.delete('alice');
    replica.clock.advance(10_000);
    await settle();
    expect(eventsOf(stream)).toEqual(['DELETED c']);
  });

  it('sends all initial events to a caller whom another authorizer allows to list all clusters if rules change before they start', async () => {
    hub.listers.add('alice');
    const stream = await replica.watch(
      `sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=${hub.version(3)}&allowWatchBookmarks=true`,
      ALICE,
    );
    expect(stream.text).toBe('');
    replica.clock.advance(1_000);
    hub.grant('bob', ['a'], { kind: 'User', name: 'bob' });
    hub.putCluster('d');
    await replica.catchUp();
    expect(eventsOf(stream)).toEqual(['ADDED a', 'ADDED b', 'ADDED c', 'ADDED d', 'BOOKMARK']);
  });

  it('sends only the visible clusters as initial events to a caller who lost the permission to list before they start', async () => {
    hub.listers.add('alice');
    const query = `sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=${hub.version(3)}&allowWatchBookmarks=true`;
    const stream = await replica.watch(query, ALICE);
    replica.clock.advance(1_000);
    hub.listers.delete('alice');
    hub.grant('bob', ['a'], { kind: 'User', name: 'bob' });
    hub.putCluster('d');
    await replica.catchUp();
    expect(eventsOf(stream)).toEqual(['ADDED a', 'ADDED b', 'BOOKMARK']);
  });

  it('closes a watch if the review before its initial events fails', async () => {
    hub.listers.add('alice');
    const query = `sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=${hub.version(3)}`;
    const stream = await replica.watch(query, ALICE);
    replica.clock.advance(1_000);
    hub.isDown = true;
    hub.grant('bob', ['a'], { kind: 'User', name: 'bob' });
    hub.putCluster('d');
    await replica.catchUp();
    expect([stream.text, stream.destroyed]).toEqual(['', true]);
  });

  it('resumes from a list of all clusters if another authorizer has allowed this list since the first watch of the caller', async () => {
    const first = await replica.watch('', ALICE);
    hub.listers.add('alice');
    replica.clock.advance(10_000);
    const version = await versionFor(ALICE);
    const second = await replica.watch(`resourceVersion=${version}`, ALICE);
    expect([eventsOf(first), eventsOf(second)]).toEqual([['ADDED a', 'ADDED b', 'ADDED c'], []]);
    hub.putCluster('d');
    await replica.catchUp();
    expect([eventsOf(first), eventsOf(second)]).toEqual([['ADDED d'], ['ADDED d']]);
  });

  it('sends no cluster to a caller who lost the permission during the check of the token', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const caller = { ...ALICE, checked: promise };
    const stream = await replica.watch('', caller);
    hub.roles.put('alice', { rules: [viewerRule(['b'])] });
    hub.putCluster('a', { env: 'secret' });
    await replica.catchUp();
    resolve();
    await settle();
    expect(eventsOf(stream)).toEqual(['ADDED b']);
  });

  it('sends no cluster that open watches of the caller no longer show', async () => {
    hub.listers.add('alice');
    const first = await replica.watch('', ALICE);
    const { promise, resolve } = Promise.withResolvers<void>();
    const second = await replica.watch('', { ...ALICE, checked: promise });
    hub.listers.delete('alice');
    replica.clock.advance(10_000);
    await settle();
    hub.putCluster('c', { env: 'secret' });
    await replica.catchUp();
    resolve();
    await settle();
    expect([eventsOf(first), eventsOf(second)]).toEqual([
      ['ADDED a', 'ADDED b', 'ADDED c', 'DELETED c'],
      ['ADDED a', 'ADDED b'],
    ]);
  });

  it.each<readonly [string, () => void]>([
    ['fail', () => (hub.isDown = true)],
    ['receive no response', () => (hub.isSilent = true)],
  ])('hides clusters ten seconds after the request of the last review that allowed them while reviews %s', async (_, fail) => {
    // The ClusterRoles are new: a decision would be valid for a shorter time.
    replica.clock.advance(5_000);
    hub.listers.add('alice');
    await replica.get('', ALICE);
    fail();
    replica.clock.advance(9_000);
    const stream = await replica.watch('', ALICE);
    replica.clock.advance(900);
    await settle();
    expect(eventsOf(stream)).toEqual(['ADDED a', 'ADDED b', 'ADDED c']);
    replica.clock.advance(100);
    await settle();
    expect(eventsOf(stream)).toEqual(['DELETED c']);
  });

  it('hides no cluster during a failure of the hub shorter than the rest of the decision that a list has received', async () => {
    replica.clock.advance(5_000);
    hub.listers.add('alice');
    const stream = await replica.watch('', ALICE);
    stream.take();
    replica.clock.advance(4_000);
    hub.grant('bob', ['a'], { kind: 'User', name: 'bob' });
    await replica.catchUp();
    await replica.get('', ALICE);
    hub.isDown = true;
    for (let second = 0; second < 9; second++) {
      replica.clock.advance(1_000);
      await settle();
    }
    hub.isDown = false;
    replica.clock.advance(900);
    await settle();
    expect(eventsOf(stream)).toEqual([]);
  });

  it('hides no cluster if the hub does not respond to one review', async () => {
    replica.clock.advance(5_000);
    hub.listers.add('alice');
    const stream = await replica.watch('', ALICE);
    stream.take();
    hub.holdReview();
    for (let second = 0; second < 30; second++) {
      replica.clock.advance(1_000);
      await settle();
    }
    expect(eventsOf(stream)).toEqual([]);
  });

  it('hides clusters within three seconds after RBAC no longer allows them while reviews fail', async () => {
    hub.grant('alice', 'all', { kind: 'User', name: 'alice' });
    await replica.catchUp();
    const stream = await replica.watch('', ALICE);
    stream.take();
    hub.isDown = true;
    hub.roles.put('alice', { rules: [viewerRule(['b'])] });
    await replica.catchUp();
    replica.clock.advance(3_000);
    await settle();
    expect(eventsOf(stream)).toEqual(['DELETED a', 'DELETED c']);
  });

  it('reviews a caller every 30 s although the visible clusters change more often', async () => {
    const stream = await replica.watch('', ALICE);
    hub.listers.add('alice');
    for (const names of [['a'], ['a', 'b'], ['a']]) {
      replica.clock.advance(10_000);
      await settle();
      hub.roles.put('alice', { rules: [viewerRule(names)] });
      await replica.catchUp();
    }
    expect(eventsOf(stream).slice(2)).toEqual(['DELETED b', 'ADDED b', 'ADDED c']);
  });
});

describe('watch of a caller who sees no cluster', () => {
  const UNPRIVILEGED = callerOf('unprivileged');

  it('sends no hidden change to a caller who sees no cluster, and resumes from any version', async () => {
    const small = new Replica(hub, undefined, { historyCapacity: 4 });
    const { resourceVersion } = (await small.get('', UNPRIVILEGED)).body.metadata;
    const bookmarked = await small.watch(`allowWatchBookmarks=true&resourceVersion=${resourceVersion}`, UNPRIVILEGED);
    for (let count = 0; count < 20; count++) hub.putCluster('a', { count: String(count) });
    await small.catchUp();
    small.clock.advance(120_000);
    await settle();
    expect(bookmarked.text).toBe('');
    const resumed = await small.watch(`resourceVersion=${resourceVersion}`, UNPRIVILEGED);
    hub.grant('unprivileged', ['b'], { kind: 'User', name: 'unprivileged' });
    await small.catchUp();
    expect([eventsOf(bookmarked), eventsOf(resumed)]).toEqual([['ADDED b', 'BOOKMARK'], ['ADDED b']]);
  });
});

describe('watch bookmarks', () => {
  it('sends a bookmark every minute if the revision has changed', async () => {
    const stream = await replica.watch(`allowWatchBookmarks=true&resourceVersion=${await versionFor(ALICE)}`, ALICE);
    replica.clock.advance(60_000);
    expect(eventsOf(stream)).toEqual([]);
    hub.putCluster('c', { env: 'dev' });
    await replica.catchUp();
    replica.clock.advance(60_000);
    const [bookmark] = stream.take();
    expect(bookmark).toEqual({
      type: 'BOOKMARK',
      object: { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', metadata: { resourceVersion: await versionFor(ALICE) } },
    });
  });

  it('sends a last bookmark two seconds before the watch ends', async () => {
    const stream = await replica.watch(`allowWatchBookmarks=true&timeoutSeconds=30&resourceVersion=${await versionFor()}`, ADMIN);
    hub.clusters.bookmark();
    hub.next();
    hub.clusters.bookmark();
    await replica.catchUp();
    replica.clock.advance(28_000);
    expect(eventsOf(stream)).toEqual(['BOOKMARK']);
    replica.clock.advance(2_000);
    expect(stream.writableEnded).toBe(true);
  });
});

describe('end of a watch', () => {
  it.each([
    ['after its timeout', 'timeoutSeconds=1', 1_000],
    ['immediately with a negative timeout', 'timeoutSeconds=-1', 0],
    ['after 30 to 60 minutes by default', '', 2_700_000],
    ['after an hour at most', 'timeoutSeconds=1000000000000', 3_600_000],
    ['after an hour with the largest timeout', 'timeoutSeconds=9223372036854775807', 3_600_000],
  ])('ends a watch %s', async (_, query, ms) => {
    const stream = await replica.watch(query, ADMIN);
    if (ms > 0) {
      replica.clock.advance(ms - 1);
      expect(stream.writableEnded).toBe(false);
      replica.clock.advance(1);
    }
    expect(stream.writableEnded).toBe(true);
    expect(stream.text).not.toContain('ERROR');
  });

  it('ends all watches of a token that is no longer valid', async () => {
    const carol = callerOf('carol');
    const streams = [await replica.watch('', carol), await replica.watch('', carol), await replica.watch('', ADMIN)];
    carol.isValid = false;
    for (let second = 0; second < 10; second++) {
      replica.clock.advance(1_000);
      await settle();
    }
    expect(streams.map((stream) => stream.writableEnded)).toEqual([true, true, false]);
  });

  it('announces that the connection closes after a watch', async () => {
    expect(await replica.endpoints.list(watchRequest(ADMIN))).toMatchObject({ status: 200, headers: { connection: 'close' } });
  });

  it('cancels all timers of a watch that ends', async () => {
    const idle = replica.clock.pending;
    const streams = [await replica.watch('allowWatchBookmarks=true', ALICE), await replica.watch('', ADMIN)];
    expect(replica.clock.pending).toBeGreaterThan(idle);
    for (const stream of streams) stream.leave();
    await settle();
    expect(replica.clock.pending).toBe(idle);
  });
});

describe('watch with a stalled reader', () => {
  it('ends the watch of a stalled reader whose events the log has dropped, and closes the connection', async () => {
    const small = new Replica(hub, undefined, { historyCapacity: 100 });
    const stream = await small.watch(`resourceVersion=${await versionFor()}`, ADMIN);
    stream.isStalled = true;
    for (let count = 0; count < 1_000; count++) hub.putCluster('a', { count: String(count) });
    for (let count = 0; count < 200; count++) {
      for (let step = 0; step < 5; step++) small.clusters.step();
      await settle();
    }
    expect(stream.writableLength).toBeLessThan(20_000);
    expect(stream.writableEnded).toBe(true);
    small.clock.advance(10_000);
    expect(stream.destroyed).toBe(true);
  });

  it('sends the pending events to a stalled reader that resumes, if the log still has the events', async () => {
    const stream = await replica.watch(`resourceVersion=${await versionFor()}`, ADMIN);
    stream.isStalled = true;
    for (let count = 0; count < 50; count++) {
      hub.putCluster('a', { count: String(count) });
      await replica.catchUp();
    }
    expect(eventsOf(stream).length).toBeLessThan(50);
    stream.resumeReading();
    await settle();
    expect(stream.text.split('\n').length - 1).toBe(50);
  });
});

describe('watches with a large event', () => {
  /** Returns labels of about 1 MB. */
  const labels = () => Object.fromEntries(Array.from({ length: 8_000 }, (_, index) => [`${'x'.repeat(57)}${index}`, 'y'.repeat(63)]));

  async function watchAll(count: number, caller: typeof ALICE, isStalled: boolean): Promise<readonly WatchStream[]> {
    const query = `resourceVersion=${await versionFor(caller)}`;
    const streams = [];
    for (let index = 0; index < count; index++) streams.push(await replica.watch(query, caller, undefined, { isStalled }));
    return streams;
  }

  it('limits the unread events of a caller, and writes to other callers in the meantime', async () => {
    const stalled = await watchAll(20, ADMIN, true);
    const [polite] = await watchAll(1, ALICE, false);
    hub.putCluster('a', labels());
    await replica.catchUp();
    const unread = stalled.reduce((sum, { writableLength }) => sum + writableLength, 0);
    expect(unread).toBeLessThan(6 << 20);
    expect(polite?.take().map(summary)).toEqual(['MODIFIED a']);
  });

  it('closes watches whose clients have not read an event for ten seconds, and writes to the next watches', async () => {
    const streams = [...(await watchAll(5, ADMIN, true)), ...(await watchAll(5, ADMIN, false))];
    hub.putCluster('a', labels());
    await replica.catchUp();
    replica.clock.advance(10_000);
    await settle();
    expect(streams.slice(5).map((stream) => stream.take().map(summary))).toEqual(Array.from({ length: 5 }, () => ['MODIFIED a']));
    expect(streams.slice(0, 4).map(({ destroyed }) => destroyed)).toEqual([true, true, true, true]);
  });
});

describe('watch isolation and limits', () => {
  it('writes no byte for hidden changes to a watch without bookmarks', async () => {
    const stream = await replica.watch(`resourceVersion=${await versionFor(ALICE)}`, ALICE);
    for (let count = 0; count < 1_000; count++) hub.putCluster('c', { count: String(count) });
    await replica.catchUp();
    expect(stream.text).toBe('');
  });

  it('keeps serving other callers while one caller opens 5,000 watches', async () => {
    const greedy = callerOf('greedy');
    const opened = await Promise.allSettled(Array.from({ length: 5_000 }, () => replica.endpoints.list(watchRequest(greedy))));
    const rejected = opened.filter(({ status }) => status === 'rejected');
    expect(rejected.length).toBe(4_000);
    expect((rejected[0] as PromiseRejectedResult).reason).toMatchObject({ code: 429, retryAfterSeconds: 1 });
    expect(eventsOf(await replica.watch('', ALICE))).toEqual(['ADDED a', 'ADDED b']);
  });

  it('limits the watches of a caller across all of its tokens', async () => {
    const opened = await Promise.allSettled(
      Array.from({ length: 1_001 }, (_, index) => replica.endpoints.list(watchRequest(withToken(ADMIN, index)))),
    );
    expect(opened.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  });

  it('limits the watches of all service accounts in a namespace together', async () => {
    const limited = new Replica(hub, new FakeClock(), {
      watchLimits: { perTenant: 3, perAddress: 10, total: 10, perConnection: 1, perStream: 1 },
    });
    for (let index = 0; index < 3; index++)
      await limited.endpoints.list(watchRequest(callerOf(`system:serviceaccount:team-a:robot-${index}`)));
    const fourth = watchRequest(callerOf('system:serviceaccount:team-a:robot-3'));
    await expect(limited.endpoints.list(fourth)).rejects.toMatchObject({ code: 429 });
    const other = watchRequest(callerOf('system:serviceaccount:team-b:robot-0'));
    await expect(limited.endpoints.list(other)).resolves.toMatchObject({ status: 200 });
  });

  it('limits the watches of one source address across callers', async () => {
    const limited = new Replica(hub, new FakeClock(), {
      watchLimits: { perTenant: 10, perAddress: 3, total: 10, perConnection: 1, perStream: 1 },
    });
    for (let index = 0; index < 3; index++) await limited.endpoints.list(watchRequest(callerOf(`caller-${index}`)));
    await expect(limited.endpoints.list(watchRequest(ALICE))).rejects.toMatchObject({ code: 429, retryAfterSeconds: 1 });
    await expect(limited.endpoints.list({ ...watchRequest(ALICE), address: '10.0.0.2' })).resolves.toMatchObject({ status: 200 });
  });

  it('counts no watch of a caller who disconnects during the review', async () => {
    const gone = new AbortController();
    const opening = Promise.allSettled(
      Array.from({ length: 2_000 }, () => replica.endpoints.list({ ...watchRequest(ALICE), signal: gone.signal })),
    );
    gone.abort();
    expect((await opening).every(({ status }) => status === 'rejected')).toBe(true);
    expect(eventsOf(await replica.watch('', ALICE))).toEqual(['ADDED a', 'ADDED b']);
  });
});

describe('initial events', () => {
  const fill = async () => {
    for (let index = 0; index < 20; index++) hub.putCluster(`long-${index}`, {}, `https://${'x'.repeat(4_000)}`);
    hub.grant('all', 'all', { kind: 'Group', name: 'system:authenticated' });
    await replica.catchUp();
  };

  it('sends initial events to eight watches of one caller at a time, and to other callers in the meantime', async () => {
    await fill();
    const greedy = callerOf('greedy');
    const stalled = [];
    for (let index = 0; index < 9; index++) stalled.push(await replica.watch('', greedy, undefined, { isStalled: true }));
    expect(stalled.map(({ text }) => text.length > 0)).toEqual([...Array.from({ length: 8 }, () => true), false]);
    expect((await replica.watch('', callerOf('polite'))).take().length).toBeGreaterThanOrEqual(20);
    stalled[0]?.resumeReading();
    await settle();
    expect(stalled[8]?.text).not.toBe('');
  });

  it('sends initial events to eight watches of all service accounts in a namespace at a time', async () => {
    await fill();
    const stalled = [];
    for (let index = 0; index < 9; index++) {
      const caller = callerOf(`system:serviceaccount:team-a:robot-${index}`);
      stalled.push(await replica.watch('', caller, undefined, { isStalled: true }));
    }
    expect(stalled.map(({ text }) => text.length > 0)).toEqual([...Array.from({ length: 8 }, () => true), false]);
  });

  it('closes a watch whose reader stalls for ten seconds, and starts the next watch in the queue', async () => {
    await fill();
    const greedy = callerOf('greedy');
    const stalled = [];
    for (let index = 0; index < 9; index++) stalled.push(await replica.watch('', greedy, undefined, { isStalled: index < 8 }));
    replica.clock.advance(10_000);
    await settle();
    expect(stalled.map(({ destroyed }) => destroyed)).toEqual([...Array.from({ length: 8 }, () => true), false]);
    expect(stalled[8]?.take().length).toBeGreaterThanOrEqual(20);
  });

  it('sends no initial events to a caller whose token is no longer valid after the wait for a seat', async () => {
    await fill();
    const carol = callerOf('carol');
    const stalled = await Promise.all(Array.from({ length: 8 }, () => replica.watch('', carol, undefined, { isStalled: true })));
    const waiting = await replica.watch('', carol);
    carol.isValid = false;
    stalled[0]?.destroy();
    await settle();
    expect([waiting.text, waiting.destroyed]).toEqual(['', true]);
  });

  it('keeps one chunk of the initial events in memory for a stalled reader', async () => {
    await fill();
    const stream = await replica.watch('', ALICE, undefined, { isStalled: true });
    expect(stream.writableLength).toBeGreaterThan(0);
    expect(stream.writableLength).toBeLessThan(17_000);
  });
});

function watchRequest(caller: typeof ALICE) {
  return requestOf('watch=true', caller);
}
