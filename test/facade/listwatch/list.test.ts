import { Writable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { parseFacadeVersion } from '../../../src/facade/listwatch/version.ts';
import type { FacadeReply } from '../../../src/facade/request.ts';
import { indentJson } from '../../../src/kubernetes/wire/ordered-json.ts';
import { eventually } from '../../kube/eventually.ts';
import { SlowClock } from '../../support/slow-clock.ts';
import {
  callerOf,
  createClusterList,
  HandHub,
  Replica,
  requestOf,
  settle,
  viewerRule,
  WatchStream,
  withToken,
  writeReply,
} from './replica.ts';

const ALICE = callerOf('alice', 'team');
const ADMIN = callerOf('admin');
const UNPRIVILEGED = callerOf('unprivileged');
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

let hub: HandHub;
let replica: Replica;

beforeEach(() => {
  hub = new HandHub();
  for (const [index, name] of ['a', 'b', 'c', 'd', 'e'].entries()) hub.putCluster(name, { env: index % 2 === 0 ? 'prod' : 'dev' });
  hub.grant('admin', 'all', { kind: 'User', name: 'admin' });
  hub.grant('alice', ['a', 'c', 'd', 'missing'], { kind: 'User', name: 'alice' });
  replica = new Replica(hub);
});

async function namesOf(query: string, caller = ADMIN): Promise<readonly string[]> {
  return (await replica.get(query, caller)).body.items.map(({ metadata }) => metadata.name);
}

/** Writes a reply to a stalled reader. */
function stall(reply: FacadeReply): { readonly stalled: WatchStream; readonly written: Promise<void> } {
  if (!('write' in reply)) throw new Error('not a stream');
  const stalled = new WatchStream();
  stalled.isStalled = true;
  stalled.once('close', () => reply.onClosed?.());
  return { stalled, written: writeReply(reply, stalled) };
}

describe('list', () => {
  it('returns a ClusterList of the visible clusters, each with apiVersion and kind', async () => {
    const { text } = await replica.get('fieldSelector=metadata.name%3Da', ADMIN);
    expect(text).toBe(
      '{"apiVersion":"registry.purser.dev/v1alpha1","items":[{"apiVersion":"registry.purser.dev/v1alpha1","kind":"Cluster",' +
        '"metadata":{"labels":{"env":"prod"},"name":"a","resourceVersion":"10100000001","uid":"uid-101"},' +
        '"spec":{"orchestratorApiEndpoints":{"serverEndpoints":[{"clientCIDR":"0.0.0.0/0","serverAddress":"https://10.0.0.1"}]}}}],' +
        '"kind":"ClusterList","metadata":{"continue":"","resourceVersion":"10900000001","selfLink":"/auth/v1/clusters"}}\n',
    );
    expect(await namesOf('', ALICE)).toEqual(['a', 'c', 'd']);
  });

  it('returns an empty list to a caller without permissions', async () => {
    const { status, text } = await replica.get('', UNPRIVILEGED);
    expect(status).toBe(200);
    expect(text).toMatch(/"items":\[\],"kind":"ClusterList","metadata":\{"continue":"","resourceVersion":"\d+","selfLink"/);
  });

  it('returns a constant version to a caller who sees no cluster', async () => {
    const before = (await replica.get('', UNPRIVILEGED)).text;
    hub.putCluster('a', { env: 'dev' });
    hub.clusters.delete('b');
    await replica.catchUp();
    const { resourceVersion } = (await replica.get('', ADMIN)).body.metadata;
    expect((await replica.get('', UNPRIVILEGED)).text).toBe(before);
    const later = (await replica.get(`resourceVersion=${resourceVersion}`, UNPRIVILEGED)).body.metadata;
    expect(parseFacadeVersion(BigInt(later.resourceVersion)).revision).toBe(parseFacadeVersion(BigInt(resourceVersion)).revision);
  });

  it('does not disclose the current version in a 504 to a caller who sees no cluster', async () => {
    const request = async () => {
      const waiting = replica.get('resourceVersion=8999999999999999999', UNPRIVILEGED);
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
  ])('selects visible clusters by %s', async (query, admins, alices) => {
    expect(await namesOf(query)).toEqual(admins);
    expect(await namesOf(query, ALICE)).toEqual(alices);
  });

  const numbered = (count: number, part: (index: number) => string) => Array.from({ length: count }, (_, index) => part(index)).join(',');
  const REMEDY = '; send several requests with smaller selectors, or filter the response';

  it.each([
    ['labelSelector', '!a'.repeat(513), 'labelSelector: Too long: may not be more than 1024 bytes'],
    ['labelSelector', numbered(33, (index) => `!k${index}`), 'labelSelector, fieldSelector: Too many: 33: must have at most 32 items'],
    [
      'labelSelector',
      `env in (${numbered(65, String)})`,
      'values of labelSelector, fieldSelector: Too many: 65: must have at most 64 items',
    ],
    ['fieldSelector', `metadata.name!=${'é'.repeat(600)}`, 'fieldSelector: Too long: may not be more than 1024 bytes'],
    [
      'fieldSelector',
      numbered(33, (index) => `metadata.name!=${index}`),
      'labelSelector, fieldSelector: Too many: 33: must have at most 32 items',
    ],
  ])('returns 400 for selectors above the limits: %s %#', async (parameter, selector, cause) => {
    for (const watch of ['', '&watch=true']) {
      const query = `${parameter}=${encodeURIComponent(selector)}${watch}`;
      expect(await replica.get(query, ADMIN)).toMatchObject({ status: 400, body: { reason: 'BadRequest', message: cause + REMEDY } });
    }
  });

  it.each([
    ['labelSelector', numbered(32, (index) => `!k${index}`), 5],
    ['labelSelector', `env in (${numbered(63, String)},prod)`, 3],
    ['fieldSelector', numbered(32, (index) => `metadata.name!=${index}`), 5],
  ])('accepts selectors at the limits: %s %#', async (parameter, selector, count) => {
    expect(await namesOf(`${parameter}=${encodeURIComponent(selector)}`)).toHaveLength(count);
  });

  it('returns the same items with and without a selector that matches all clusters', async () => {
    const whole = await replica.get('', ADMIN);
    const single = await replica.get('fieldSelector=metadata.name!%3Dx', ADMIN);
    expect(single.text).toBe(whole.text);
    hub.putCluster('b', { env: 'test' });
    hub.clusters.delete('c');
    await replica.catchUp();
    expect((await replica.get('', ADMIN)).text).toBe((await replica.get('fieldSelector=metadata.name!%3Dx', ADMIN)).text);
  });

  it('returns versions with the hub’s revisions, which are the same on all replicas', async () => {
    const { body } = await replica.get('', ALICE);
    const { fingerprint } = parseFacadeVersion(BigInt(body.metadata.resourceVersion));
    expect(fingerprint).toBeGreaterThan(1);
    expect(body.items.map(({ metadata }) => parseFacadeVersion(BigInt(metadata.resourceVersion)))).toEqual([
      { revision: 101, sequence: 0, fingerprint },
      { revision: 103, sequence: 0, fingerprint },
      { revision: 104, sequence: 0, fingerprint },
    ]);
    expect((await new Replica(hub).get('', ALICE)).text).toBe((await replica.get('', ALICE)).text);
  });

  it('returns 503 while the hub does not review permissions', async () => {
    hub.isDown = true;
    expect(await replica.get('', ALICE)).toMatchObject({ status: 503 });
    expect(await replica.get('', ADMIN)).toMatchObject({ status: 200 });
    hub.isDown = false;
    expect(await replica.get('', ALICE)).toMatchObject({ status: 200 });
  });

  it('returns 504 if the hub does not review permissions within timeoutSeconds', async () => {
    hub.isSilent = true;
    const waiting = replica.get('timeoutSeconds=2', ALICE);
    await settle();
    replica.clock.advance(2_000);
    expect(await waiting).toMatchObject({ status: 504, body: { reason: 'Timeout' } });
    expect(await replica.get('timeoutSeconds=2', ADMIN)).toMatchObject({ status: 200 });
  });

  it('returns 503 before the first list of the hub', async () => {
    const { clusters, roles, bindings } = new Replica(hub);
    const endpoints = createClusterList({ clusters, roles, bindings, hub, clock: replica.clock });
    await expect(endpoints.list(requestOf('', ADMIN))).rejects.toMatchObject({ code: 503 });
  });

  it('caches the decision of other authorizers for ten seconds', async () => {
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

describe('list pages', () => {
  it('returns the same version on all pages while clusters change', async () => {
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

  it('counts remaining visible clusters, and returns no count with a selector', async () => {
    expect((await replica.get('limit=1', ALICE)).body.metadata.remainingItemCount).toBe(2);
    expect((await replica.get('limit=1&labelSelector=env%3Dprod', ALICE)).body.metadata).toMatchObject({ continue: expect.any(String) });
    expect((await replica.get('limit=1&labelSelector=env%3Dprod', ALICE)).body.metadata.remainingItemCount).toBeUndefined();
    expect((await replica.get('limit=3', ALICE)).body.metadata).toMatchObject({ continue: '' });
  });

  it('returns no continue token after the last selected cluster', async () => {
    const { items, metadata } = (await replica.get('limit=1&fieldSelector=metadata.name%3Da', ADMIN)).body;
    expect({ names: items.map((item) => item.metadata.name), continue: metadata.continue }).toEqual({ names: ['a'], continue: '' });
  });

  it('returns 410 with a new continue token if permissions have changed', async () => {
    const first = await replica.get('limit=1', ALICE);
    hub.roles.put('alice', { rules: [viewerRule(['a', 'e'])] });
    await replica.catchUp();
    const second = await replica.get(`limit=5&continue=${first.body.metadata.continue}`, ALICE);
    expect(second).toMatchObject({ status: 410, body: { reason: 'Expired' } });
    const rest = await replica.get(`continue=${second.body.metadata.continue}`, ALICE);
    expect(rest.body.items.map(({ metadata }) => metadata.name)).toEqual(['e']);
    const others = await replica.get(`continue=${first.body.metadata.continue}`, UNPRIVILEGED);
    expect(others.status).toBe(410);
  });

  it.each([
    ['continue=abc', 400, /^invalid continue token: continue key is not valid: /],
    ['continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi94In0', 400, /\.\.\/x$/],
    ['continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0', 410, /too old to display a consistent list/],
  ])('rejects an invalid or expired continue token: %s', async (query, status, message) => {
    expect(await replica.get(query, ADMIN)).toMatchObject({ status, body: { message: expect.stringMatching(message) } });
  });

  it('accepts any number as the limit, and rejects other text', async () => {
    expect(await namesOf('limit=-1')).toHaveLength(5);
    expect(await namesOf('limit=1000000000')).toHaveLength(5);
    expect(await replica.get('limit=abc', ADMIN)).toMatchObject({ status: 400 });
  });
});

describe('list at a version', () => {
  it('returns the exact version of a list while the log has it', async () => {
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

  it('waits three seconds for a future version of a list', async () => {
    const [ahead, later] = [hub.version(1), hub.version(6)];
    const waiting = replica.get(`resourceVersion=${ahead}`, ADMIN);
    await settle();
    hub.putCluster('f');
    await replica.catchUp();
    expect((await waiting).body.items).toHaveLength(6);
    const late = replica.get(`resourceVersion=${later}`, ADMIN);
    await settle();
    replica.clock.advance(3_000);
    expect(await late).toMatchObject({
      status: 504,
      body: { message: `Timeout: Too large resource version: ${later}, current: ${ahead}` },
    });
    const limited = replica.get(`resourceVersion=${later}&timeoutSeconds=1`, ADMIN);
    await settle();
    replica.clock.advance(1_000);
    expect((await limited).status).toBe(504);
  });

  it.each([
    ['that no number of JavaScript can hold', '9007199254740993', 'current: 10900000001$'],
    ['of other permissions', '50000000007', 'current: 10900000001$'],
  ])('repeats the requested version in the 504: a version %s', async (_, version, current) => {
    const late = replica.get(`resourceVersion=${version}`, ADMIN);
    await settle();
    replica.clock.advance(3_000);
    expect((await late).body.message).toMatch(new RegExp(`Too large resource version: ${version}, ${current}`));
  });

  it('uses only the revision of a version that a list with other permissions returned', async () => {
    const { resourceVersion } = (await replica.get('', ALICE)).body.metadata;
    expect(await namesOf(`resourceVersion=${resourceVersion}`)).toHaveLength(5);
  });

  it.each(['abc', '-1', '18446744073709551616'])('rejects a version that is not a number: %s', async (version) => {
    expect(await replica.get(`resourceVersion=${version}`, ADMIN)).toMatchObject({ status: 400 });
  });
});

describe('large lists', () => {
  beforeEach(async () => {
    for (let index = 0; index < 2_000; index++) hub.putCluster(`long-${index}`, {}, `https://${'x'.repeat(1_000)}`);
    await replica.catchUp();
  });

  it('compresses the list for clients that accept gzip', async () => {
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
    await writeReply(reply, sink);
    expect(gunzipSync(Buffer.concat(pieces)).toString()).toBe((await replica.get('', ADMIN)).text);
  });

  it.each([
    ['whole', '', ADMIN],
    ['selected', 'fieldSelector=metadata.name!%3Da', ADMIN],
    ['by names', '', callerOf('many')],
  ])('keeps one slice in memory for a stalled reader: %s', async (_, query, caller) => {
    hub.grant(
      'many',
      Array.from({ length: 2_000 }, (__, index) => `long-${index}`),
      { kind: 'User', name: 'many' },
    );
    await replica.catchUp();
    const reply = await replica.endpoints.list(requestOf(query, caller));
    const { stalled, written } = stall(reply);
    expect(Number(reply.headers['content-length'])).toBeGreaterThan(2_000_000);
    await settle();
    expect(stalled.writableLength).toBeLessThanOrEqual(128 * 1024 + 2_000);
    replica.clock.advance(10_000);
    await written;
    expect(stalled.destroyed).toBe(true);
  });

  it.each([
    ['YAML', 'application/yaml', ''],
    ['a table', TABLE, 'includeObject=Object'],
    ['a table in YAML', TABLE.replace('json', 'yaml'), ''],
    ['metadata', TABLE.replace('Table', 'PartialObjectMetadataList'), ''],
  ])('limits large lists, and closes the connections of stalled readers: %s', async (_, accept, query) => {
    const plain = requestOf(query, ADMIN);
    const request = { ...plain, preferences: { ...plain.preferences, accept } };
    const replies = await Promise.all(Array.from({ length: 8 }, () => replica.endpoints.list(request)));
    await expect(replica.endpoints.list(request)).rejects.toMatchObject({ code: 429 });
    const [reply] = replies as [FacadeReply];
    const { stalled, written } = stall(reply);
    expect(reply.headers['content-type']).toBe(accept.split(';')[0]);
    await settle();
    expect(stalled.writableLength).toBeLessThan(64_000);
    replica.clock.advance(10_000);
    await written;
    expect(stalled.destroyed).toBe(true);
    expect((await replica.endpoints.list(request)).status).toBe(200);
  });

  it('closes the connection of a reader who stalls on a compressed list', async () => {
    const reply = await replica.endpoints.list({ ...requestOf('', ADMIN), header: () => 'gzip' });
    const { stalled, written } = stall(reply);
    await eventually(() => expect(replica.clock.pending).toBe(1));
    replica.clock.advance(10_000);
    await written;
    expect(stalled.destroyed).toBe(true);
    expect(replica.clock.pending).toBe(0);
  });

  it('closes the connection after a large list, to free its buffers', async () => {
    expect((await replica.endpoints.list(requestOf('', ADMIN))).headers['connection']).toBe('close');
    expect((await replica.endpoints.list(requestOf('limit=1', ADMIN))).headers['connection']).toBeUndefined();
  });

  it('closes the connection of a reader who takes one slice in five seconds', async () => {
    const reply = await replica.endpoints.list(requestOf('', ADMIN));
    const { stalled, written } = stall(reply);
    for (let seconds = 0; seconds < 20 && !stalled.destroyed; seconds += 5) {
      await settle();
      stalled.resumeReading();
      stalled.isStalled = true;
      await settle();
      replica.clock.advance(5_000);
    }
    await written;
    expect(stalled.destroyed).toBe(true);
  });

  it('rejects a list with 429 while too many large lists are in progress', async () => {
    const replies = await Promise.all(Array.from({ length: 8 }, () => replica.endpoints.list(requestOf('', ADMIN))));
    await expect(replica.endpoints.list(requestOf('', ADMIN))).rejects.toMatchObject({ code: 429, retryAfterSeconds: 1 });
    expect(await replica.get('limit=1', ADMIN)).toMatchObject({ status: 200 });
    for (const reply of replies) {
      if ('write' in reply) await writeReply(reply, new WatchStream());
      // The client has not read the last slice yet.
      expect(await replica.get('', ADMIN)).toMatchObject({ status: 429 });
    }
    replies[0]?.onClosed?.();
    expect(await replica.get('', ADMIN)).toMatchObject({ status: 200 });
  });

  it.each([
    ['below 1 MiB, which are written in slices', 'limit=700', 8],
    ['below 256 KiB, which are written in one piece', 'limit=150', 12],
    ['pretty-printed', 'limit=35&pretty=true', 64],
  ])('limits the bytes of unread lists of one caller: %s', async (_, query, most) => {
    const open = () => replica.endpoints.list(requestOf(query, ADMIN));
    const opened = await Promise.allSettled(Array.from({ length: 100 }, open));
    const replies = opened.filter((each) => each.status === 'fulfilled').map(({ value }) => value);
    expect(opened.find((each) => each.status === 'rejected')?.reason).toMatchObject({ code: 429, retryAfterSeconds: 1 });
    expect(replies.length).toBeLessThanOrEqual(most);
    replies[0]?.onClosed?.();
    expect((await open()).status).toBe(200);
  });

  it('limits the bytes of unread large clusters of one caller', async () => {
    hub.putCluster('large', {}, `https://${'x'.repeat(500_000)}`);
    await replica.catchUp();
    const open = () => replica.endpoints.get({ ...requestOf('', ADMIN), params: { name: 'large' } });
    const replies = await Promise.all(Array.from({ length: 4 }, open));
    await expect(open()).rejects.toMatchObject({ code: 429 });
    replies[0]?.onClosed?.();
    expect((await open()).status).toBe(200);
  });

  // The limit on requests in progress bounds their memory.
  it('reserves no response memory for short lists', async () => {
    const replies = await Promise.all(Array.from({ length: 500 }, () => replica.endpoints.list(requestOf('limit=20', ADMIN))));
    expect(replies.every(({ onClosed }) => onClosed === undefined)).toBe(true);
  });

  it('returns 429 to a caller with too many large lists across all of its tokens', async () => {
    for (let index = 0; index < 8; index++) await replica.endpoints.list(requestOf('', withToken(ADMIN, index)));
    expect(await replica.get('', withToken(ADMIN, 8))).toMatchObject({ status: 429 });
  });

  it('counts no large list of a caller who disconnects during the review', async () => {
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

  it('yields to other requests while it encodes the items of a list', async () => {
    const clock = new SlowClock();
    const slow = new Replica(hub, clock);
    clock.stepMs = 3;
    let turns = 0;
    const isDone = new Set<boolean>();
    const listed = slow.endpoints.list(requestOf('', ADMIN)).finally(() => isDone.add(true));
    while (isDone.size === 0) {
      await new Promise(setImmediate);
      turns += 1;
    }
    expect(await listed).toMatchObject({ status: 200 });
    // Blocks of up to 256 items.
    expect(turns).toBeGreaterThan(2_000 / 256);
  });

  it('yields to other requests between the slices of a list', async () => {
    const plain = requestOf('', ADMIN);
    const reply = await replica.endpoints.list({ ...plain, preferences: { ...plain.preferences, accept: 'application/yaml' } });
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
      end: () => {},
    };
    await writeReply(reply, fast as unknown as Writable);
    expect(turns.size).toBe(sizes.length);
    expect(Math.max(...sizes)).toBeLessThan(64_000);
  });

  it.each([
    ['many', ''],
    ['one', 'fieldSelector=metadata.name%3Da'],
    ['none', 'fieldSelector=metadata.name%3Dx'],
  ])('pretty-prints a large list slice by slice: %s', async (_, query) => {
    for (const caller of [ADMIN, ALICE]) {
      const compact = await replica.get(query, caller);
      const indented = await replica.get(`${query}&pretty=true`, caller);
      expect(indented.text).toBe(indentJson(compact.text.trimEnd()));
    }
  });

  it('sends the Content-Length of a large list', async () => {
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

describe('get', () => {
  it('returns one cluster as the list contains it', async () => {
    const { body } = await replica.get('', ALICE);
    expect(JSON.parse((await replica.getOne('c', ALICE)).text)).toEqual(body.items[1]);
  });

  it('returns the same 404 for a hidden and a missing cluster', async () => {
    const hidden = await replica.getOne('b', ALICE);
    const missing = await replica.getOne('x', ALICE);
    expect(hidden.status).toBe(404);
    expect(hidden.text.replaceAll('"b', '"x').replaceAll('\\"b', '\\"x')).toBe(missing.text);
  });

  it.each([
    ['abc', 'invalid syntax'],
    ['-1', 'invalid syntax'],
    ['18446744073709551616', 'value out of range'],
  ])('returns 400 for a get with a version that is not a number: %s', async (version, why) => {
    const { status, body } = await replica.getOne('a', ADMIN, { query: `resourceVersion=${version}` });
    const message = `resourceVersion: Invalid value: "${version}": strconv.ParseUint: parsing "${version}": ${why}`;
    expect([status, body.reason, body.message]).toEqual([400, 'BadRequest', message]);
  });

  it('returns 400 for a get as PartialObjectMetadataList', async () => {
    const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
    const { status, body } = await replica.getOne('a', ADMIN, { accept });
    expect([status, body.reason, body.message]).toEqual([400, 'BadRequest', 'content is not a list']);
    expect((await replica.getOne('x', ADMIN, { accept })).status).toBe(404);
  });
});

describe('list cost', () => {
  it('sends one review for a list of any number of clusters', async () => {
    for (let index = 0; index < 1_000; index++) hub.putCluster(`many-${index}`);
    hub.roles.put('alice', { rules: [viewerRule(['many-1', 'many-7'])] });
    await replica.catchUp();
    expect(await namesOf('', ALICE)).toEqual(['many-1', 'many-7']);
    expect((await replica.get('', ALICE)).body.metadata.remainingItemCount).toBeUndefined();
    expect(hub.reviews).toBe(1);
  });
});

describe('list with invalid selectors', () => {
  it.each([
    ['an open bracket', 'a in (b'],
    ['a megabyte', 'x'.repeat(1 << 20)],
    ['many brackets', '('.repeat(100_000)],
    ['a hundred thousand terms with a bad end', `${'a=b,'.repeat(100_000)}=`],
  ])('rejects an invalid selector with little CPU time: %s', async (_, selector) => {
    const before = process.cpuUsage();
    const { status } = await replica.get(`labelSelector=${encodeURIComponent(selector)}`, ADMIN);
    expect(status).toBe(400);
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
  });

  it.each(['spec.x=1', 'metadata.namespace=a', 'status.version!=1'])('rejects a field that is not selectable: %s', async (selector) => {
    expect(await replica.get(`fieldSelector=${encodeURIComponent(selector)}`, ADMIN)).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/^field label not supported: /) },
    });
  });
});
