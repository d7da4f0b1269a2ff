import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { parseVersion } from '../../../src/facade/listwatch/version.ts';
import type { FacadeReply } from '../../../src/facade/request.ts';
import { indentJson } from '../../../src/kubernetes/wire/ordered-json.ts';
import { eventually } from '../../kube/eventually.ts';
import { callerOf, HandHub, Replica, requestOf, settled, viewerRule, WatchStream, withToken } from './replica.ts';

const ALICE = callerOf('alice', 'team');
const ADMIN = callerOf('admin');
const NOBODY = callerOf('nobody');
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

let hub: HandHub;
let replica: Replica;

beforeEach(() => {
  hub = new HandHub();
  for (const [index, name] of ['a', 'b', 'c', 'd', 'e'].entries()) hub.putCluster(name, { env: index % 2 === 0 ? 'prod' : 'dev' });
  hub.grant('admin', 'all', { kind: 'User', name: 'admin' });
  hub.grant('alice', ['a', 'c', 'd', 'gone'], { kind: 'User', name: 'alice' });
  replica = new Replica(hub);
});

async function namesOf(query: string, caller = ADMIN): Promise<readonly string[]> {
  return (await replica.get(query, caller)).body.items.map(({ metadata }) => metadata.name);
}

/** A reply on its way to a reader who takes nothing of it. */
function readByNobody(reply: FacadeReply): { readonly stalled: WatchStream; readonly written: Promise<void> } {
  if (!('write' in reply)) throw new Error('not a stream');
  const stalled = new WatchStream(() => {});
  stalled.isStalled = true;
  return { stalled, written: reply.write(stalled as unknown as ServerResponse) };
}

