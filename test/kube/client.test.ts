import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type ConfigMap, ConfigMaps, Namespaces } from '../../src/api/resources.ts';
import type { Page } from '../../src/kube/client.ts';
import { TokenReviews } from '../../src/kube/reviews.ts';
import { StatusError } from '../../src/kubernetes/status.ts';
import { FakeClock } from '../support/clock.ts';
import type { WireHandler } from '../support/wire-server.ts';
import { ScriptedCollection } from './scripted-collection.ts';
import { startWireWorld, type WireWorld } from './wire-world.ts';

const NAME = { namespace: 'ns', name: 'a' };
const JWT = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl';

let world: WireWorld;
afterEach(() => world.close());

async function start(handler: WireHandler, options: Parameters<typeof startWireWorld>[2] = {}): Promise<WireWorld> {
  world = await startWireWorld(handler, new FakeClock(), options);
  return world;
}

const STORED = { name: 'a', namespace: 'ns', uid: 'u', resourceVersion: '1' };

const found: WireHandler = (_, reply) => reply.json(200, { metadata: STORED });

async function failure(handler: WireHandler): Promise<unknown> {
  const { client } = await start(handler);
  return client.get(ConfigMaps, NAME).catch((error: unknown) => error);
}

describe('KubeClient', () => {
  it.each([
    ['get', (c: WireWorld['client']) => c.get(ConfigMaps, NAME), 'GET /api/v1/namespaces/ns/configmaps/a'],
    ['list of all namespaces', (c: WireWorld['client']) => c.list(ConfigMaps), 'GET /api/v1/configmaps'],
    [
      'create',
      (c: WireWorld['client']) => c.create(ConfigMaps, { metadata: NAME }),
      'POST /api/v1/namespaces/ns/configmaps?fieldManager=tests',
    ],
    [
      'update',
      (c: WireWorld['client']) => c.update(ConfigMaps, { metadata: NAME }),
      'PUT /api/v1/namespaces/ns/configmaps/a?fieldManager=tests',
    ],
    [
      'dry run of a creation',
      (c: WireWorld['client']) => c.dryRun(ConfigMaps, { metadata: NAME }),
      'POST /api/v1/namespaces/ns/configmaps?dryRun=All&fieldManager=tests',
    ],
    [
      'dry run of an update',
      (c: WireWorld['client']) => c.dryRun(ConfigMaps, { metadata: STORED }),
      'PUT /api/v1/namespaces/ns/configmaps/a?dryRun=All&fieldManager=tests',
    ],
    [
      'updateStatus',
      (c: WireWorld['client']) => c.updateStatus(Namespaces, { metadata: { name: 'x' } }),
      'PUT /api/v1/namespaces/x/status?fieldManager=tests',
    ],
    [
      'forced apply',
      (c: WireWorld['client']) => c.apply(ConfigMaps, { metadata: NAME }, { force: true }),
      'PATCH /api/v1/namespaces/ns/configmaps/a?force=true&fieldManager=tests',
    ],
    ['delete', (c: WireWorld['client']) => c.delete(ConfigMaps, NAME), 'DELETE /api/v1/namespaces/ns/configmaps/a'],
    [
      'createToken',
      (c: WireWorld['client']) => c.createToken(NAME, { audiences: [] }),
      'POST /api/v1/namespaces/ns/serviceaccounts/a/token',
    ],
    [
      'createReview',
      (c: WireWorld['client']) => c.createReview(TokenReviews, { spec: { token: 't' } }),
      'POST /apis/authentication.k8s.io/v1/tokenreviews',
    ],
  ])('sends %s to the path of Kubernetes', async (_, call, expected) => {
    const { client, server } = await start(found);
    await call(client);
    const [request] = server.requests;
    const query = request?.query.toString();
    expect(`${request?.method} ${request?.path}${query ? `?${query}` : ''}`).toBe(expected);
  });

  it.each([
    ['a merge patch', { data: {} }, 'application/merge-patch+json'],
    ['a JSON patch', [{ op: 'remove', path: '/data' }], 'application/json-patch+json'],
  ])('sends %s with its content type', async (_, patch, contentType) => {
    const { client, server } = await start(found);
    await client.patch(ConfigMaps, NAME, patch);
    expect(server.requests[0]?.headers['content-type']).toBe(contentType);
  });

  it('deletes with preconditions and a propagation policy', async () => {
    const { client, server } = await start(found);
    await client.delete(ConfigMaps, NAME, { uid: 'u', resourceVersion: '5', propagation: 'Foreground' });
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual({
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: { uid: 'u', resourceVersion: '5' },
      propagationPolicy: 'Foreground',
    });
  });

  it.each(['', '.', '..'])('never sends a request for an object or a namespace named "%s"', async (name) => {
    const { client, server } = await start(found);
    await expect(client.delete(ConfigMaps, { namespace: 'ns', name })).rejects.toThrow('is not a valid name');
    await expect(client.delete(ConfigMaps, { namespace: name, name: 'a' })).rejects.toThrow(/is not a valid name|needs a namespace/);
    expect(server.requests).toEqual([]);
  });

  it('escapes a name with a slash', async () => {
    const { client, server } = await start(found);
    await client.get(ConfigMaps, { namespace: 'ns', name: 'a/../../secrets/b' });
    expect(server.requests[0]?.path).toBe('/api/v1/namespaces/ns/configmaps/a%2F..%2F..%2Fsecrets%2Fb');
  });

  it.each(['name', 'namespace', 'uid', 'resourceVersion'] as const)('rejects an object without %s', async (field) => {
    const { client } = await start((_, reply) => reply.json(200, { metadata: { ...STORED, [field]: undefined } }));
    await expect(client.get(ConfigMaps, NAME)).rejects.toMatchObject({
      code: 'EBADMSG',
      message: expect.stringContaining('the response is not an object with name, uid and resourceVersion'),
    });
  });

  it('accepts a cluster-scoped object without a namespace', async () => {
    const { namespace: _, ...metadata } = STORED;
    const { client } = await start((_request, reply) => reply.json(200, { metadata }));
    expect(await client.get(Namespaces, { name: 'a' })).toEqual({ metadata });
  });

  describe('KubeClient errors', () => {
    it('throws a StatusError with the Status of the response', async () => {
      const details = { name: 'a', kind: 'configmaps' };
      const status = {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'no',
        reason: 'NotFound',
        details,
        code: 404,
      };
      const error = await failure((_, reply) => reply.json(404, status));
      expect(error).toEqual(new StatusError(JSON.parse(JSON.stringify(status))));
      expect(error).toMatchObject({ status });
    });

    it.each([
      ['text', 503, 'upstream connect error', { reason: 'ServiceUnavailable', message: 'the server responded with status 503' }],
      ['an unknown path', 404, '404 page not found', { reason: 'NotFound', message: 'the server could not find the requested resource' }],
      ['a redirect', 302, '', { reason: undefined, message: 'the server responded with a redirect (302), which Purser does not follow' }],
      [
        'a Status without kind',
        504,
        '{"metadata":{},"status":"Failure","message":"Timeout: x","reason":"Timeout","code":504}',
        { reason: 'Timeout' },
      ],
      ['an unknown reason', 500, '{"status":"Failure","message":"m","reason":"Made Up","code":500}', { reason: undefined, message: 'm' }],
      ['a code that differs from the status code', 500, '{"status":"Failure","message":"m","code":200}', { code: 500 }],
      ['a body that is not a Status', 500, '{"status":{"token":"x"}}', { reason: 'InternalError' }],
    ])('derives the Status from %s', async (_, code, body, expected) => {
      const error = await failure((_request, reply) => reply.text(code, body));
      expect(error).toMatchObject({ name: 'StatusError', code, ...expected });
    });

    it('includes Retry-After in the error', async () => {
      const error = await failure((_, reply) => reply.text(429, 'slow down', { 'retry-after': '9' }));
      expect(error).toMatchObject({ reason: 'TooManyRequests', retryAfterSeconds: 9 });
    });

    it("removes tokens from the server's message", async () => {
      const error = await failure((_, reply) => reply.json(400, { status: 'Failure', message: `bad ${JWT} and opaque-secret`, code: 400 }));
      expect(error).toMatchObject({ message: 'bad [redacted] and [redacted]' });
    });

    it.each([
      ['a long name', { name: 'n'.repeat(9_000) }, { name: 'n'.repeat(4_096) }],
      [
        'a token in a cause',
        { causes: [{ reason: 'r', message: `bad ${JWT}`, field: 'f', more: 'm' }] },
        { causes: [{ reason: 'r', message: 'bad [redacted]', field: 'f' }] },
      ],
      ['fields of the wrong type', { name: 5, causes: [null, 'x'], retryAfterSeconds: 'soon' }, { causes: [{}, {}] }],
      ['a negative retry delay', { retryAfterSeconds: -1 }, {}],
      ['a list', [], {}],
    ])('sanitizes the details of a Status: %s', async (_, sent, details) => {
      const error = await failure((_request, reply) => reply.json(500, { status: 'Failure', message: 'm', details: sent, code: 500 }));
      expect(error).toMatchObject({ status: { message: 'm' } });
      expect((error as StatusError).status.details).toEqual(details);
    });

    it('does not quote an unreadable response', async () => {
      const error = await failure((_, reply) => reply.text(200, `{"status":{"token":"${JWT}`));
      expect(error).toMatchObject({ code: 'EBADMSG' });
      expect(inspect(error)).not.toContain('eyJ');
    });
  });

  describe('KubeClient.list', () => {
    it.each([
      ['null', null],
      ['an object that is not a list', { status: 'Success' }],
      ['items that are not an array', { metadata: {}, items: 'many' }],
      ['an item that is null', { metadata: {}, items: [null] }],
      ['an item without metadata', { metadata: {}, items: [{ data: {} }] }],
      ['an item without a name', { metadata: {}, items: [{ metadata: { ...STORED, name: undefined } }] }],
      ['an item without a uid', { metadata: {}, items: [{ metadata: { ...STORED, uid: '' } }] }],
      ['an item without a resourceVersion', { metadata: {}, items: [{ metadata: { ...STORED, resourceVersion: 7 } }] }],
      ['an item without a namespace', { metadata: {}, items: [{ metadata: { ...STORED, namespace: undefined } }] }],
    ])('rejects %s', async (_, body) => {
      const { client } = await start((_request, reply) => reply.json(200, body));
      await expect(client.list(ConfigMaps)).rejects.toMatchObject({ name: 'TransportError', code: 'EBADMSG' });
    });

    it('treats a list without items as empty', async () => {
      const { client } = await start((_, reply) => reply.json(200, { metadata: { resourceVersion: '7' }, items: null }));
      expect(await client.list(ConfigMaps)).toEqual({ items: [], resourceVersion: '7' });
    });
  });

  describe('KubeClient.pages', () => {
    const itemsOf = async (pages: AsyncIterable<Page<ConfigMap>>) => (await Array.fromAsync(pages)).flatMap(({ items }) => items);

    it('yields the pages of one resource version, and adds the type to the items', async () => {
      const collection = new ScriptedCollection();
      for (let n = 0; n < 7; n += 1) collection.put(`c-${n}`, 'x');
      collection.pageLimit = 3;
      const { client, server } = await start(collection.handler);
      const pages = await Array.fromAsync(client.pages(ConfigMaps, { namespace: 'ns' }));
      expect(pages.map(({ items, resourceVersion }) => [items.length, resourceVersion])).toEqual([
        [3, '107'],
        [3, '107'],
        [1, '107'],
      ]);
      expect(pages.flatMap(({ items }) => items).map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual(
        [0, 1, 2, 3, 4, 5, 6].map((n) => `ConfigMap c-${n}`),
      );
      expect(server.requests).toHaveLength(3);
    });

    it('halves the limit after a page that is too long', async () => {
      const collection = new ScriptedCollection();
      for (let n = 0; n < 8; n += 1) collection.put(`c-${n}`, 'x'.repeat(1_000));
      const { client, server } = await start(collection.handler, { maxBytes: 4_000 });
      expect(await itemsOf(client.pages(ConfigMaps, { limit: 10 }))).toHaveLength(8);
      expect(server.requests.map(({ query }) => Number(query.get('limit')))).toEqual([10, 5, 2, 2, 2, 2]);
    });

    it('throws if a single object is too long', async () => {
      const collection = new ScriptedCollection();
      collection.put('huge', 'x'.repeat(5_000));
      const { client } = await start(collection.handler, { maxBytes: 4_000 });
      await expect(itemsOf(client.pages(ConfigMaps, { limit: 10 }))).rejects.toMatchObject({ code: 'EMSGSIZE' });
    });

    it('throws Expired if the resource version expires before the last page', async () => {
      const collection = new ScriptedCollection();
      for (let n = 0; n < 4; n += 1) collection.put(`c-${n}`, 'x');
      collection.pageLimit = 3;
      const { client } = await start((request, reply) => {
        if (request.query.has('continue')) collection.compact();
        return collection.handler(request, reply);
      });
      await expect(itemsOf(client.pages(ConfigMaps))).rejects.toMatchObject({ reason: 'Expired' });
    });
  });
});
