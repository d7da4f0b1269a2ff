// Permission: cases 81 to 93. Cases 86, 87, 88 and 90 belong to another model of permissions and are void.

import { afterEach, describe, expect, it } from '@jest/globals';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../../src/std/x509/certificates.ts';
import type { RegisteredCluster } from '../../../src/targets/registered-cluster.ts';
import { eventually } from '../../kube/eventually.ts';
import { FakeClock } from '../../support/clock.ts';
import { startWireServer, type WireReply } from '../../support/wire-server.ts';
import { aCredential, registered } from '../../targets/registration.ts';
import { authority, grants, withIdentity } from '../../targets/wire-target.ts';
import { allows, bytesOf, FacadeWorld, POOR, type Review, TOKEN_PATH, TOKEN_REQUEST } from '../facade-world.ts';
import { statusOf } from '../raw-connection.ts';

let world: FacadeWorld;
afterEach(() => world.close());

const decided = (status: unknown) => ({ hub: allows({ SubjectAccessReview: () => status }) });
const onCluster = (name: string) => ({ path: TOKEN_PATH.replace('prod-eu', name) });

describe('somebody without rights', () => {
  it('cannot tell whether a cluster exists, in case 81', async () => {
    world = await FacadeWorld.start();
    const headers = { authorization: `Bearer ${POOR}` };
    const known = await world.post(TOKEN_REQUEST, { headers });
    const steps = world.reviews.length;
    const unknown = await world.post(TOKEN_REQUEST, { ...onCluster('ghost'), headers });
    expect(known.status).toBe(403);
    expect(unknown.body.replaceAll('ghost', 'prod-eu')).toBe(known.body);
    // The token is known by now; the rest is the same.
    expect(world.reviews.length - steps).toBe(steps - 1);
    // Byte for byte, but for what differs between any two answers.
    const bytes = async (target: string) => {
      const lines = ['Host: facade.test', `Authorization: Bearer ${POOR}`, 'Content-Type: application/json', 'Audit-ID: a'];
      return (await world.raw(bytesOf({ target, lines }))).text.replace(/\r\ndate: [^\r]*/i, '');
    };
    expect(await bytes(onCluster('gone-eu').path)).toBe((await bytes(TOKEN_PATH)).replaceAll('prod-eu', 'gone-eu'));
    expect(world.target.requests).toEqual([]);
    expect(JSON.parse(known.body)).toMatchObject({
      message:
        'serviceaccounts "deployer" is forbidden: User "bob" cannot create resource "serviceaccounts/token" in API group "" in the namespace "deploy": issue clusters/token "prod-eu/deploy/deployer" in registry.purser.dev',
      details: { name: 'deployer', kind: 'serviceaccounts' },
    });
  });

  it('who has rights elsewhere reaches nothing here, in case 82', async () => {
    const may = ({ spec: { resourceAttributes } }: Review) => ({ allowed: resourceAttributes['name'] === 'prod-eu/deploy' });
    world = await FacadeWorld.start({ hub: allows({ SubjectAccessReview: may }) });
    expect((await world.post()).status).toBe(201);
    const { length } = world.target.requests;
    world.clusters.set('other', registered({ name: 'other', uid: 'other', servers: [world.target.url], ca: authority.certificate }));
    expect((await world.post(TOKEN_REQUEST, onCluster('other'))).status).toBe(403);
    expect(world.target.requests).toHaveLength(length);
  });
});

describe('what the hub decides', () => {
  it.each([
    ['83: no, with an error', { allowed: false, evaluationError: 'webhook is gone' }, 403],
    ['83: yes, with an error', { allowed: true, evaluationError: 'webhook is gone' }, 201],
    ['83: yes and no', { allowed: true, denied: true }, 403],
    ['84: nothing', {}, 403],
    ['84: a text', { allowed: 'true' }, 503],
    ['84: a number', { allowed: 1 }, 503],
    ['84: denied by a text', { allowed: true, denied: 'no' }, 503],
  ])('is heeded, in case %s', async (_case, status, code) => {
    world = await FacadeWorld.start(decided(status));
    expect((await world.post()).status).toBe(code);
    expect(world.tokenRequests).toHaveLength(code === 201 ? 1 : 0);
  });

  it('is not made up where there is no status, in case 84', async () => {
    world = await FacadeWorld.start({
      hub: (request, reply) =>
        request.path.endsWith('subjectaccessreviews') ? reply.json(201, { kind: 'SubjectAccessReview' }) : allows()(request, reply),
    });
    expect((await world.post()).status).toBe(503);
    expect((await world.post()).status).toBe(503);
    expect(world.reviews.filter((review) => review === 'subjectaccessreviews')).toHaveLength(2);
  });

  it('is waited for ten seconds, in case 85', async () => {
    const clock = new FakeClock(Date.now());
    world = await FacadeWorld.start({
      clock,
      hub: (request, reply) => (request.path.endsWith('subjectaccessreviews') ? undefined : allows()(request, reply)),
    });
    let status = 0;
    void world.post().then((answer) => (status = answer.status));
    await eventually(() => expect(world.reviews).toHaveLength(2));
    await eventually(() => expect(status).toBe(503), clock);
    expect(world.target.requests).toEqual([]);
  });

  it('counts for ten seconds, in case 89', async () => {
    const clock = new FakeClock(Date.now());
    let allowed = true;
    world = await FacadeWorld.start({ clock, hub: allows({ SubjectAccessReview: () => ({ allowed }) }) });
    expect((await world.post()).status).toBe(201);
    allowed = false;
    clock.advance(9_999);
    expect((await world.post()).status).toBe(201);
    clock.advance(1);
    expect((await world.post()).status).toBe(403);
  });

  it('is asked for the user as the hub described them', async () => {
    const user = { username: 'alice', uid: 'u', groups: ['a, b', 'c\nd', '\u6f22'], extra: { 'x/y': ['1', '2'] } };
    let spec: unknown;
    world = await FacadeWorld.start({
      hub: allows({
        TokenReview: () => ({ authenticated: true, user }),
        SubjectAccessReview: (review) => {
          spec = review.spec;
          return { allowed: true };
        },
      }),
    });
    await world.post();
    expect(spec).toEqual({
      user: 'alice',
      uid: 'u',
      groups: user.groups,
      extra: user.extra,
      resourceAttributes: {
        group: 'registry.purser.dev',
        resource: 'clusters',
        subresource: 'token',
        verb: 'issue',
        name: 'prod-eu/deploy/deployer',
      },
    });
  });

  it('is asked first under the name that allowed it last time', async () => {
    const clock = new FakeClock(Date.now());
    const may = ({ spec: { resourceAttributes } }: Review) => ({ allowed: resourceAttributes['name'] === 'prod-eu' });
    world = await FacadeWorld.start({ clock, hub: allows({ SubjectAccessReview: may }) });
    await world.post();
    expect(world.reviews).toEqual(['tokenreviews', 'subjectaccessreviews', 'subjectaccessreviews', 'subjectaccessreviews']);
    clock.advance(10_000);
    await world.post();
    expect(world.reviews.slice(4)).toEqual(['tokenreviews', 'subjectaccessreviews']);
  });
});