describe('a list', () => {
  it('is a ClusterList of what the caller may see, each item with its type', async () => {
    const { text } = await replica.get('fieldSelector=metadata.name%3Da', ADMIN);
    expect(text).toBe(
      '{"apiVersion":"registry.purser.dev/v1alpha1","items":[{"apiVersion":"registry.purser.dev/v1alpha1","kind":"Cluster",' +
        '"metadata":{"labels":{"env":"prod"},"name":"a","resourceVersion":"101","uid":"uid-101"},' +
        '"spec":{"orchestratorApiEndpoints":{"serverEndpoints":[{"clientCIDR":"0.0.0.0/0","serverAddress":"https://10.0.0.1"}]}}}],' +
        '"kind":"ClusterList","metadata":{"continue":"","resourceVersion":"109","selfLink":"/auth/v1/clusters"}}\n',
    );
    expect(await namesOf('', ALICE)).toEqual(['a', 'c', 'd']);
  });

  it('is empty for those who may see nothing', async () => {
    const { status, text } = await replica.get('', NOBODY);
    expect(status).toBe(200);
    expect(text).toMatch(/"items":\[\],"kind":"ClusterList","metadata":\{"continue":"","resourceVersion":"\d+","selfLink"/);
  });

  it('carries the same version for a caller who sees no cluster, whatever happens to hidden ones', async () => {
    const before = (await replica.get('', NOBODY)).text;
    hub.putCluster('a', { env: 'dev' });
    hub.clusters.delete('b');
    await replica.catchUp();
    const { resourceVersion } = (await replica.get('', ADMIN)).body.metadata;
    expect((await replica.get('', NOBODY)).text).toBe(before);
    const later = (await replica.get(`resourceVersion=${resourceVersion}`, NOBODY)).body.metadata;
    expect(parseVersion(BigInt(later.resourceVersion)).revision).toBe(Number(resourceVersion));
  });

  it('names no version of hidden clusters to a caller who sees no cluster and requests a version to come', async () => {
    const request = async () => {
      const waiting = replica.get('resourceVersion=8999999999999999999', NOBODY);
      await eventually(() => expect(replica.clock.pending).toBeGreaterThan(0));
      replica.clock.advance(3_000);
      return await waiting;
    };
    const before = await request();
    hub.putCluster('a', { env: 'dev' });
    await replica.catchUp();
    expect([before.status, (await request()).body.message]).toEqual([504, before.body.message]);
  });

  it.each([
    ['labelSelector=env%3Ddev', ['b', 'd'], ['d']],
    ['labelSelector=env!%3Ddev', ['a', 'c', 'e'], ['a', 'c']],
    ['fieldSelector=metadata.name!%3Da', ['b', 'c', 'd', 'e'], ['c', 'd']],
    ['fieldSelector=metadata.name%3Db', ['b'], []],
  ])('selects by %s among what the caller may see', async (query, admins, alices) => {
    expect(await namesOf(query)).toEqual(admins);
    expect(await namesOf(query, ALICE)).toEqual(alices);
  });

  it('has the same content whole and item by item', async () => {
    const whole = await replica.get('', ADMIN);
    const single = await replica.get('fieldSelector=metadata.name!%3Dx', ADMIN);
    expect(single.text).toBe(whole.text);
    hub.putCluster('b', { env: 'test' });
    hub.clusters.delete('c');
    await replica.catchUp();
    expect((await replica.get('', ADMIN)).text).toBe((await replica.get('fieldSelector=metadata.name!%3Dx', ADMIN)).text);
  });

  it('carries the hub’s numbers for those who see everything, and the same pair everywhere for others', async () => {
    const { body } = await replica.get('', ALICE);
    const { fingerprint } = parseVersion(BigInt(body.metadata.resourceVersion));
    expect(fingerprint).toBeGreaterThan(1);
    expect(body.items.map(({ metadata }) => parseVersion(BigInt(metadata.resourceVersion)))).toEqual([
      { revision: 101, fingerprint },
      { revision: 103, fingerprint },
      { revision: 104, fingerprint },
    ]);
    expect((await new Replica(hub).get('', ALICE)).text).toBe((await replica.get('', ALICE)).text);
  });

  it('is refused with 503 while the hub does not say who may list', async () => {
    hub.isDown = true;
    expect(await replica.get('', ALICE)).toMatchObject({ status: 503 });
    expect(await replica.get('', ADMIN)).toMatchObject({ status: 200 });
    hub.isDown = false;
    expect(await replica.get('', ALICE)).toMatchObject({ status: 200 });
  });

  it('ends with 504 when the hub does not say so in the time that the caller gives', async () => {
    hub.isSilent = true;
    const waiting = replica.get('timeoutSeconds=2', ALICE);
    await settled();
    replica.clock.advance(2_000);
    expect(await waiting).toMatchObject({ status: 504, body: { reason: 'Timeout' } });
    expect(await replica.get('timeoutSeconds=2', ADMIN)).toMatchObject({ status: 200 });
  });

  it('is refused with 503 before anything is known', async () => {
    const { createClusterList } = await import('../../../src/facade/clusters/cluster-kind.ts');
    const { silentLog: log } = await import('../../support/silent-log.ts');
    const { clusters, roles, bindings } = new Replica(hub);
    const endpoints = createClusterList({ clusters, roles, bindings, hub, clock: replica.clock, random: () => 0, log });
    await expect(endpoints.list(requestOf('', ADMIN))).rejects.toMatchObject({ code: 503 });
  });

  it('asks other authorisers once in ten seconds', async () => {
    hub.listers.add('alice');
    expect(await namesOf('', ALICE)).toEqual(['a', 'b', 'c', 'd', 'e']);
    await namesOf('', ALICE);
    expect(hub.reviews).toBe(1);
    hub.listers.delete('alice');
    replica.clock.advance(10_000);
    expect(await namesOf('', ALICE)).toEqual(['a', 'c', 'd']);
    expect(hub.reviews).toBe(2);
  });
});

describe('pages', () => {
  it('show one version, whatever happens meanwhile', async () => {
    const first = await replica.get('limit=2', ADMIN);
    expect(first.body.metadata).toMatchObject({ remainingItemCount: 3 });
    hub.putCluster('c', { env: 'later' });
    hub.clusters.delete('d');
    hub.putCluster('f');
    await replica.catchUp();
    const second = await replica.get(`limit=2&continue=${first.body.metadata.continue}`, ADMIN);
    const third = await replica.get(`limit=2&continue=${second.body.metadata.continue}`, ADMIN);
    expect(
      [first, second, third].flatMap(({ body }) => body.items.map(({ metadata }) => `${metadata.name} ${metadata.labels?.['env']}`)),
    ).toEqual(['a prod', 'b dev', 'c prod', 'd dev', 'e prod']);
    expect(new Set([first, second, third].map(({ body }) => body.metadata.resourceVersion)).size).toBe(1);
    expect(third.body.metadata).toMatchObject({ continue: '' });
    expect(third.body.metadata.remainingItemCount).toBeUndefined();
  });

  it('count what the caller may see, and nothing with a selector (case 107)', async () => {
    expect((await replica.get('limit=1', ALICE)).body.metadata.remainingItemCount).toBe(2);
    expect((await replica.get('limit=1&labelSelector=env%3Dprod', ALICE)).body.metadata).toMatchObject({ continue: expect.any(String) });
    expect((await replica.get('limit=1&labelSelector=env%3Dprod', ALICE)).body.metadata.remainingItemCount).toBeUndefined();
    expect((await replica.get('limit=3', ALICE)).body.metadata).toMatchObject({ continue: '' });
  });

  it('are refused under other rights than the first page had, with an offer to go on (case 105)', async () => {
    const first = await replica.get('limit=1', ALICE);
    hub.roles.put('alice', { rules: [viewerRule(['a', 'e'])] });
    await replica.catchUp();
    const second = await replica.get(`limit=5&continue=${first.body.metadata.continue}`, ALICE);
    expect(second).toMatchObject({ status: 410, body: { reason: 'Expired' } });
    const rest = await replica.get(`continue=${second.body.metadata.continue}`, ALICE);
    expect(rest.body.items.map(({ metadata }) => metadata.name)).toEqual(['e']);
    const others = await replica.get(`continue=${first.body.metadata.continue}`, NOBODY);
    expect(others.status).toBe(410);
  });

  it.each([
    ['continue=abc', 400, /^invalid continue token: continue key is not valid: /],
    ['continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi94In0', 400, /\.\.\/x$/],
    ['continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0', 410, /too old to display a consistent list/],
  ])('are refused with a token that we did not make: %s (case 105)', async (query, status, message) => {
    expect(await replica.get(query, ADMIN)).toMatchObject({ status, body: { message: expect.stringMatching(message) } });
  });

  it('of any size are served (case 104)', async () => {
    expect(await namesOf('limit=-1')).toHaveLength(5);
    expect(await namesOf('limit=1000000000')).toHaveLength(5);
    expect(await replica.get('limit=abc', ADMIN)).toMatchObject({ status: 400 });
  });
});

describe('a version that is asked for', () => {
  it('is shown exactly while the log reaches back to it', async () => {
    const { resourceVersion } = (await replica.get('', ADMIN)).body.metadata;
    hub.clusters.delete('a');
    await replica.catchUp();
    const exact = `resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`;
    expect(await namesOf(exact)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(await namesOf(exact, ALICE)).toEqual(['a', 'c', 'd']);
    expect(await namesOf(`resourceVersion=${resourceVersion}`)).toEqual(['b', 'c', 'd', 'e']);
    expect(await namesOf(`resourceVersion=${resourceVersion}&limit=2`)).toEqual(['a', 'b']);
    expect(await replica.get('resourceVersion=1&resourceVersionMatch=Exact', ADMIN)).toMatchObject({
      status: 410,
      body: { reason: 'Expired' },
    });
  });

  it('is waited for, but not long', async () => {
    const ahead = Number(hub.revision) + 1;
    const waiting = replica.get(`resourceVersion=${ahead}`, ADMIN);
    await settled();
    hub.putCluster('f');
    await replica.catchUp();
    expect((await waiting).body.items).toHaveLength(6);
    const late = replica.get(`resourceVersion=${ahead + 5}`, ADMIN);
    await settled();
    replica.clock.advance(3_000);
    expect(await late).toMatchObject({
      status: 504,
      body: { message: `Timeout: Too large resource version: ${ahead + 5}, current: ${ahead}` },
    });
    const hurried = replica.get(`resourceVersion=${ahead + 5}&timeoutSeconds=1`, ADMIN);
    await settled();
    replica.clock.advance(1_000);
    expect((await hurried).status).toBe(504);
  });

  it.each([
    ['that no number of JavaScript can hold', '9007199254740993', 'current: 109$'],
    ['of some rights', String(2n ** 62n + (500n << 24n) + 7n), `current: ${2n ** 62n + (109n << 24n) + 7n}$`],
  ])('is repeated as it was asked for: one %s', async (_, version, current) => {
    const late = replica.get(`resourceVersion=${version}`, ADMIN);
    await settled();
    replica.clock.advance(3_000);
    expect((await late).body.message).toMatch(new RegExp(`Too large resource version: ${version}, ${current}`));
  });

  it('of other rights is as good as one of ours: only the hub’s part counts', async () => {
    const { resourceVersion } = (await replica.get('', ALICE)).body.metadata;
    expect(await namesOf(`resourceVersion=${resourceVersion}`)).toHaveLength(5);
  });

  it.each(['abc', '-1', '18446744073709551616'])('must be a number: %s (case 106)', async (version) => {
    expect(await replica.get(`resourceVersion=${version}`, ADMIN)).toMatchObject({ status: 400 });
  });
});

describe('a long list', () => {
  beforeEach(async () => {
    for (let index = 0; index < 2_000; index++) hub.putCluster(`long-${index}`, {}, `https://${'x'.repeat(1_000)}`);
    await replica.catchUp();
  });

  it('is compressed for those who accept it', async () => {
    const request = { ...requestOf('', ADMIN), header: (name: string) => (name === 'accept-encoding' ? 'gzip' : undefined) };
    const reply = await replica.endpoints.list(request);
    if (!('write' in reply)) throw new Error('not a stream');
    expect(reply.headers).toMatchObject({ 'content-encoding': 'gzip', vary: expect.stringContaining('Accept-Encoding') });
    const pieces: Buffer[] = [];
    const sink = new Writable({
      write(piece: Buffer, _encoding, done) {
        pieces.push(piece);
        done();
      },
    });
    await reply.write(sink as unknown as ServerResponse);
    expect(gunzipSync(Buffer.concat(pieces)).toString()).toBe((await replica.get('', ADMIN)).text);
  });

  it.each([
    ['whole', '', ADMIN],
    ['selected', 'fieldSelector=metadata.name!%3Da', ADMIN],
    ['by names', '', callerOf('many')],
  ])('that nobody reads holds one slice in memory: %s', async (_, query, caller) => {
    hub.grant(
      'many',
      Array.from({ length: 2_000 }, (__, index) => `long-${index}`),
      { kind: 'User', name: 'many' },
    );
    await replica.catchUp();
    const reply = await replica.endpoints.list(requestOf(query, caller));
    const { stalled, written } = readByNobody(reply);
    expect(Number(reply.headers['content-length'])).toBeGreaterThan(2_000_000);
    await settled();
    expect(stalled.writableLength).toBeLessThan(600_000);
    replica.clock.advance(10_000);
    await written;
    expect(stalled.destroyed).toBe(true);
  });

  it.each([
    ['YAML', 'application/yaml', ''],
    ['a table', TABLE, 'includeObject=Object'],
    ['a table in YAML', TABLE.replace('json', 'yaml'), ''],
    ['metadata', TABLE.replace('Table', 'PartialObjectMetadataList'), ''],
  ])('is one of those that are limited, and held by nobody who does not read, as %s', async (_, accept, query) => {
    const asked = requestOf(query, ADMIN);
    const request = { ...asked, preferences: { ...asked.preferences, accept } };
    const replies = await Promise.all(Array.from({ length: 8 }, () => replica.endpoints.list(request)));
    await expect(replica.endpoints.list(request)).rejects.toMatchObject({ code: 429 });
    const [reply] = replies as [FacadeReply];
    const { stalled, written } = readByNobody(reply);
    expect(reply.headers['content-type']).toBe(accept.split(';')[0]);
    await settled();
    expect(stalled.writableLength).toBeLessThan(64_000);
    replica.clock.advance(10_000);
    await written;
    expect(stalled.destroyed).toBe(true);
    expect((await replica.endpoints.list(request)).status).toBe(200);
  });

  it('that is compressed and that nobody reads ends as well', async () => {
    const reply = await replica.endpoints.list({ ...requestOf('', ADMIN), header: () => 'gzip' });
    const { stalled, written } = readByNobody(reply);
    await eventually(() => expect(replica.clock.pending).toBe(1));
    replica.clock.advance(10_000);
    await written;
    expect(stalled.destroyed).toBe(true);
    expect(replica.clock.pending).toBe(0);
  });

  it('closes its connection, whose buffers would be kept', async () => {
    expect((await replica.endpoints.list(requestOf('', ADMIN))).headers['connection']).toBe('close');
    expect((await replica.endpoints.list(requestOf('limit=1', ADMIN))).headers['connection']).toBeUndefined();
  });

  it('ends for a reader who takes one slice every five seconds', async () => {
    const reply = await replica.endpoints.list(requestOf('', ADMIN));
    const { stalled, written } = readByNobody(reply);
    for (let seconds = 0; seconds < 20 && !stalled.destroyed; seconds += 5) {
      await settled();
      stalled.resumeReading();
      stalled.isStalled = true;
      await settled();
      replica.clock.advance(5_000);
    }
    await written;
    expect(stalled.destroyed).toBe(true);
  });

  it('is refused with 429 while too many of them are under way', async () => {
    const replies = await Promise.all(Array.from({ length: 8 }, () => replica.endpoints.list(requestOf('', ADMIN))));
    await expect(replica.endpoints.list(requestOf('', ADMIN))).rejects.toMatchObject({ code: 429, retryAfterSeconds: 1 });
    expect(await replica.get('limit=1', ADMIN)).toMatchObject({ status: 200 });
    for (const reply of replies) if ('write' in reply) await reply.write(new WatchStream(() => {}) as unknown as ServerResponse);
    expect(await replica.get('', ADMIN)).toMatchObject({ status: 200 });
  });

  it('is refused with 429 to a caller who has too many of them under way, whichever token each came with', async () => {
    for (let index = 0; index < 8; index++) await replica.endpoints.list(requestOf('', withToken(ADMIN, index)));
    expect(await replica.get('', withToken(ADMIN, 8))).toMatchObject({ status: 429 });
  });

  it('takes no place for a caller who leaves while the hub is asked', async () => {
    hub.listers.add('lister');
    const lister = callerOf('lister');
    for (let count = 0; count < 8; count++) {
      const gone = new AbortController();
      const listing = replica.endpoints.list({ ...requestOf('', lister), signal: gone.signal });
      gone.abort();
      await expect(listing).rejects.toBe(gone.signal.reason);
    }
    expect(await replica.get('', lister)).toMatchObject({ status: 200 });
  });

  it('lets others have a turn between its slices, however fast it is taken', async () => {
    const asked = requestOf('', ADMIN);
    const reply = await replica.endpoints.list({ ...asked, preferences: { ...asked.preferences, accept: 'application/yaml' } });
    if (!('write' in reply)) throw new Error('not a stream');
    const sizes: number[] = [];
    const turns = new Set<number>();
    let turn = 0;
    const fast = {
      write: (slice: string) => {
        turns.add(turn);
        setImmediate(() => {
          turn += 1;
        });
        return sizes.push(slice.length) > 0;
      },
    };
    await reply.write(fast as unknown as ServerResponse);
    expect(turns.size).toBe(sizes.length);
    expect(Math.max(...sizes)).toBeLessThan(64_000);
  });

  it.each([
    ['many', ''],
    ['one', 'fieldSelector=metadata.name%3Da'],
    ['none', 'fieldSelector=metadata.name%3Dx'],
  ])('is indented for people, slice by slice: %s', async (_, query) => {
    for (const caller of [ADMIN, ALICE]) {
      const compact = await replica.get(query, caller);
      const indented = await replica.get(`${query}&pretty=true`, caller);
      expect(indented.text).toBe(indentJson(compact.text.trimEnd()));
    }
  });

  it('says how long it is', async () => {
    hub.grant('alice', ['long-1', 'long-2', ...Array.from({ length: 500 }, (_, index) => `long-${index}`)], {
      kind: 'User',
      name: 'alice',
    });
    await replica.catchUp();
    for (const caller of [ALICE, ADMIN]) {
      const reply = await replica.endpoints.list(requestOf('', caller));
      expect(reply.headers['content-length']).toBe(String((await replica.get('', caller)).text.length));
    }
  });
});

describe('one cluster', () => {
  it('is shown as in the list', async () => {
    const { body } = await replica.get('', ALICE);
    expect(JSON.parse((await replica.getOne('c', ALICE)).text)).toEqual(body.items[1]);
  });

  it('that is hidden and one that is missing are the same', async () => {
    const hidden = await replica.getOne('b', ALICE);
    const missing = await replica.getOne('x', ALICE);
    expect(hidden.status).toBe(404);
    expect(hidden.text.replaceAll('"b', '"x').replaceAll('\\"b', '\\"x')).toBe(missing.text);
  });
});

describe('what many clusters cost', () => {
  it('is no review for each of them (case 118)', async () => {
    for (let index = 0; index < 1_000; index++) hub.putCluster(`many-${index}`);
    hub.roles.put('alice', { rules: [viewerRule(['many-1', 'many-7'])] });
    await replica.catchUp();
    expect(await namesOf('', ALICE)).toEqual(['many-1', 'many-7']);
    expect((await replica.get('', ALICE)).body.metadata.remainingItemCount).toBeUndefined();
    expect(hub.reviews).toBe(1);
  });
});

describe('selectors that are not right', () => {
  it.each([
    ['an open bracket', 'a in (b'],
    ['a megabyte', 'x'.repeat(1 << 20)],
    ['many brackets', '('.repeat(100_000)],
    ['a hundred thousand terms with a bad end', `${'a=b,'.repeat(100_000)}=`],
  ])('are refused in no time: %s (case 102)', async (_, selector) => {
    const before = process.cpuUsage();
    const { status } = await replica.get(`labelSelector=${encodeURIComponent(selector)}`, ADMIN);
    expect(status).toBe(400);
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
  });

  it.each(['spec.x=1', 'metadata.namespace=a', 'status.version!=1'])(
    'are refused where a field cannot be selected by: %s (case 103)',
    async (selector) => {
      expect(await replica.get(`fieldSelector=${encodeURIComponent(selector)}`, ADMIN)).toMatchObject({
        status: 400,
        body: { message: expect.stringMatching(/^field label not supported: /) },
      });
    },
  );
});
