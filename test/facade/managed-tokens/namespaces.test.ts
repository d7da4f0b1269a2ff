// The list of ManagedTokens of a replica that watches several namespaces, each separately.

import { beforeEach, describe, expect, it } from '@jest/globals';
import { callerOf } from '../listwatch/replica.ts';
import { TokenHub, TokenReplica } from '../listwatch/token-replica.ts';

const ADMIN = callerOf('admin');
const EXPIRED = { type: 'ERROR', object: { code: 410 } };

let hub: TokenHub;
let replica: TokenReplica;

beforeEach(() => {
  hub = new TokenHub(['team-a', 'team-b']);
  hub.grantTokens({ name: 'admin', namespace: undefined, roleKind: 'ClusterRole', names: 'all', subject: { kind: 'User', name: 'admin' } });
  for (const key of ['team-a/a', 'team-b/b']) hub.putToken(key);
  replica = new TokenReplica(hub);
});

async function versionAt(at: TokenReplica): Promise<string> {
  return (await at.get('', ADMIN)).body.metadata.resourceVersion;
}

function step(namespace: string): void {
  replica.followers.get(`objects ${namespace}`)?.step();
}

/** Changes both namespaces; the replica receives the later change first. */
function changeOutOfOrder(): void {
  hub.putToken('team-a/a', { env: 'first' });
  hub.putToken('team-b/b', { env: 'second' });
  step('team-b');
  step('team-a');
}

describe('list of ManagedTokens in several watched namespaces', () => {
  it('resumes a watch on the same replica with changes that arrived out of order', async () => {
    const version = await versionAt(replica);
    changeOutOfOrder();
    const stream = await replica.watch(`resourceVersion=${version}`, ADMIN);
    expect(stream.take().map(({ type, object: { metadata } }) => `${type} ${metadata.name}`)).toEqual(['MODIFIED b', 'MODIFIED a']);
    stream.leave();
  });

  it('numbers changes in their order of arrival', async () => {
    const stream = await replica.watch(`resourceVersion=${await versionAt(replica)}`, ADMIN);
    changeOutOfOrder();
    await replica.catchUp();
    const versions = stream.take().map(({ object }) => BigInt(object.metadata.resourceVersion));
    expect(versions).toHaveLength(2);
    expect(versions[0]! < versions[1]!).toBe(true);
    stream.leave();
  });

  it('responds with 410 to a watch from a version of another replica', async () => {
    const other = new TokenReplica(hub);
    const stream = await other.watch(`resourceVersion=${await versionAt(replica)}`, ADMIN);
    expect(stream.take()).toMatchObject([EXPIRED]);
  });

  it('responds with 410 to a page and to an exact version of another replica', async () => {
    const other = new TokenReplica(hub);
    const { body } = await replica.get('limit=1', ADMIN);
    const exact = `limit=1&resourceVersion=${body.metadata.resourceVersion}&resourceVersionMatch=Exact`;
    const statuses = async (at: TokenReplica) => [
      (await at.get(`limit=1&continue=${body.metadata.continue}`, ADMIN)).status,
      (await at.get(exact, ADMIN)).status,
    ];
    expect([await statuses(replica), await statuses(other)]).toEqual([
      [200, 200],
      [410, 410],
    ]);
  });

  it('returns items with versions of this replica to a caller who sees everything', async () => {
    const { body } = await replica.get('', ADMIN);
    const fingerprints = [body, ...body.items].map(({ metadata }) => metadata.resourceVersion.slice(-6));
    expect(new Set(fingerprints).size).toBe(1);
    expect(fingerprints[0]).not.toBe('000001');
  });
});
