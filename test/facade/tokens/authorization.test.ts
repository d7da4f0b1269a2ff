// Authorization of callers, and the target clusters that they reach.

import { afterEach, describe, expect, it } from '@jest/globals';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../../src/std/x509/certificates.ts';
import type { RegisteredCluster } from '../../../src/targets/registry.ts';
import { eventually } from '../../kube/eventually.ts';
import { FakeClock } from '../../support/clock.ts';
import { startWireServer, type WireReply } from '../../support/wire-server.ts';
import { aCredential, registered } from '../../targets/registration.ts';
import { authority, grants, withIdentity } from '../../targets/wire-target.ts';
import { allowingHub, bytesOf, DENIED, FacadeWorld, type Review, TOKEN_PATH, TOKEN_REQUEST } from '../facade-world.ts';
import { statusOf } from '../raw-connection.ts';

let world: FacadeWorld;
afterEach(() => world.close());

const withDecision = (status: unknown) => ({ hub: allowingHub({ SubjectAccessReview: () => status }) });
const onCluster = (name: string) => ({ path: TOKEN_PATH.replace('prod-eu', name) });

describe('caller without permission', () => {
  it('returns the same 403 for existing and missing clusters', async () => {
    world = await FacadeWorld.start();
    const headers = { authorization: `Bearer ${DENIED}` };
    const known = await world.post(TOKEN_REQUEST, { headers });
    const reviewCount = world.reviews.length;
    const unknown = await world.post(TOKEN_REQUEST, { ...onCluster('ghost'), headers });
    expect(known.status).toBe(403);
    expect(unknown.body.replaceAll('ghost', 'prod-eu')).toBe(known.body);
    // The second request needs no TokenReview, because the first one is cached.
    expect(world.reviews.length - reviewCount).toBe(reviewCount - 1);
    // Byte for byte, except for headers that differ between any two responses.
    const bytes = async (target: string) => {
      const lines = ['Host: facade.test', `Authorization: Bearer ${DENIED}`, 'Content-Type: application/json', 'Audit-ID: a'];
      return (await world.raw(bytesOf({ target, lines }))).text.replace(/\r\ndate: [^\r]*/i, '');
    };
    expect(await bytes(onCluster('fake-eu').path)).toBe((await bytes(TOKEN_PATH)).replaceAll('prod-eu', 'fake-eu'));
    expect(world.target.requests).toEqual([]);
    expect(JSON.parse(known.body)).toMatchObject({
      message:
        'serviceaccounts "deployer" is forbidden: User "bob" cannot create resource "serviceaccounts/token" in API group "" in the namespace "deploy": issue clusters/token "prod-eu/deploy/deployer" in registry.purser.dev',
      details: { name: 'deployer', kind: 'serviceaccounts' },
    });
  });

  it('returns 403 to a caller with permissions on another cluster', async () => {
    const review = ({ spec: { resourceAttributes } }: Review) => ({ allowed: resourceAttributes['name'] === 'prod-eu/deploy' });
    world = await FacadeWorld.start({ hub: allowingHub({ SubjectAccessReview: review }) });
    expect((await world.post()).status).toBe(201);
    const { length } = world.target.requests;
    world.clusters.set('other', registered({ name: 'other', uid: 'other', servers: [world.target.url], ca: authority.certificate }));
    expect((await world.post(TOKEN_REQUEST, onCluster('other'))).status).toBe(403);
    expect(world.target.requests).toHaveLength(length);
  });
});

