// Limits on connections, requests and metrics.

import { connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../kube/eventually.ts';
import { FakeClock } from '../../support/clock.ts';
import { allOrFirst, onlyExhaustive, scaled } from '../../support/scaled.ts';
import { ALLOWED, allowingHub, bytesOf, FacadeWorld, issuingTarget, type Review, TOKEN_REQUEST } from '../facade-world.ts';
import { isWhole, type RawConnection, responsesIn, statusOf } from '../raw-connection.ts';

let world: FacadeWorld;
afterEach(() => world.close());

const openMany = (count: number) => Promise.all(Array.from({ length: count }, () => world.open()));

/** Sends pipelined requests, 20 on each connection, and collects all responses. */
async function sendMany(requests: readonly Buffer[]) {
  const size = 20;
  const batches = Array.from({ length: Math.ceil(requests.length / size) }, (_, index) => requests.slice(index * size, (index + 1) * size));
  const texts = await Promise.all(
    batches.map((batch) => world.raw(Buffer.concat(batch), { isEnough: (text) => responsesIn(text).length === batch.length })),
  );
  return texts.flatMap(({ text }) => responsesIn(text));
}

const HALF_A_HEAD = 'POST /orchestrator HTTP/1.1\r\nHost: f\r\nX-Slow: ';

describe('silent connections', () => {
  it('closes a connection that sends an incomplete header, or nothing', async () => {
    world = await FacadeWorld.start({ arrivalMs: 3_000 });
    const connections = await openMany(2);
    void connections[0]?.write(HALF_A_HEAD);
    await Promise.all(connections.map(({ closed }) => closed));
    expect(connections.map(statusOf)).toEqual([408, 408]);
  });

  const BATCH = scaled({ full: 100, quick: 10 });

  it.each(
    allOrFirst([
      [3 * BATCH, 'with half a head', HALF_A_HEAD],
      [2 * BATCH, 'without a byte', ''],
    ]),
  )('closes all silent connections, and serves other callers in the meantime: %i %s', async (count, _case, text) => {
    world = await FacadeWorld.start({ arrivalMs: 3_000 });
    const connections: RawConnection[] = [];
    while (connections.length < count) {
      const opened = await openMany(BATCH);
      for (const connection of opened) void connection.write(text);
      connections.push(...opened);
      expect((await world.post()).status).toBe(201);
    }
    await Promise.all(connections.map(({ closed }) => closed));
    expect(connections).toHaveLength(count);
    // Each rejected connection gets a Status.
    expect(new Set(connections.map(statusOf))).toEqual(new Set([408]));
    expect((await world.post()).status).toBe(201);
  });

  it('announces a keep-alive time of 65 seconds', async () => {
    world = await FacadeWorld.start();
    expect((await world.post()).headers['keep-alive']).toBe('timeout=65');
  });

  it('closes an idle connection at the end of the keep-alive time', async () => {
    world = await FacadeWorld.start({ keepAliveMs: 1_000 });
    const connection = await world.open();
    void connection.write(bytesOf());
    expect((await connection.read(isWhole)).text).toMatch(/\r\nkeep-alive: timeout=1\r\n/i);
    await connection.closed;
    expect(responsesIn(connection.text).map(({ status }) => status)).toEqual([201]);
  });

  it('closes waiting connections above the limit, and serves new callers', async () => {
    world = await FacadeWorld.start({ connections: { waiting: 3, total: 16 } });
    const connections: RawConnection[] = [];
    for (let count = 0; count < 20; count++) connections.push(await world.open());
    expect((await world.post()).status).toBe(201);
    await eventually(() => expect(connections.filter(({ isClosed }) => !isClosed).length).toBeLessThanOrEqual(3));
    for (const connection of connections) connection.destroy();
  });

  it('closes no connection of an address with few connections', async () => {
    world = await FacadeWorld.start({ connections: { waiting: 5, total: 16 } });
    const other = await world.open({ localAddress: '127.0.0.2' });
    const connections: RawConnection[] = [];
    for (let count = 0; count < 20; count++) connections.push(await world.open());
    void other.write(bytesOf());
    expect(statusOf(await other.read(isWhole))).toBe(201);
    for (const connection of [other, ...connections]) connection.destroy();
  });

  it('serves a caller while more connections than the limit wait for a TLS handshake', async () => {
    world = await FacadeWorld.start({ connections: { waiting: 3, total: 16 } });
    const sockets = Array.from({ length: 40 }, () => connect(world.port, '127.0.0.1').on('error', () => {}));
    expect((await world.post()).status).toBe(201);
    for (const socket of sockets) socket.destroy();
  });

  it('closes an idle connection when a new one exceeds the limit, and none with a request in progress', async () => {
    const held: (() => void)[] = [];
    world = await FacadeWorld.start({
      connections: { waiting: 2, total: 16 },
      target: (_request, reply) =>
        void held.push(() => reply.json(404, { kind: 'Status', status: 'Failure', message: 'gone', reason: 'NotFound', code: 404 })),
    });
    const active = await world.open();
    void active.write(bytesOf());
    await eventually(() => expect(held).toHaveLength(1));
    const idle: Awaited<ReturnType<typeof world.open>>[] = [];
    for (let count = 0; count < 4; count++) {
      const connection = await world.open();
      void connection.write(bytesOf({ method: 'GET', target: '/none', body: '' }));
      await connection.read(isWhole);
      idle.push(connection);
    }
    await eventually(() => expect(idle.filter(({ isClosed }) => isClosed).length).toBeGreaterThanOrEqual(2));
    held[0]?.();
    expect(statusOf(await active.read(isWhole))).toBe(404);
    for (const connection of [active, ...idle]) connection.destroy();
  });
});

describe('floods', () => {
  const withToken = (token: string) =>
    bytesOf({ lines: ['Host: facade.test', `Authorization: Bearer ${token}`, 'Content-Type: application/json'] });
  const tokenReviews = () => world.reviews.filter((review) => review === 'tokenreviews').length;

  it('reviews unknown tokens at a limited rate, and serves known callers in the meantime', async () => {
    const clock = new FakeClock(Date.now());
    world = await FacadeWorld.start({
      clock,
      hub: allowingHub({
        TokenReview: ({ spec: { token } }) =>
          token.startsWith('random') ? { user: {} } : { authenticated: true, user: { username: 'alice' } },
      }),
    });
    expect((await world.post()).status).toBe(201);
    const reviewCounts: number[] = [];
    for (let second = 0; second < 5; second++) {
      const before = tokenReviews();
      const responses = await sendMany(Array.from({ length: 200 }, (_, index) => withToken(`random-${second}-${index}`)));
      reviewCounts.push(tokenReviews() - before);
      const rejected = responses.filter(({ status }) => status === 429);
      expect(responses.filter(({ status }) => status === 401)).toHaveLength(reviewCounts.at(-1) ?? 0);
      expect(rejected).toHaveLength(200 - (reviewCounts.at(-1) ?? 0));
      expect(new Set(rejected.map(({ headers }) => headers['retry-after']))).toEqual(new Set(['1']));
      // A new token from another address is not delayed.
      const unknown = await world.raw(withToken(`new-${second}`), { localAddress: '127.0.0.2' });
      expect(statusOf(unknown)).toBe(201);
      clock.advance(1_000);
    }
    // The allowance and the burst of an address, then its rate and the part of the allowance that returns with time.
    expect(reviewCounts[0]).toBeLessThanOrEqual(45);
    for (const reviews of reviewCounts.slice(1)) expect(reviews).toBeLessThanOrEqual(10);

    // A known token is reviewed again, even when the limit for unknown tokens is exhausted.
    clock.advance(5_000);
    await sendMany(Array.from({ length: 100 }, (_, index) => withToken(`random-10-${index}`)));
    const before = tokenReviews();
    expect((await world.post(TOKEN_REQUEST, { headers: { authorization: 'Bearer new' } })).status).toBe(429);
    expect(tokenReviews()).toBe(before);
    expect((await world.post()).status).toBe(201);
    expect(tokenReviews()).toBe(before + 1);

    // A new token from the same address is accepted on a retry.
    clock.advance(1_000);
    expect((await world.post(TOKEN_REQUEST, { headers: { authorization: 'Bearer new' } })).status).toBe(201);
  });

  it.each([
    ['one user', () => 'greedy'],
    ['the service accounts in one namespace', (index: number) => `system:serviceaccount:greedy:robot-${index}`],
  ])('serves eight requests of one caller at a time, and delays no other caller: %s', async (_case, usernameOf) => {
    const held: (() => void)[] = [];
    let isHeld = true;
    const usernames = new Map(Array.from({ length: 25 }, (_, index) => [`greedy-${index}`, usernameOf(index)]));
    // With real time, held requests would time out on a busy machine before the queue is full.
    world = await FacadeWorld.start({
      clock: new FakeClock(Date.now()),
      hub: allowingHub({
        TokenReview: ({ spec: { token } }) => ({ authenticated: true, user: { username: usernames.get(token) ?? token } }),
        SubjectAccessReview: () => ({ allowed: true }),
      }),
      target: (request, reply) => {
        const response = () => void issuingTarget()(request, reply);
        if (isHeld) held.push(response);
        else response();
      },
    });
    const flood = Array.from({ length: 100 }, (_, index) => world.raw(withToken(`greedy-${index % 25}`)));
    await eventually(() => expect(held.length).toBeGreaterThanOrEqual(8));
    let rejected = 0;
    for (const each of flood) void each.then((response) => (rejected += statusOf(response) === 429 ? 1 : 0));
    await eventually(() => expect(rejected).toBe(28));
    isHeld = false;
    expect(statusOf(await world.raw(withToken('polite')))).toBe(201);
    expect(held).toHaveLength(8);
    for (const response of held) response();
    const codes = (await Promise.all(flood)).map(statusOf);
    expect(codes.filter((code) => code === 201)).toHaveLength(72);
    expect(codes.filter((code) => code === 429)).toHaveLength(28);
  });

  it('limits the service accounts in one namespace together to --facade-rate', async () => {
    const clock = new FakeClock(Date.now());
    const username = ({ spec: { token } }: Review) => ({
      authenticated: true,
      user: { username: `system:serviceaccount:${token.replace('.', ':')}` },
    });
    const hub = allowingHub({ TokenReview: username, SubjectAccessReview: () => ({ allowed: true }) });
    world = await FacadeWorld.start({ clock, hub, settings: { facadePort: 0, facadeRate: 5 } });
    const statusFor = async (token: string) => (await world.post(TOKEN_REQUEST, { headers: { authorization: `Bearer ${token}` } })).status;
    const statuses = await Promise.all(Array.from({ length: 12 }, (_, index) => statusFor(`team-a.robot-${index}`)));
    expect(statuses.filter((status) => status === 201)).toHaveLength(10);
    expect(await statusFor('team-b.robot-0')).toBe(201);
  });

  it('limits one caller to --facade-rate', async () => {
    const clock = new FakeClock(Date.now());
    world = await FacadeWorld.start({ clock, settings: { facadePort: 0, facadeRate: 5 } });
    const responses = await Promise.all(Array.from({ length: 12 }, () => world.post()));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(10);
    const rejected = responses.find(({ status }) => status === 429);
    expect(rejected?.headers['retry-after']).toBe('1');
    expect(JSON.parse(rejected?.body ?? '')).toMatchObject({ kind: 'Status', reason: 'TooManyRequests' });
    clock.advance(1_000);
    expect((await world.post()).status).toBe(201);
  });
});

describe('metrics', () => {
  const KINDS = 200;
  const ROUND = scaled({ full: 900, quick: 200 });
  const COUNT = KINDS + 2 * ROUND;

  onlyExhaustive(() => {
    it(`adds no metric series for ${COUNT} requests with invented names`, async () => {
      const username = ({ spec: { token } }: Review) => ({ authenticated: true, user: { username: token } });
      // No request may be rejected for its rate.
      const clock = new FakeClock(Date.now());
      world = await FacadeWorld.start({
        clock,
        hub: allowingHub({ TokenReview: username, SubjectAccessReview: ({ spec }) => ({ allowed: !spec.user.startsWith('poor') }) }),
      });
      const round = async (from: number, count: number) => {
        const responses = await sendMany(Array.from({ length: count }, (_, index) => inventedRequest(from + index)));
        expect(responses).toHaveLength(count);
      };
      // Node's own metrics depend on open handles.
      const series = async () =>
        [...(await world.scrape())]
          .filter(([name]) => name.startsWith('purser_'))
          .flatMap(([name, { samples }]) => [...samples.keys()].map((labels) => `${name} ${labels}`));
      await round(0, KINDS);
      const before = await series();
      for (let from = KINDS; from < COUNT; from += ROUND) {
        clock.advance(1_000);
        await round(from, ROUND);
      }
      expect(await series()).toEqual(before);
    });
  });

  /** Requests with distinct paths, of several kinds. */
  function inventedRequest(number: number) {
    const path = (cluster: string, name: string) => `/orchestrator/${cluster}/api/v1/namespaces/deploy/serviceaccounts/${name}/token`;
    const paths = [
      `/x-${number}`,
      path(`cluster-${number}`, 'deployer'),
      path('prod-eu', `name-${number}`),
      path('prod-eu', `Bad-${number}`),
      `${path('prod-eu', 'deployer')}?x=${number}`,
      `${path('prod-eu', 'deployer')}?dryRun=${number}`,
      `/%zz${number}`,
      `/auth/v1/clusters/c-${number}`,
      `/orchestrator/${number}`,
      path(`cluster-${number}`, `name-${number}`),
    ];
    const user = number % 100 < 10 ? `poor-${number}` : `user-${number % 100}`;
    const method = number % KINDS < 100 ? 'POST' : 'PUT';
    const lines = ['Host: facade.test', `Authorization: Bearer ${user}`, 'Content-Type: application/json'];
    return bytesOf({ method, target: paths[number % paths.length] ?? '', lines });
  }
});

describe('paths that are not served', () => {
  it.each(['/debug', '/debug/pprof', '/healthz?verbose', '/json/list', '/metrics', '/', '/api', '/apis', '/version'])(
    'returns 404 to authenticated callers and 401 to others: %s',
    async (path) => {
      world = await FacadeWorld.start();
      expect((await world.request('GET', path)).status).toBe(401);
      const { status, body } = await world.request('GET', path, { headers: { authorization: `Bearer ${ALLOWED}` } });
      expect({ status, body: JSON.parse(body) as unknown }).toMatchObject({ status: 404, body: { kind: 'Status' } });
    },
  );
});

describe('shutdown', () => {
  it('finishes requests in progress, and accepts no connections after the façade has stopped', async () => {
    const held: (() => void)[] = [];
    world = await FacadeWorld.start({
      target: (_request, reply) =>
        void held.push(() => reply.json(404, { kind: 'Status', status: 'Failure', message: 'gone', reason: 'NotFound', code: 404 })),
    });
    const response = world.post();
    await eventually(() => expect(held).toHaveLength(1));
    const stopped = world.stop(20_000);
    held[0]?.();
    expect((await response).status).toBe(404);
    await stopped;
    await expect(world.post()).rejects.toThrow(/ECONNREFUSED|ECONNRESET|hang up/);
  });
});
