// Who may call: cases 1 to 23.

import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../kube/eventually.ts';
import { FakeClock } from '../../support/clock.ts';
import type { WireHandler } from '../../support/wire-server.ts';
import { allows, bytesOf, FacadeWorld, type FacadeWorldOptions, GOOD, POOR, type Review, TOKEN_PATH } from '../facade-world.ts';
import { failureOf, statusOf } from '../raw-connection.ts';

let world: FacadeWorld;
afterEach(() => world.close());

const withHeader = (value: string) =>
  bytesOf({ lines: ['Host: facade.test', `Authorization: ${value}`, 'Content-Type: application/json'] });
const without = (...more: readonly string[]) => bytesOf({ lines: ['Host: facade.test', 'Content-Type: application/json'], more });

describe('a request that is nobody’s', () => {
  it.each([
    ['1: no header', without()],
    ['2: Bearer alone', withHeader('Bearer')],
    ['2: Bearer and a space', withHeader('Bearer ')],
    ['3: more than one space', withHeader('Bearer   f')],
    ['4: Basic', withHeader('Basic YWRtaW46YWRtaW4=')],
    ['4: Negotiate', withHeader('Negotiate YII=')],
    ['6: something behind the token', withHeader(`Bearer ${GOOD} junk`)],
    ['8: a letter outside of ASCII', withHeader('Bearer \u00e9')],
    ['8: a tab', withHeader(`Bearer\t${GOOD}`)],
    ['8: a tab in the token', withHeader('Bearer good\ttoken')],
    ['8: a comma', withHeader(`Bearer ${GOOD},${POOR}`)],
    ['10: a token in the query', bytesOf({ target: `${TOKEN_PATH}?access_token=${GOOD}`, lines: ['Host: facade.test'] })],
    ['10: a token in a cookie', without(`Cookie: token=${GOOD}`)],
    ['10: a token in a subprotocol', without(`Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${GOOD}`)],
    ['23: X-Remote-User', without('X-Remote-User: admin', 'X-Remote-Group: system:masters')],
    ['23: X-Forwarded-User', without('X-Forwarded-User: admin')],
    ['23: X-Forwarded-Client-Cert', without('X-Forwarded-Client-Cert: Subject="CN=admin"')],
    ['24: Impersonate-User', without('Impersonate-User: admin')],
  ])('is refused by 401, and nobody is asked, in case %s', async (_case, bytes) => {
    world = await FacadeWorld.start();
    const answer = await world.raw(bytes);
    expect(statusOf(answer)).toBe(401);
    expect(failureOf(answer)).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Unauthorized',
      reason: 'Unauthorized',
      code: 401,
    });
    expect(answer.text).toMatch(/\r\nwww-authenticate: Bearer\r\n/i);
    expect(answer.text).toMatch(/\r\ncache-control: no-cache, private\r\n/i);
    expect(world.reviews).toEqual([]);
    expect(world.lines.join()).not.toContain(GOOD);
  });
});

describe('a bearer token', () => {
  it('is known in every spelling of Bearer, in case 5', async () => {
    world = await FacadeWorld.start();
    expect(statusOf(await world.raw(withHeader(`bEaReR ${GOOD}`)))).toBe(201);
  });

  it('comes once, in case 7', async () => {
    world = await FacadeWorld.start();
    const answer = await world.raw(bytesOf({ more: [`authorization: Bearer ${POOR}`] }));
    expect(statusOf(answer)).toBe(400);
    expect(world.reviews).toEqual([]);
  });

  it('is not 20 kB long, in case 9', async () => {
    world = await FacadeWorld.start();
    const answer = await world.raw(withHeader(`Bearer ${'x'.repeat(20_000)}`));
    expect(statusOf(answer)).toBe(431);
    expect(failureOf(answer)).toMatchObject({ kind: 'Status', code: 431 });
    expect(world.reviews).toEqual([]);
  });
});

/** The hub answers TokenReviews with this status. */
const reviewed = (status: unknown): FacadeWorldOptions => ({ hub: allows({ TokenReview: () => status }) });
const somebody = { username: 'alice', groups: ['system:authenticated'] };

