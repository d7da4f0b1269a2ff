// Rejected token requests: responses, audit lines and metrics.

import { afterEach, describe, expect, it } from '@jest/globals';
import { formatTimestamp } from '../../../src/std/timestamp.ts';
import { eventually } from '../../kube/eventually.ts';
import { FakeClock } from '../../support/clock.ts';
import { registered } from '../../targets/registration.ts';
import { authority, grants } from '../../targets/wire-target.ts';
import { allowingHub, bytesOf, DENIED, FacadeWorld, TOKEN_PATH, TOKEN_REQUEST, VALID_LINES } from '../facade-world.ts';

let world: FacadeWorld;
afterEach(() => world.close());

const lines = () => world.lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => 'audit' in line);
const causesOf = (body: string) =>
  (JSON.parse(body) as { details?: { causes?: { reason: string }[] } }).details?.causes?.map(({ reason }) => reason);

describe('audit line of a rejection', () => {
  it.each([
    ['an audience that is not allowed', { settings: { allowedAudiences: ['other'] } }, 422],
    ["the façade's own audience", { settings: { facadeAudiences: ['hub', 'api'] } }, 403],
  ])('records code, audiences and lifetime for %s', async (_case, options, code) => {
    world = await FacadeWorld.start(options);
    expect((await world.post()).status).toBe(code);
    expect(lines()).toEqual([expect.objectContaining({ decision: 'rejected', code, audiences: ['api'], expirationSeconds: 3600 })]);
  });

  it('shortens a long username in the audit line', async () => {
    const user = { username: `eyJhbGciOiJub25lIn0.eyJhbGciOiJub25lIn0.x ${'u'.repeat(1_000)}` };
    world = await FacadeWorld.start({
      hub: allowingHub({ TokenReview: () => ({ authenticated: true, user }), SubjectAccessReview: () => ({ allowed: false }) }),
    });
    expect((await world.post()).status).toBe(403);
    const [line] = lines();
    expect(line?.['user']).toMatch(/^\[redacted\] u{100,256}$/);
  });
});

describe('audit line of an early rejection', () => {
  const serviceAccount = { cluster: 'prod-eu', namespace: 'deploy', serviceAccount: 'deployer' };
  it.each([
    ['a token that is not accepted', { authorization: 'Bearer wrong' }, 401],
    ['a request without a token', { authorization: '' }, 401],
    ['a request with an impersonation header', { 'impersonate-user': 'root' }, 400],
  ])('records %s without a user', async (_case, headers, code) => {
    world = await FacadeWorld.start();
    expect((await world.post(TOKEN_REQUEST, { headers })).status).toBe(code);
    expect(lines()).toEqual([expect.objectContaining({ decision: 'rejected', code, ...serviceAccount })]);
    expect(lines()[0]).not.toHaveProperty('user');
  });

  it('records a request whose TokenReview fails', async () => {
    world = await FacadeWorld.start({ hub: (_request, reply) => reply.json(500, {}) });
    expect((await world.post()).status).toBe(503);
    expect(lines()).toEqual([expect.objectContaining({ decision: 'rejected', code: 503, ...serviceAccount })]);
  });

  it('records the user who exceeds the rate', async () => {
    world = await FacadeWorld.start({ clock: new FakeClock(Date.now()), settings: { facadeRate: 1 } });
    for (let count = 0; count < 3; count++) await world.post();
    expect(lines().at(-1)).toMatchObject({ decision: 'rejected', code: 429, user: 'alice', ...serviceAccount });
  });

  it('records no audit line for another method, another path or an invalid name', async () => {
    world = await FacadeWorld.start();
    expect((await world.request('GET', TOKEN_PATH)).status).toBe(401);
    expect((await world.request('POST', '/auth/v1/clusters')).status).toBe(401);
    expect((await world.post(TOKEN_REQUEST, { path: TOKEN_PATH.replace('deploy/', 'No-Name/') })).status).toBe(404);
    expect(lines()).toEqual([]);
  });

  it('limits the audit lines of unauthenticated requests, and records the number of suppressed lines', async () => {
    const clock = new FakeClock(Date.now());
    world = await FacadeWorld.start({ clock });
    const flood = (count: number) =>
      Promise.all(Array.from({ length: count }, () => world.post(TOKEN_REQUEST, { headers: { authorization: '' } })));
    await flood(150);
    expect(lines()).toHaveLength(100);
    expect((await world.post(TOKEN_REQUEST, { headers: { authorization: `Bearer ${DENIED}` } })).status).toBe(403);
    expect(lines()).toHaveLength(101);
    clock.advance(1_000);
    await flood(1);
    expect(lines().at(-1)).toMatchObject({ decision: 'rejected', code: 401, suppressed: 50 });
  });
});

