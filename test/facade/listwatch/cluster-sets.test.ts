// Permissions on sets of clusters: an object becomes visible when it joins a set, and hidden when it leaves.

import { beforeEach, describe, expect, it } from '@jest/globals';
import { callerOf, HandHub, Replica, type WatchedEvent, type WatchStream } from './replica.ts';

const ALICE = callerOf('alice');
const inClusterSet = (set: string) => ({ 'registry.purser.dev/set': set });

let hub: HandHub;
let replica: Replica;

beforeEach(() => {
  hub = new HandHub();
  hub.putCluster('a', inClusterSet('prod'));
  hub.putCluster('b', inClusterSet('dev'));
  hub.putCluster('c');
  hub.putCluster('prod');
  hub.grant('alice', ['set:prod'], { kind: 'User', name: 'alice' });
  replica = new Replica(hub);
});

const listNames = async (query = '', caller = ALICE) => (await replica.get(query, caller)).body.items.map(({ metadata }) => metadata.name);
const versionFor = async (caller = ALICE) => (await replica.get('', caller)).body.metadata.resourceVersion;

function eventsOf(stream: WatchStream): readonly string[] {
  return stream.take().map(summary);
}

function summary({ type, object }: WatchedEvent): string {
  return `${type} ${type === 'ERROR' ? object.code : (object.metadata.name ?? '')}`.trim();
}

describe('list and get of a set of clusters', () => {
  it('returns the clusters of the set, and not a cluster that has the name of the set', async () => {
    expect(await listNames()).toEqual(['a']);
    expect((await replica.getOne('a', ALICE)).status).toBe(200);
    for (const name of ['b', 'c', 'prod', 'set:prod']) expect((await replica.getOne(name, ALICE)).status).toBe(404);
  });

  it('returns clusters of the set together with clusters that a rule names, in order and on pages', async () => {
    hub.putCluster('z', inClusterSet('prod'));
    hub.grant('alice', ['set:prod', 'c', 'missing'], { kind: 'User', name: 'alice' });
    await replica.catchUp();
    expect(await listNames()).toEqual(['a', 'c', 'z']);
    const first = await replica.get('limit=2', ALICE);
    expect(first.body.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'c']);
    expect(first.body.metadata.remainingItemCount).toBe(1);
    expect(await listNames(`limit=2&continue=${first.body.metadata.continue}`)).toEqual(['z']);
  });

  it.each([['*'], ['set:*'], ['set:'], ['set:-'], ['set:prod/'], ['set:prod/deploy'], ['SET:prod'], ['prod/']])(
    'returns no cluster for a rule that names %s',
    async (name) => {
      hub.grant('alice', [name], { kind: 'User', name: 'alice' });
      await replica.catchUp();
      expect(await listNames()).toEqual([]);
    },
  );

  it.each([['-'], [''], ['a/b'], ['prod/x'], ['x'.repeat(64)]])(
    'hides a cluster with the label value %j, which no set can have',
    async (value) => {
      hub.putCluster('c', inClusterSet(value));
      hub.grant('alice', [`set:${value}`, 'set:-', 'set:'], { kind: 'User', name: 'alice' });
      await replica.catchUp();
      expect(await listNames()).toEqual([]);
    },
  );
});

describe('watch of a set of clusters', () => {
  it('sends ADDED, MODIFIED and DELETED as a cluster joins, changes and leaves', async () => {
    const stream = await replica.watch(`resourceVersion=${await versionFor()}`, ALICE);
    hub.putCluster('c', inClusterSet('prod'));
    hub.putCluster('c', { ...inClusterSet('prod'), env: 'x' });
    hub.putCluster('c', inClusterSet('dev'));
    hub.putCluster('c');
    hub.putCluster('a', inClusterSet('dev'));
    await replica.catchUp();
    expect(eventsOf(stream)).toEqual(['ADDED c', 'MODIFIED c', 'DELETED c', 'DELETED a']);
  });

  it('sends the last visible state of a cluster that leaves, with a version to resume from', async () => {
    const stream = await replica.watch(`resourceVersion=${await versionFor()}`, ALICE);
    hub.putCluster('a', { ...inClusterSet('dev'), secret: 'x' });
    await replica.catchUp();
    const [left] = stream.take();
    expect(left?.object.metadata.labels).toEqual(inClusterSet('prod'));
    expect(left?.object.metadata.resourceVersion).toBe(await versionFor());
    hub.putCluster('a', inClusterSet('prod'));
    await replica.catchUp();
    const resumed = await replica.watch(`resourceVersion=${left?.object.metadata.resourceVersion}`, ALICE);
    expect(eventsOf(resumed)).toEqual(['ADDED a']);
  });

  it('resumes across changes of sets, and at another replica only from a version that the other replica knows', async () => {
    const version = await versionFor();
    hub.putCluster('a');
    hub.putCluster('c', inClusterSet('prod'));
    const other = new Replica(hub);
    await replica.catchUp();
    expect(eventsOf(await replica.watch(`resourceVersion=${version}`, ALICE))).toEqual(['DELETED a', 'ADDED c']);
    // The other replica has listed the hub after the changes, so it does not know them.
    expect(eventsOf(await other.watch(`resourceVersion=${version}`, ALICE))).toEqual(['ERROR 410']);
    expect(eventsOf(await other.watch(`resourceVersion=${await versionFor()}`, ALICE))).toEqual([]);
  });

  it('sends DELETED and ADDED when a permission on one set is replaced by a permission on another set', async () => {
    const stream = await replica.watch(`allowWatchBookmarks=true&resourceVersion=${await versionFor()}`, ALICE);
    hub.grant('alice', ['set:dev'], { kind: 'User', name: 'alice' });
    await replica.catchUp();
    expect(eventsOf(stream)).toEqual(['DELETED a', 'ADDED b', 'BOOKMARK']);
  });

  it('sends DELETED and ADDED for a cluster that is re-created in another set and then in the first set', async () => {
    const stream = await replica.watch(`resourceVersion=${await versionFor()}`, ALICE);
    hub.clusters.delete('a');
    hub.putCluster('a', inClusterSet('dev'));
    hub.clusters.delete('a');
    hub.putCluster('a', inClusterSet('prod'));
    await replica.catchUp();
    expect(eventsOf(stream)).toEqual(['DELETED a', 'ADDED a']);
  });
});
