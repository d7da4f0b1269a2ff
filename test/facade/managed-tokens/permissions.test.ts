// Permissions of callers on ManagedTokens: bindings in a namespace and for the cluster, of users, groups and service accounts.

import { beforeEach, describe, expect, it } from '@jest/globals';
import { objectKeyOf } from '../../../src/kube/paths.ts';
import { callerOf, type TestCaller, type WatchStream } from '../listwatch/replica.ts';
import { type TokenGrant, TokenHub, TokenReplica } from '../listwatch/token-replica.ts';

const KEYS = ['team-a/one', 'team-a/two', 'team-b/one', 'team-b/two'];
const ALICE = callerOf('alice', 'staff');
const BOT = callerOf('system:serviceaccount:ci:bot', 'system:serviceaccounts', 'system:serviceaccounts:ci');
const WATCH_LIST = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
const TO_ALICE = { kind: 'User', name: 'alice' };

let hub: TokenHub;
let replica: TokenReplica;

beforeEach(() => {
  hub = new TokenHub();
  for (const key of KEYS) hub.putToken(key);
  replica = new TokenReplica(hub);
});

async function grant(...grants: readonly Partial<TokenGrant>[]): Promise<void> {
  for (const [index, each] of grants.entries())
    hub.grantTokens({ name: `g${index}`, namespace: 'team-a', roleKind: 'Role', names: 'all', subject: TO_ALICE, ...each });
  await replica.catchUp();
}

async function listKeys(caller: TestCaller = ALICE, namespace?: string): Promise<readonly string[]> {
  return (await replica.get('', caller, namespace)).body.items.map(objectKeyOf);
}

/** Returns the types and keys of the events since the last call, without bookmarks. */
function eventsOf(stream: WatchStream): readonly string[] {
  return stream.take().flatMap(({ type, object }) => (type === 'BOOKMARK' ? [] : [`${type} ${objectKeyOf(object)}`]));
}

describe('list of ManagedTokens', () => {
  it.each<readonly [string, Partial<TokenGrant>, readonly string[]]>([
    ['a Role', {}, ['team-a/one', 'team-a/two']],
    ['a Role with names', { names: ['one', 'team-b/one'] }, ['team-a/one']],
    ['a ClusterRole in one namespace', { roleKind: 'ClusterRole' }, ['team-a/one', 'team-a/two']],
    ['a ClusterRole with names in one namespace', { roleKind: 'ClusterRole', names: ['two'] }, ['team-a/two']],
    ['a ClusterRole in all namespaces', { namespace: undefined }, KEYS],
    ['a ClusterRole with names in all namespaces', { namespace: undefined, names: ['one'] }, ['team-a/one', 'team-b/one']],
    ['a binding to a group', { subject: { kind: 'Group', name: 'staff' } }, ['team-a/one', 'team-a/two']],
    ['a binding to all authenticated users', { subject: { kind: 'Group', name: 'system:authenticated' } }, ['team-a/one', 'team-a/two']],
    ['a binding to another user', { subject: { kind: 'User', name: 'bob' } }, []],
  ])('returns the ManagedTokens that %s allows', async (_, granted, keys) => {
    await grant(granted);
    expect(await listKeys()).toEqual(keys);
    for (const namespace of ['team-a', 'team-b'])
      expect(await listKeys(ALICE, namespace)).toEqual(keys.filter((key) => key.startsWith(namespace)));
    for (const key of KEYS) {
      const [namespace = '', name = ''] = key.split('/');
      expect((await replica.getOne(name, ALICE, { namespace })).status).toBe(keys.includes(key) ? 200 : 404);
    }
  });

  it.each([
    ['a binding to its name', { kind: 'ServiceAccount', name: 'bot', namespace: 'ci' }],
    ['a binding to the group of its namespace', { kind: 'Group', name: 'system:serviceaccounts:ci' }],
    ['a binding to the group of all service accounts', { kind: 'Group', name: 'system:serviceaccounts' }],
  ])('returns the ManagedTokens that a service account may see through %s', async (_, subject) => {
    await grant({ subject });
    expect([await listKeys(BOT), await listKeys()]).toEqual([['team-a/one', 'team-a/two'], []]);
  });

  it('returns the union of several bindings, each ManagedToken once', async () => {
    await grant({}, { names: ['one'] }, { namespace: 'team-b', names: ['one'] }, { namespace: undefined, names: ['one'] });
    expect(await listKeys()).toEqual(['team-a/one', 'team-a/two', 'team-b/one']);
  });

  it('ignores a binding whose Role does not exist in its namespace', async () => {
    await grant({});
    hub.namespacedRoles.delete('team-a/g0');
    await replica.catchUp();
    expect(await listKeys()).toEqual([]);
  });
});

describe('watch of ManagedTokens', () => {
  it('sends DELETED when a RoleBinding is deleted, and ADDED when a new one grants access', async () => {
    await grant({}, { namespace: 'team-b', names: ['two'] });
    const stream = await replica.watch(WATCH_LIST, ALICE);
    expect(eventsOf(stream)).toEqual(['ADDED team-a/one', 'ADDED team-a/two', 'ADDED team-b/two']);
    hub.namespacedBindings.delete('team-a/g0');
    await replica.catchUp();
    expect(eventsOf(stream)).toEqual(['DELETED team-a/one', 'DELETED team-a/two']);
    hub.putToken('team-a/one', { env: 'prod' });
    await replica.catchUp();
    expect(eventsOf(stream)).toEqual([]);
    await grant({ names: ['one'] });
    expect(eventsOf(stream)).toEqual(['ADDED team-a/one']);
    stream.leave();
  });

  it('sends only permission changes in the namespace of the watch', async () => {
    await grant({});
    const stream = await replica.watch(WATCH_LIST, ALICE, undefined, { namespace: 'team-b' });
    await grant({ names: ['one'] }, { namespace: 'team-b' });
    expect(eventsOf(stream)).toEqual(['ADDED team-b/one', 'ADDED team-b/two']);
    stream.leave();
  });

  it('sends DELETED when a ClusterRole that RoleBindings grant loses its rules', async () => {
    await grant({ roleKind: 'ClusterRole' });
    const stream = await replica.watch(WATCH_LIST, ALICE);
    stream.take();
    hub.roles.put('g0', { rules: [] });
    await replica.catchUp();
    expect(eventsOf(stream)).toEqual(['DELETED team-a/one', 'DELETED team-a/two']);
    stream.leave();
  });
});