describe('what the hub says of a token', () => {
  it.each<readonly [string, FacadeWorldOptions]>([
    ['11: it does not know the token', reviewed({ user: {}, error: 'invalid bearer token' })],
    ['15: the user has no name', reviewed({ authenticated: true, user: { username: '' } })],
    ['16: not authenticated, but a user', reviewed({ authenticated: false, user: somebody })],
    ['19: anonymous', reviewed({ authenticated: true, user: { username: 'system:anonymous' } })],
    ['19: unauthenticated', reviewed({ authenticated: true, user: { username: 'x', groups: ['system:unauthenticated'] } })],
    [
      '13: for the API server alone',
      {
        ...reviewed({ authenticated: true, user: somebody, audiences: ['api'] }),
        settings: { facadePort: 0, facadeAudiences: ['facade'] },
      },
    ],
    [
      '14: for no audience',
      { ...reviewed({ authenticated: true, user: somebody, audiences: [] }), settings: { facadePort: 0, facadeAudiences: ['facade'] } },
    ],
    [
      '14: nothing of audiences',
      { ...reviewed({ authenticated: true, user: somebody }), settings: { facadePort: 0, facadeAudiences: ['facade'] } },
    ],
  ])('leads to 401 in case %s', async (_case, options) => {
    world = await FacadeWorld.start(options);
    expect((await world.post()).status).toBe(401);
    expect(world.reviews).toEqual(['tokenreviews']);
  });

  it('is asked with the audiences that are demanded, in case 13', async () => {
    world = await FacadeWorld.start({
      ...reviewed({ authenticated: true, user: somebody, audiences: ['facade'] }),
      settings: { facadePort: 0, facadeAudiences: ['facade', 'other'] },
    });
    expect((await world.post()).status).toBe(201);
    expect(JSON.parse(world.hub.requests[0]?.body ?? '')).toMatchObject({ spec: { token: GOOD, audiences: ['facade', 'other'] } });
  });

  const answered = (handler: WireHandler): FacadeWorldOptions => ({ hub: handler });
  it.each<readonly [string, FacadeWorldOptions]>([
    ['17: authenticated is a text', reviewed({ authenticated: 'true', user: somebody })],
    ['17: authenticated is a number', reviewed({ authenticated: 1, user: somebody })],
    ['17: groups are a text', reviewed({ authenticated: true, user: { username: 'alice', groups: 'system:masters' } })],
    ['17: no status', answered((_request, reply) => reply.json(201, { kind: 'TokenReview' }))],
    ['17: a page', answered((_request, reply) => reply.text(200, '<html></html>', { 'content-type': 'text/html' }))],
    [
      '18: an error',
      answered((_request, reply) => reply.json(500, { kind: 'Status', status: 'Failure', message: 'etcd is gone', code: 500 })),
    ],
    ['18: too many requests', answered((_request, reply) => reply.text(429, '', { 'retry-after': '7' }))],
    ['18: a cut', answered((_request, reply) => reply.reset())],
  ])('leads to 503, and is asked again, in case %s', async (_case, options) => {
    world = await FacadeWorld.start(options);
    for (const reviews of [1, 2]) {
      const { status, headers, body } = await world.post();
      expect({ status, body: JSON.parse(body) as unknown }).toMatchObject({ status: 503, body: { reason: 'ServiceUnavailable' } });
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(world.reviews).toHaveLength(reviews);
    }
  });

  it('is waited for ten seconds, in case 18', async () => {
    const clock = new FakeClock(Date.now());
    world = await FacadeWorld.start({ hub: () => {}, clock });
    let answer: { status: number } | undefined;
    void world.post().then((found) => (answer = found));
    await eventually(() => expect(world.reviews).toHaveLength(1));
    await eventually(() => expect(answer?.status).toBe(503), clock);
  });

  it('counts for ten seconds, in case 20', async () => {
    const clock = new FakeClock(Date.now());
    let isDeleted = false;
    world = await FacadeWorld.start({
      clock,
      hub: allows({ TokenReview: () => (isDeleted ? { user: {}, error: 'deleted' } : { authenticated: true, user: somebody }) }),
    });
    expect((await world.post()).status).toBe(201);
    isDeleted = true;
    clock.advance(9_999);
    expect((await world.post()).status).toBe(201);
    clock.advance(1);
    expect((await world.post()).status).toBe(401);
  });

  it('is asked once for all who ask at once, in case 21', async () => {
    const held: (() => void)[] = [];
    world = await FacadeWorld.start({ hub: (_request, reply) => void held.push(() => reply.text(500, '')) });
    const refusals = (text: string) => text.match(/HTTP\/1\.1 503 /g)?.length ?? 0;
    // All of them in one go on one connection: they are there before the hub has heard of the first.
    const answers = world.raw(Buffer.concat(Array.from({ length: 100 }, () => bytesOf())), { isEnough: (text) => refusals(text) === 100 });
    await eventually(() => expect(held).toHaveLength(1));
    held[0]?.();
    expect(refusals((await answers).text)).toBe(100);
    expect(world.reviews.filter((review) => review === 'tokenreviews')).toHaveLength(1);
  });

  it('is not mixed up between audiences, in case 22', async () => {
    const outcomes: unknown[] = [];
    // The same token each time, in one process.
    for (const [facadeAudiences, audiences] of [
      [['a', 'b'], ['b']],
      [['a,b'], ['a', 'b']],
      [['a', 'b'], ['a,b']],
      [['a,b'], ['a,b']],
    ] as const) {
      const hub = allows({ TokenReview: () => ({ authenticated: true, user: somebody, audiences }) });
      world = await FacadeWorld.start({ hub, settings: { facadeAudiences } });
      const { status } = await world.post();
      const asked = world.hub.requests.map(({ body }) => JSON.parse(body) as Review).filter(({ kind }) => kind === 'TokenReview');
      outcomes.push([status, ...asked.map(({ spec }) => spec.audiences)]);
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
