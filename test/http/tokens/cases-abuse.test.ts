// Abuse of resources, and ports beside the door: cases 119 to 124. Who may read the metrics (123) is in test/http/operations, what
// the process does not do (124, 125) in test/deploy. 119 and 121 are played with 100 connections, 122 with 2,000 requests.

import { connect, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createFacadeServer } from '../../../src/http/server.ts';
import { systemClock } from '../../../src/std/clock.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../../src/std/x509/certificates.ts';
import { eventually } from '../../kube/eventually.ts';
import { FakeClock } from '../../support/clock.ts';
import { allows, FacadeWorld, type Review, TOKEN_REQUEST } from '../facade-world.ts';

let world: FacadeWorld;
afterEach(() => world.close());

function open(port: number, text = ''): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  return new Promise((resolve, reject) => {
    socket.on('secureConnect', () => {
      socket.write(text);
      resolve(socket);
    });
    socket.on('error', reject);
  });
}

const closed = (socket: TLSSocket) => new Promise<void>((resolve) => (socket.closed ? resolve() : socket.on('close', () => resolve())));

describe('callers who never come to the point', () => {
  it.each([
    ['119: half a head', 'POST /orchestrator HTTP/1.1\r\nHost: f\r\nX-Slow: '],
    ['121: nothing at all', ''],
  ])(
    'are sent away within ten seconds, and others are served meanwhile, in case %s',
    async (_case, text) => {
      world = await FacadeWorld.start();
      const sockets = await Promise.all(Array.from({ length: 100 }, () => open(world.port, text)));
      const startedAt = performance.now();
      sockets.forEach((socket) => socket.resume());
      expect((await world.post()).status).toBe(201);
      await Promise.all(sockets.map(closed));
      expect(performance.now() - startedAt).toBeLessThan(10_000);
      expect((await world.post()).status).toBe(201);
    },
    40_000,
  );

  it('are kept for 65 seconds after an answer, in case 121', async () => {
    world = await FacadeWorld.start();
    expect((await world.post()).headers['keep-alive']).toBe('timeout=65');
  });

  it('are not more than there is room for, in case 121', async () => {
    world = await FacadeWorld.start();
    const { certificate: cert, key } = issueServerCertificate(createAuthority(Date.now()), LOOPBACK_NAMES, Date.now());
    const server = await createFacadeServer({
      clock: systemClock,
      certificate: { cert, key },
      routes: [],
      documents: [],
      authenticate: () => Promise.reject(new Error('nobody')),
      report: () => {},
      maxConnections: 3,
    });
    const { port } = await server.listen(0, '127.0.0.1');
    const sockets = await Promise.all([open(port), open(port), open(port)]);
    await expect(open(port)).rejects.toThrow(/disconnected|ECONNRESET|hang up/);
    sockets.forEach((socket) => socket.destroy());
    await server.close(0);
  });
});

describe('a flood', () => {
  it('of unknown tokens reaches the hub at a limited rate, in case 120', async () => {
    const clock = new FakeClock(Date.now());
    world = await FacadeWorld.start({ clock, hub: allows() });
    expect((await world.post()).status).toBe(201);
    const flood = (from: number) =>
      Promise.all(
        Array.from({ length: 300 }, (_, index) =>
          world.post(TOKEN_REQUEST, { headers: { authorization: `Bearer random-${from + index}` } }).then(({ status }) => status),
        ),
      );
    const statuses = [...(await flood(0)), ...(await flood(300))];
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    expect(world.reviews.filter((review) => review === 'tokenreviews').length).toBeLessThanOrEqual(400);
    // Whoever is known is served, also when their answer has to be renewed.
    clock.advance(1);
    expect((await world.post()).status).toBe(201);
  }, 30_000);

  it('of requests by one caller is cut to the rate that is set', async () => {
    const clock = new FakeClock(Date.now());
    world = await FacadeWorld.start({ clock, settings: { facadePort: 0, facadeRate: 5 } });
    const answers = await Promise.all(Array.from({ length: 12 }, () => world.post()));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.headers['retry-after']).toBe('1');
    expect(JSON.parse(refused?.body ?? '')).toMatchObject({ kind: 'Status', reason: 'TooManyRequests' });
    clock.advance(1_000);
    expect((await world.post()).status).toBe(201);
  });
});

describe('the metrics', () => {
  it('do not grow by what callers make up, in case 122', async () => {
    const username = ({ spec: { token } }: Review) => ({ authenticated: true, user: { username: token } });
    world = await FacadeWorld.start({
      clock: new FakeClock(Date.now()),
      hub: allows({ TokenReview: username, SubjectAccessReview: ({ spec }) => ({ allowed: !spec.user.startsWith('poor') }) }),
    });
    const round = (from: number, count: number) => Promise.all(Array.from({ length: count }, (_, index) => madeUp(from + index)));
    // Node's own are about what happens to be open.
    const series = async () =>
      [...(await world.scrape())]
        .filter(([name]) => name.startsWith('purser_'))
        .flatMap(([name, { samples }]) => [...samples.keys()].map((labels) => `${name} ${labels}`));
    await round(0, KINDS);
    const before = await series();
    for (let from = KINDS; from < 2_000; from += 100) await round(from, 100);
    expect(await series()).toEqual(before);
  }, 180_000);

  const KINDS = 200;

  /** Requests of so many kinds, of which no two have the same path. */
  function madeUp(number: number) {
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
    return world.request(method, paths[number % paths.length] ?? '', {
      headers: { authorization: `Bearer ${user}`, 'content-type': 'application/json' },
      body: JSON.stringify(TOKEN_REQUEST),
    });
  }
});

describe('doors that are not there', () => {
  it.each(['/debug', '/debug/pprof', '/healthz?verbose', '/json/list', '/metrics', '/', '/api', '/apis', '/version'])(
    'are not found by those who are known, and told to nobody else, in case 124: %s',
    async (path) => {
      world = await FacadeWorld.start();
      expect((await world.request('GET', path)).status).toBe(401);
      const { status, body } = await world.request('GET', path, { headers: { authorization: 'Bearer good-token' } });
      expect({ status, body: JSON.parse(body) as unknown }).toMatchObject({ status: 404, body: { kind: 'Status' } });
    },
  );
});

describe('a façade that stops', () => {
  it('finishes what it has begun, and takes nothing new', async () => {
    const held: (() => void)[] = [];
    world = await FacadeWorld.start({
      target: (_request, reply) =>
        void held.push(() => reply.json(404, { kind: 'Status', status: 'Failure', message: 'gone', reason: 'NotFound', code: 404 })),
    });
    const answer = world.post();
    await eventually(() => expect(held).toHaveLength(1));
    const stopped = world.stop(20_000);
    held[0]?.();
    expect((await answer).status).toBe(404);
    await stopped;
    await expect(world.post()).rejects.toThrow(/ECONNREFUSED|ECONNRESET|hang up/);
  });
});