describe('token request whose body arrives late', () => {
  it.each([
    ['permission', 'SubjectAccessReview', { allowed: false }, 403],
    ['token', 'TokenReview', { authenticated: false }, 401],
  ] as const)('issues no token after the caller lost the %s', async (_lost, kind, refusal, code) => {
    const clock = new FakeClock(Date.now());
    let isLost = false;
    const review = (accepted: unknown) => () => (isLost ? refusal : accepted);
    const accepted = { SubjectAccessReview: { allowed: true }, TokenReview: { authenticated: true, user: { username: 'alice' } } };
    world = await FacadeWorld.start({ clock, hub: allowingHub({ [kind]: review(accepted[kind]) }) });
    const request = bytesOf({ more: ['Expect: 100-continue'] });
    const connection = await world.open();
    await connection.write(request.subarray(0, -1));
    await connection.read((text) => text.includes('100 Continue'));
    isLost = true;
    clock.advance(10_000);
    await connection.write(request.subarray(-1));
    const { text } = await connection.read((received) => /^HTTP\/1\.1 [2-5]/m.test(received));
    connection.destroy();
    expect(text).toContain(`HTTP/1.1 ${code} `);
    expect(world.tokenRequests).toEqual([]);
  });
});

describe('token request for a protected namespace', () => {
  it('returns 403 to a caller with a permission for the whole cluster, and names the protected namespace', async () => {
    const review = ({ spec: { resourceAttributes } }: Review) => ({ allowed: resourceAttributes['name'] === 'prod-eu' });
    world = await FacadeWorld.start({ hub: allowingHub({ SubjectAccessReview: review }) });
    const path = TOKEN_PATH.replace('/namespaces/deploy/', '/namespaces/kube-system/');
    const { status, body } = await world.post(TOKEN_REQUEST, { path });
    expect({ status, message: (JSON.parse(body) as { message: string }).message }).toEqual({
      status: 403,
      message: expect.stringMatching(
        /in registry\.purser\.dev; namespace kube-system is protected: a rule with resourceNames must name the namespace or the service account$/,
      ),
    });
  });
});

describe('token request for a cluster in a set', () => {
  const SET_LABEL = 'registry.purser.dev/set';

  /** Puts the cluster into a set; an empty name removes the label. */
  function relabel(set: string): void {
    const { cluster, ...rest } = world.clusters.get('prod-eu') as RegisteredCluster;
    const labels = set === '' ? {} : { [SET_LABEL]: set };
    world.clusters.set('prod-eu', { ...rest, cluster: { ...cluster, metadata: { ...cluster.metadata, labels } } });
  }

  const reviewedNames = () =>
    world.hub.requests
      .map(({ body }) => JSON.parse(body) as Review)
      .filter(({ kind }) => kind === 'SubjectAccessReview')
      .map(({ spec }) => spec.resourceAttributes['name']);
  const allowing = (...names: readonly string[]) =>
    allowingHub({ SubjectAccessReview: ({ spec }) => ({ allowed: names.includes(spec.resourceAttributes['name'] ?? '') }) });

  it('issues a token for a permission on a set only while the cluster is in the set, despite the cache', async () => {
    world = await FacadeWorld.start({ clock: new FakeClock(Date.now()), hub: allowing('set:prod/deploy/deployer') });
    relabel('prod');
    expect((await world.post()).status).toBe(201);
    relabel('dev');
    expect((await world.post()).status).toBe(403);
    relabel('');
    expect((await world.post()).status).toBe(403);
    relabel('prod');
    expect((await world.post()).status).toBe(201);
    expect(world.tokenRequests).toHaveLength(2);
  });

  it('sends the same number of reviews and the same 403 for a cluster in a set, in none, and for a missing cluster', async () => {
    world = await FacadeWorld.start();
    world.clusters.set('plain', registered({ name: 'plain', uid: 'plain', servers: [world.target.url], ca: authority.certificate }));
    relabel('prod');
    const headers = { authorization: `Bearer ${DENIED}` };
    const bodies: string[] = [];
    const counts: number[] = [];
    for (const name of ['prod-eu', 'plain', 'ghost']) {
      const before = reviewedNames().length;
      bodies.push((await world.post(TOKEN_REQUEST, { ...onCluster(name), headers })).body.replaceAll(name, 'X'));
      counts.push(reviewedNames().length - before);
    }
    expect(counts).toEqual([6, 6, 6]);
    expect(new Set(bodies).size).toBe(1);
    expect(bodies[0]).not.toContain('set:');
  });

  it('returns 403 for a cluster that leaves the set between the review and the issuance', async () => {
    const held: (() => void)[] = [];
    const hub = allowing('set:prod');
    world = await FacadeWorld.start({
      hub: (request, reply) => {
        const isLast = request.body.includes('"set:prod"');
        if (isLast) held.push(() => void hub(request, reply));
        else void hub(request, reply);
      },
    });
    relabel('prod');
    const response = world.post();
    await eventually(() => expect(held).toHaveLength(1));
    relabel('dev');
    held[0]?.();
    expect((await response).status).toBe(403);
    expect(world.tokenRequests).toEqual([]);
  });

  it('issues no token for the name of a set in the path', async () => {
    world = await FacadeWorld.start();
    relabel('prod');
    for (const name of ['set:prod', 'set%3Aprod']) expect((await world.post(TOKEN_REQUEST, onCluster(name))).status).toBe(404);
    expect(reviewedNames()).toEqual([]);
  });
});

