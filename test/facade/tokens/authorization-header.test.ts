// Authentication of callers.

import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../kube/eventually.ts';
import { FakeClock } from '../../support/clock.ts';
import type { WireHandler } from '../../support/wire-server.ts';
import { ALLOWED, allowingHub, bytesOf, DENIED, FacadeWorld, type FacadeWorldOptions, type Review, TOKEN_PATH } from '../facade-world.ts';
import { failureOf, statusOf } from '../raw-connection.ts';

let world: FacadeWorld;
afterEach(() => world.close());

const withHeader = (value: string) =>
  bytesOf({ lines: ['Host: facade.test', `Authorization: ${value}`, 'Content-Type: application/json'] });
const without = (...more: readonly string[]) => bytesOf({ lines: ['Host: facade.test', 'Content-Type: application/json'], more });

describe('request without valid credentials', () => {
  it.each([
    ['no header', without()],
    ['Bearer alone', withHeader('Bearer')],
    ['Bearer and a space', withHeader('Bearer ')],
    ['more than one space', withHeader('Bearer   f')],
    ['Basic', withHeader('Basic YWRtaW46YWRtaW4=')],
    ['Negotiate', withHeader('Negotiate YII=')],
    ['text after the token', withHeader(`Bearer ${ALLOWED} junk`)],
    ['a letter outside ASCII', withHeader('Bearer \u00e9')],
    ['a tab', withHeader(`Bearer\t${ALLOWED}`)],
    ['a tab in the token', withHeader('Bearer good\ttoken')],
    ['a comma', withHeader(`Bearer ${ALLOWED},${DENIED}`)],
    ['a token in the query', bytesOf({ target: `${TOKEN_PATH}?access_token=${ALLOWED}`, lines: ['Host: facade.test'] })],
    ['a token in a cookie', without(`Cookie: token=${ALLOWED}`)],
    ['a token in a subprotocol', without(`Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${ALLOWED}`)],
    ['X-Remote-User', without('X-Remote-User: admin', 'X-Remote-Group: system:masters')],
    ['X-Forwarded-User', without('X-Forwarded-User: admin')],
    ['X-Forwarded-Client-Cert', without('X-Forwarded-Client-Cert: Subject="CN=admin"')],
    ['Impersonate-User', without('Impersonate-User: admin')],
  ])('returns 401 for invalid credentials without a review: %s', async (_case, bytes) => {
    world = await FacadeWorld.start();
    const response = await world.raw(bytes);
    expect(statusOf(response)).toBe(401);
    expect(failureOf(response)).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Unauthorized',
      reason: 'Unauthorized',
      code: 401,
    });
    expect(response.text).toMatch(/\r\nwww-authenticate: Bearer\r\n/i);
    expect(response.text).toMatch(/\r\ncache-control: no-cache, private\r\n/i);
    expect(world.reviews).toEqual([]);
    expect(world.lines.join()).not.toContain(ALLOWED);
  });
});

describe('bearer token', () => {
  it('accepts the Bearer scheme in upper and lower case', async () => {
    world = await FacadeWorld.start();
    expect(statusOf(await world.raw(withHeader(`bEaReR ${ALLOWED}`)))).toBe(201);
  });

  it('rejects two Authorization headers with 400', async () => {
    world = await FacadeWorld.start();
    const response = await world.raw(bytesOf({ more: [`authorization: Bearer ${DENIED}`] }));
    expect(statusOf(response)).toBe(400);
    expect(world.reviews).toEqual([]);
  });

  it('rejects a token of 20 kB with 431', async () => {
    world = await FacadeWorld.start();
    const response = await world.raw(withHeader(`Bearer ${'x'.repeat(20_000)}`));
    expect(statusOf(response)).toBe(431);
    expect(failureOf(response)).toMatchObject({ kind: 'Status', code: 431 });
    expect(world.reviews).toEqual([]);
  });
});

/** Returns a hub with this TokenReview status. */
const withReview = (status: unknown): FacadeWorldOptions => ({ hub: allowingHub({ TokenReview: () => status }) });
const ALICE = { username: 'alice', groups: ['system:authenticated'] };