describe('a cluster', () => {
  it('that goes while a token is on its way, in case 91', async () => {
    const held: WireReply[] = [];
    world = await FacadeWorld.start({ target: (_request, reply) => void held.push(reply) });
    const answer = world.post();
    await eventually(() => expect(held).toHaveLength(1));
    const { cluster } = world.clusters.get('prod-eu') as RegisteredCluster;
    world.clusters.delete('prod-eu');
    await world.clients.forget(cluster);
    expect((await answer).status).toBe(503);
    expect(await world.post()).toMatchObject({ status: 404 });
  });

  it('that fails again and again is left alone, in case 92', async () => {
    const clock = new FakeClock(Date.now());
    world = await FacadeWorld.start({ clock, target: (_request, reply) => reply.reset() });
    for (let attempt = 0; attempt < 5; attempt++) expect((await world.post()).status).toBe(503);
    const { length } = world.target.requests;
    const { status, headers, body } = await world.post();
    expect({ status, retryAfter: headers['retry-after'], body: JSON.parse(body) as unknown }).toMatchObject({
      status: 503,
      retryAfter: '5',
      body: { details: { causes: [{ reason: 'CircuitOpen' }] } },
    });
    expect(world.target.requests).toHaveLength(length);
  });

  it('that is made anew elsewhere gets a connection and a credential of its own, in case 93', async () => {
    world = await FacadeWorld.start();
    await world.post();
    const { length } = world.target.requests;
    const anotherAuthority = createAuthority(Date.now());
    const { certificate: cert, key } = issueServerCertificate(anotherAuthority, LOOPBACK_NAMES, Date.now());
    const other = await startWireServer(withIdentity(grants()), { tls: { cert, key } });
    const credential = aCredential({ token: 'another-credential', server: other.url, 'ca.crt': anotherAuthority.certificate });
    const anew = { name: 'prod-eu', uid: 'made-anew', servers: [other.url], ca: anotherAuthority.certificate, credential };
    world.clusters.set('prod-eu', registered(anew));
    expect((await world.post()).status).toBe(201);
    expect(other.requests.map(({ path, headers }) => [path.split('/').at(-1), headers.authorization])).toEqual([
      ['selfsubjectreviews', 'Bearer another-credential'],
      ['token', 'Bearer another-credential'],
    ]);
    // The old one hears nothing more, and nothing is kept open to it.
    expect(world.target.requests).toHaveLength(length);
    await eventually(() => expect(world.target.openConnections).toBe(0));
    await other.close();
  });

  it('that refers to the credential of another cluster gets nothing of it', async () => {
    world = await FacadeWorld.start();
    const dev = registered({
      name: 'dev',
      uid: 'dev',
      servers: [world.target.url],
      ca: authority.certificate,
      credential: world.clusters.get('prod-eu')?.credential ?? null,
    });
    world.clusters.set('dev', dev);
    const answer = await world.post(undefined, { path: TOKEN_PATH.replace('prod-eu', 'dev') });
    expect({ status: answer.status, body: JSON.parse(answer.body) as unknown }).toMatchObject({
      status: 503,
      body: { details: { causes: [{ reason: 'CredentialNotForCluster' }] } },
    });
    expect(answer.body).not.toMatch(/purser-system|127\.0\.0\.1/);
    expect(world.target.requests).toEqual([]);
  });

  it.each(['', '?dryRun=All'])('issues tokens only for namespaces that its credential names: 403 without asking it (%j)', async (query) => {
    world = await FacadeWorld.start();
    const { url } = world.target;
    const credential = aCredential({ token: 'abc', server: url, namespaces: 'team-a' });
    world.clusters.set('prod-eu', registered({ servers: [url], ca: authority.certificate, credential }));
    const answer = await world.post(undefined, { path: `${TOKEN_PATH}${query}` });
    expect(answer.status).toBe(403);
    expect(answer.body).toContain('does not allow service accounts of this namespace');
    expect(world.target.requests).toEqual([]);
  });

  it('that is not registered is not found by those who may have everything', async () => {
    world = await FacadeWorld.start();
    const answer = await world.raw(bytesOf({ target: onCluster('ghost').path }));
    expect(statusOf(answer)).toBe(404);
    expect(answer.text).toContain('clusters.registry.purser.dev \\"ghost\\" not found');
  });
});