describe('SubjectAccessReview on the hub', () => {
  it.each([
    ['denied, with an error', { allowed: false, evaluationError: 'webhook is gone' }, 403],
    ['allowed, with an error', { allowed: true, evaluationError: 'webhook is gone' }, 201],
    ['allowed and denied', { allowed: true, denied: true }, 403],
    ['an empty status', {}, 403],
    ['allowed is a string', { allowed: 'true' }, 503],
    ['allowed is a number', { allowed: 1 }, 503],
    ['denied is a string', { allowed: true, denied: 'no' }, 503],
  ])('issues a token only if the SubjectAccessReview allows it: %s', async (_case, status, code) => {
    world = await FacadeWorld.start(withDecision(status));
    expect((await world.post()).status).toBe(code);
    expect(world.tokenRequests).toHaveLength(code === 201 ? 1 : 0);
  });

  it('returns 503 for a SubjectAccessReview without a status', async () => {
    world = await FacadeWorld.start({
      hub: (request, reply) =>
        request.path.endsWith('subjectaccessreviews') ? reply.json(201, { kind: 'SubjectAccessReview' }) : allowingHub()(request, reply),
    });
    expect((await world.post()).status).toBe(503);
    expect((await world.post()).status).toBe(503);
    expect(world.reviews.filter((review) => review === 'subjectaccessreviews')).toHaveLength(2);
  });

  it('returns 503 if the hub does not respond to a SubjectAccessReview within ten seconds', async () => {
    const clock = new FakeClock(Date.now());
    world = await FacadeWorld.start({
      clock,
      hub: (request, reply) => (request.path.endsWith('subjectaccessreviews') ? undefined : allowingHub()(request, reply)),
    });
    let status = 0;
    void world.post().then((response) => (status = response.status));
    await eventually(() => expect(world.reviews).toHaveLength(2));
    await eventually(() => expect(status).toBe(503), clock);
    expect(world.target.requests).toEqual([]);
  });

  it('caches the decision of a SubjectAccessReview for ten seconds', async () => {
    const clock = new FakeClock(Date.now());
    let allowed = true;
    world = await FacadeWorld.start({ clock, hub: allowingHub({ SubjectAccessReview: () => ({ allowed }) }) });
    expect((await world.post()).status).toBe(201);
    allowed = false;
    clock.advance(9_999);
    expect((await world.post()).status).toBe(201);
    clock.advance(1);
    expect((await world.post()).status).toBe(403);
  });

  it('sends the user of the TokenReview in the SubjectAccessReview', async () => {
    const user = { username: 'alice', uid: 'u', groups: ['a, b', 'c\nd', '\u6f22'], extra: { 'x/y': ['1', '2'] } };
    let spec: unknown;
    world = await FacadeWorld.start({
      hub: allowingHub({
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

  it('reviews the name that allowed the last request before other names', async () => {
    const clock = new FakeClock(Date.now());
    const review = ({ spec: { resourceAttributes } }: Review) => ({ allowed: resourceAttributes['name'] === 'prod-eu' });
    world = await FacadeWorld.start({ clock, hub: allowingHub({ SubjectAccessReview: review }) });
    await world.post();
    expect(world.reviews).toEqual(['tokenreviews', 'subjectaccessreviews', 'subjectaccessreviews', 'subjectaccessreviews']);
    clock.advance(10_000);
    await world.post();
    expect(world.reviews.slice(4)).toEqual(['tokenreviews', 'subjectaccessreviews']);
  });
});

describe('target cluster', () => {
  it('ends a request with 503 when its Cluster is deleted', async () => {
    const held: WireReply[] = [];
    world = await FacadeWorld.start({ target: (_request, reply) => void held.push(reply) });
    const response = world.post();
    await eventually(() => expect(held).toHaveLength(1));
    const { cluster } = world.clusters.get('prod-eu') as RegisteredCluster;
    world.clusters.delete('prod-eu');
    await world.clients.forget(cluster);
    expect((await response).status).toBe(503);
    expect(await world.post()).toMatchObject({ status: 404 });
  });

  it('sends no request to a target while its circuit is open', async () => {
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

  it('uses a new connection and credential for a re-created Cluster', async () => {
    world = await FacadeWorld.start();
    await world.post();
    const { length } = world.target.requests;
    const anotherAuthority = createAuthority(Date.now());
    const { certificate: cert, key } = issueServerCertificate(anotherAuthority, LOOPBACK_NAMES, Date.now());
    const other = await startWireServer(withIdentity(grants()), { tls: { cert, key } });
    const credential = aCredential({ token: 'another-credential', server: other.url, 'ca.crt': anotherAuthority.certificate });
    const recreated = { name: 'prod-eu', uid: 'recreated', servers: [other.url], ca: anotherAuthority.certificate, credential };
    world.clusters.set('prod-eu', registered(recreated));
    expect((await world.post()).status).toBe(201);
    expect(other.requests.map(({ path, headers }) => [path.split('/').at(-1), headers.authorization])).toEqual([
      ['selfsubjectreviews', 'Bearer another-credential'],
      ['token', 'Bearer another-credential'],
    ]);
    // The old target receives no more requests, and has no open connection.
    expect(world.target.requests).toHaveLength(length);
    await eventually(() => expect(world.target.openConnections).toBe(0));
    await other.close();
  });

  it('sends no credential of another Cluster to the target', async () => {
    world = await FacadeWorld.start();
    const dev = registered({
      name: 'dev',
      uid: 'dev',
      servers: [world.target.url],
      ca: authority.certificate,
      credential: world.clusters.get('prod-eu')?.credential ?? null,
    });
    world.clusters.set('dev', dev);
    const response = await world.post(undefined, { path: TOKEN_PATH.replace('prod-eu', 'dev') });
    expect({ status: response.status, body: JSON.parse(response.body) as unknown }).toMatchObject({
      status: 503,
      body: { details: { causes: [{ reason: 'CredentialNotForCluster' }] } },
    });
    expect(response.body).not.toMatch(/purser-system|127\.0\.0\.1/);
    expect(world.target.requests).toEqual([]);
  });

  it.each(['', '?dryRun=All'])(
    'returns 403 for a namespace that the credential does not allow, without a request to the target (%j)',
    async (query) => {
      world = await FacadeWorld.start();
      const { url } = world.target;
      const credential = aCredential({ token: 'abc', server: url, namespaces: 'team-a' });
      world.clusters.set('prod-eu', registered({ servers: [url], ca: authority.certificate, credential }));
      const response = await world.post(undefined, { path: `${TOKEN_PATH}${query}` });
      expect(response.status).toBe(403);
      expect(response.body).toContain('does not allow the namespace of the service account');
      expect(world.target.requests).toEqual([]);
    },
  );

  it('returns 404 for a missing Cluster to a caller with all permissions', async () => {
    world = await FacadeWorld.start();
    const response = await world.raw(bytesOf({ target: onCluster('ghost').path }));
    expect(statusOf(response)).toBe(404);
    expect(response.text).toContain('clusters.registry.purser.dev \\"ghost\\" not found');
  });
});
