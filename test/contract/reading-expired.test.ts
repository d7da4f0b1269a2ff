// Lists and watches of expired revisions, after the server has compacted its history.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { createAdmin, definition, messageOf, type ObjectList } from './admin.ts';
import { eventually } from './eventually.ts';
import { contractServer } from './server.ts';
import { watch } from './watch-stream.ts';

const server = contractServer();
const admin = createAdmin(server);
const MAPS = '/api/v1/namespaces/expired/configmaps';
const WIDGETS = '/apis/expired.test/v1/widgets';
const first = new Map<string, ObjectList>();

const COLLECTIONS = [
  ['configmaps', MAPS],
  ['widgets', WIDGETS],
] as const;

beforeAll(async () => {
  await admin.create('/api/v1/namespaces', { metadata: { name: 'expired' } });
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  await admin.define(definition('expired.test', 'Widget', 'Cluster', [{ name: 'v1', served: true, storage: true, schema }]), WIDGETS);
  for (const [, path] of COLLECTIONS) {
    const type = path === MAPS ? {} : { apiVersion: 'expired.test/v1', kind: 'Widget' };
    for (const name of ['a', 'b', 'c', 'd']) await admin.create(path, { ...type, metadata: { name } });
    first.set(path, await admin.list(`${path}?limit=2`));
    await admin.delete(`${path}/c`);
    await admin.create(path, { ...type, metadata: { name: 'e' } });
  }
  await server.forget();
  for (const [, path] of COLLECTIONS) await eventually(async () => void (await admin.list(path)));
});

function firstPage(path: string): ObjectList['metadata'] {
  return (first.get(path) as ObjectList).metadata;
}

const TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, ' +
  'or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an ' +
  'inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

describe.each(COLLECTIONS)('expired revision of %s', (_, path) => {
  it.each(['', '&limit=1', '&resourceVersion=0'])(
    'returns 410 for the next page (query "%s"), with a continue token for the rest at the latest revision',
    async (rest) => {
      const response = await admin.get(`${path}?continue=${firstPage(path).continue}${rest}`);
      const status = JSON.parse(response.body) as ObjectList;
      expect([response.status, status]).toEqual([
        410,
        {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: { continue: expect.any(String) },
          status: 'Failure',
          message: TOO_OLD,
          reason: 'Expired',
          code: 410,
        },
      ]);
      const token = Buffer.from(status.metadata.continue ?? '', 'base64url').toString();
      expect(token).toBe(String.raw`{"v":"meta.k8s.io/v1","rv":-1,"start":"b\u0000"}`);
    },
  );

  it('lists the rest at one new revision with the continue token of the 410 response', async () => {
    const { body } = await admin.get(`${path}?continue=${firstPage(path).continue}`);
    const continueToken = (JSON.parse(body) as ObjectList).metadata.continue;
    const second = await admin.list(`${path}?limit=1&continue=${continueToken}`);
    const third = await admin.list(`${path}?limit=1&continue=${second.metadata.continue}`);
    expect([second, third].map(({ items }) => items[0]?.metadata.name)).toEqual(['d', 'e']);
    expect(second.metadata.remainingItemCount).toBe(1);
    expect(third.metadata.resourceVersion).toBe(second.metadata.resourceVersion);
    expect(Number(second.metadata.resourceVersion)).toBeGreaterThan(Number(firstPage(path).resourceVersion));
  });

  it.each(['resourceVersionMatch=Exact', 'limit=1'])('returns 410 for a list with %s', async (rest) => {
    const response = await admin.get(`${path}?resourceVersion=${firstPage(path).resourceVersion}&${rest}`);
    expect([response.status, messageOf(response)]).toEqual([410, 'The resourceVersion for the provided list is too old.']);
  });

  it.each(['', 'resourceVersionMatch=NotOlderThan'])(
    'returns the latest list if the requested revision is only a minimum (%s)',
    async (rest) => {
      expect(await admin.names(`${path}?resourceVersion=${firstPage(path).resourceVersion}&${rest}`)).toEqual(['a', 'b', 'd', 'e']);
    },
  );

  it('ends a watch from an expired revision with an ERROR event', async () => {
    const old = firstPage(path).resourceVersion;
    const stream = await watch(server, `${path}?watch=1&resourceVersion=${old}`);
    expect(stream.status).toBe(200);
    expect(await stream.all()).toEqual([
      {
        type: 'ERROR',
        object: {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: expect.stringMatching(new RegExp(`^too old resource version: ${old} \\(\\d+\\)$`)),
          reason: 'Expired',
          code: 410,
        },
      },
    ]);
  });

  it('sends the initial state to a watch with sendInitialEvents', async () => {
    const query = `watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1`;
    const stream = await watch(server, `${path}?${query}&resourceVersion=${firstPage(path).resourceVersion}`);
    const events = await stream.events(5);
    stream.close();
    expect(events.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
      'ADDED a',
      'ADDED b',
      'ADDED d',
      'ADDED e',
      'BOOKMARK undefined',
    ]);
  });

  it('sends changes to a watch from the revision of a new list', async () => {
    const { metadata } = await admin.list(path);
    const stream = await watch(server, `${path}?watch=1&resourceVersion=${metadata.resourceVersion}`);
    await admin.patch(`${path}/a`, { metadata: { labels: { seen: 'yes' } } });
    const [event] = await stream.events(1);
    stream.close();
    expect(event).toMatchObject({ type: 'MODIFIED', object: { metadata: { name: 'a', labels: { seen: 'yes' } } } });
  });
});