describe('timeout parameter', () => {
  it('returns 504 when the timeout parameter expires and the target has not responded', async () => {
    const clock = new FakeClock(Date.now());
    world = await FacadeWorld.start({ clock, target: () => undefined });
    const response = world.raw(bytesOf({ target: `${TOKEN_PATH}?timeout=1s`, lines: VALID_LINES }));
    await eventually(() => expect(world.tokenRequests).toHaveLength(1));
    clock.advance(1_000);
    expect((await response).text).toMatch(/^HTTP\/1.1 504 /);
    expect(lines()).toEqual([expect.objectContaining({ decision: 'rejected', code: 504, reason: 'Timeout' })]);
    expect(world.lines.join()).not.toContain('unexpected error');
  });
});

describe('metrics of a failed target', () => {
  const reasons = async () => [...((await world.scrape()).get('purser_token_issuances_total')?.samples.keys() ?? [])].join();

  it('records the reason of an untrusted response in metrics', async () => {
    world = await FacadeWorld.start({ target: grants({ claims: { aud: ['others'] } }) });
    expect((await world.post()).status).toBe(503);
    expect(await reasons()).toContain('ResponseUntrusted');
  });

  it('records the reason of an unreachable cluster in metrics', async () => {
    world = await FacadeWorld.start({ target: (_request, reply) => reply.reset() });
    expect((await world.post()).status).toBe(503);
    expect(await reasons()).toContain('ClusterUnreachable');
  });
});

describe('cluster that the controller cannot reach', () => {
  const clock = new FakeClock(Date.now());
  const probed = (status: 'True' | 'False' | 'Unknown', ageMs: number) => {
    const { cluster, ...rest } = registered({ name: 'prod-eu', servers: [world.target.url], ca: authority.certificate });
    const lastHeartbeatTime = formatTimestamp(Math.floor((clock.now() - ageMs) / 1000) * 1000);
    const conditions = [{ type: 'Reachable', status, reason: 'Timeout', message: '', lastHeartbeatTime }];
    world.clusters.set('prod-eu', { ...rest, cluster: { ...cluster, status: { conditions } } });
  };

  it.each([
    ['a token', TOKEN_PATH],
    ['a dry run', `${TOKEN_PATH}?dryRun=All`],
  ])('returns 503 without a request to the target after a recent failed probe: %s', async (_case, path) => {
    world = await FacadeWorld.start({ clock });
    probed('False', 5_000);
    const { status, headers, body } = await world.post(TOKEN_REQUEST, { path });
    expect({ status, causes: causesOf(body) }).toEqual({ status: 503, causes: ['ClusterUnreachable'] });
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(14);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(15);
    expect(world.target.requests).toEqual([]);
  });

  it.each([
    ['False but old', 'False', 21_000],
    ['True', 'True', 0],
    ['Unknown', 'Unknown', 0],
  ] as const)('sends a request to the target if the Reachable condition is %s', async (_case, status, ageMs) => {
    world = await FacadeWorld.start({ clock });
    probed(status, ageMs);
    expect((await world.post()).status).toBe(201);
  });
});

describe('form of the response', () => {
  const as = (kind: string) => ({ headers: { accept: `application/json;as=${kind};v=v1;g=meta.k8s.io`, 'user-agent': 'tester' } });

  it('returns metadata without a token for Accept with PartialObjectMetadata', async () => {
    world = await FacadeWorld.start();
    const { status, body } = await world.post(TOKEN_REQUEST, as('PartialObjectMetadata'));
    expect(status).toBe(201);
    expect(body).toMatch(/^\{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io\/v1","metadata":\{"name":"deployer",[^{}]*\}\}\n?$/);
    expect(body).not.toContain('eyJ');
  });

  it('rejects Accept for lists with 406, and issues no token', async () => {
    world = await FacadeWorld.start();
    const { status, body } = await world.post(TOKEN_REQUEST, as('PartialObjectMetadataList'));
    expect({ status, body: JSON.parse(body) as unknown }).toMatchObject({
      status: 406,
      body: {
        reason: 'NotAcceptable',
        message: 'you requested PartialObjectMetadataList, but the requested object is not a list (*authentication.TokenRequest)',
      },
    });
    expect(world.tokenRequests).toEqual([]);
  });

  it.each([
    ['a token', TOKEN_REQUEST, 201],
    ['an error', { ...TOKEN_REQUEST, spec: {} }, 422],
  ])('returns JSON for Accept with protobuf and JSON: %s', async (_case, request, status) => {
    world = await FacadeWorld.start();
    const accept = 'application/vnd.kubernetes.protobuf,application/json';
    const response = await world.post(request, { headers: { accept } });
    expect([response.status, response.headers['content-type']]).toEqual([status, 'application/json']);
  });

  it('rejects Accept for only protobuf with 406, and lists the supported types', async () => {
    world = await FacadeWorld.start();
    const { status, body } = await world.post(TOKEN_REQUEST, { headers: { accept: 'application/vnd.kubernetes.protobuf' } });
    expect({ status, body: JSON.parse(body) as unknown }).toMatchObject({
      status: 406,
      body: { message: 'only the following media types are accepted: application/json, application/yaml' },
    });
  });
});