describe('TokenReview on the hub', () => {
  it.each<readonly [string, FacadeWorldOptions]>([
    ['an unknown token', withReview({ user: {}, error: 'invalid bearer token' })],
    ['a user without a name', withReview({ authenticated: true, user: { username: '' } })],
    ['a user who is not authenticated', withReview({ authenticated: false, user: ALICE })],
    ['the anonymous user', withReview({ authenticated: true, user: { username: 'system:anonymous' } })],
    [
      'a user in the group of unauthenticated users',
      withReview({ authenticated: true, user: { username: 'x', groups: ['system:unauthenticated'] } }),
    ],
    [
      'only an audience that the façade does not accept',
      {
        ...withReview({ authenticated: true, user: ALICE, audiences: ['api'] }),
        settings: { facadePort: 0, facadeAudiences: ['facade'] },
      },
    ],
    [
      'an empty list of audiences',
      { ...withReview({ authenticated: true, user: ALICE, audiences: [] }), settings: { facadePort: 0, facadeAudiences: ['facade'] } },
    ],
    [
      'no list of audiences',
      { ...withReview({ authenticated: true, user: ALICE }), settings: { facadePort: 0, facadeAudiences: ['facade'] } },
    ],
  ])('returns 401 for a rejected token: %s', async (_case, options) => {
    world = await FacadeWorld.start(options);
    expect((await world.post()).status).toBe(401);
    expect(world.reviews).toEqual(['tokenreviews']);
  });

  it('sends the accepted audiences in the TokenReview', async () => {
    world = await FacadeWorld.start({
      ...withReview({ authenticated: true, user: ALICE, audiences: ['facade'] }),
      settings: { facadePort: 0, facadeAudiences: ['facade', 'other'] },
    });
    expect((await world.post()).status).toBe(201);
    expect(JSON.parse(world.hub.requests[0]?.body ?? '')).toMatchObject({ spec: { token: ALLOWED, audiences: ['facade', 'other'] } });
  });

  const hubOf = (handler: WireHandler): FacadeWorldOptions => ({ hub: handler });
  it.each<readonly [string, FacadeWorldOptions]>([
    ['authenticated is a string', withReview({ authenticated: 'true', user: ALICE })],
    ['authenticated is a number', withReview({ authenticated: 1, user: ALICE })],
    ['groups is a string', withReview({ authenticated: true, user: { username: 'alice', groups: 'system:masters' } })],
    ['no status', hubOf((_request, reply) => reply.json(201, { kind: 'TokenReview' }))],
    ['an HTML page', hubOf((_request, reply) => reply.text(200, '<html></html>', { 'content-type': 'text/html' }))],
    ['an error', hubOf((_request, reply) => reply.json(500, { kind: 'Status', status: 'Failure', message: 'etcd is gone', code: 500 }))],
    ['too many requests', hubOf((_request, reply) => reply.text(429, '', { 'retry-after': '7' }))],
    ['a reset connection', hubOf((_request, reply) => reply.reset())],
  ])('returns 503 if the TokenReview fails, and reviews the token again: %s', async (_case, options) => {
    world = await FacadeWorld.start(options);
    for (const reviews of [1, 2]) {
      const { status, headers, body } = await world.post();
      expect({ status, body: JSON.parse(body) as unknown }).toMatchObject({ status: 503, body: { reason: 'ServiceUnavailable' } });
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(world.reviews).toHaveLength(reviews);
    }
  });

  it('returns 503 if the hub does not respond to a TokenReview within ten seconds', async () => {
    const clock = new FakeClock(Date.now());
    world = await FacadeWorld.start({ hub: () => {}, clock });
    let response: { status: number } | undefined;
    void world.post().then((found) => (response = found));
    await eventually(() => expect(world.reviews).toHaveLength(1));
    await eventually(() => expect(response?.status).toBe(503), clock);
  });

  it('caches the result of a TokenReview for ten seconds', async () => {
    const clock = new FakeClock(Date.now());
    let isDeleted = false;
    world = await FacadeWorld.start({
      clock,
      hub: allowingHub({ TokenReview: () => (isDeleted ? { user: {}, error: 'deleted' } : { authenticated: true, user: ALICE }) }),
    });
    expect((await world.post()).status).toBe(201);
    isDeleted = true;
    clock.advance(9_999);
    expect((await world.post()).status).toBe(201);
    clock.advance(1);
    expect((await world.post()).status).toBe(401);
  });

  it('sends one TokenReview for concurrent requests', async () => {
    const held: (() => void)[] = [];
    world = await FacadeWorld.start({ hub: (_request, reply) => void held.push(() => reply.text(500, '')) });
    const rejections = (text: string) => text.match(/HTTP\/1\.1 503 /g)?.length ?? 0;
    // Pipelined on one connection, so all arrive before the first review.
    const responses = world.raw(Buffer.concat(Array.from({ length: 32 }, () => bytesOf())), {
      isEnough: (text) => rejections(text) === 32,
    });
    await eventually(() => expect(held).toHaveLength(1));
    held[0]?.();
    expect(rejections((await responses).text)).toBe(32);
    expect(world.reviews.filter((review) => review === 'tokenreviews')).toHaveLength(1);
  });

  it('accepts a token only with one of the accepted audiences, which may contain commas', async () => {
    const outcomes: unknown[] = [];
    // The same token each time, in one process.
    for (const [facadeAudiences, audiences] of [
      [['a', 'b'], ['b']],
      [['a,b'], ['a', 'b']],
      [['a', 'b'], ['a,b']],
      [['a,b'], ['a,b']],
    ] as const) {
      const hub = allowingHub({ TokenReview: () => ({ authenticated: true, user: ALICE, audiences }) });
      world = await FacadeWorld.start({ hub, settings: { facadeAudiences } });
      const { status } = await world.post();
      const reviews = world.hub.requests.map(({ body }) => JSON.parse(body) as Review).filter(({ kind }) => kind === 'TokenReview');
      outcomes.push([status, ...reviews.map(({ spec }) => spec.audiences)]);
      await world.close();
    }
    expect(outcomes).toEqual([
      [201, ['a', 'b']],
      [401, ['a,b']],
      [401, ['a', 'b']],
      [201, ['a,b']],
    ]);
  });
});
