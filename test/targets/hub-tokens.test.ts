// A hub that issues tokens for a service account, and targets that accept them, on the wire.

import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Secret } from '../../src/api/resources.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { ObjectStore } from '../../src/kube/store.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { FederatedAddresses } from '../../src/targets/federated-addresses.ts';
import { parseTokenClaims } from '../../src/targets/policy/token-claims.ts';
import type { RegisteredCluster } from '../../src/targets/registry.ts';
import { reviewOwnUsername } from '../../src/targets/reviews.ts';
import type { Target } from '../../src/targets/target.ts';
import { eventually } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import { startWireServer, type WireHandler, type WireRequest, type WireServer } from '../support/wire-server.ts';
import { aCredential, CREDENTIALS, registered, settings } from './registration.ts';
import { authority, errorStatus, grant, selfSubjectReview, startTarget } from './wire-target.ts';

const SERVICE_ACCOUNT = 'federated';
const SUBJECT = `system:serviceaccount:${CREDENTIALS}:${SERVICE_ACCOUNT}`;
const TOKEN_PATH = `/api/v1/namespaces/${CREDENTIALS}/serviceaccounts/${SERVICE_ACCOUNT}/token`;
const HOUR_MS = 3_600_000;

let clock: FakeClock;
let hub: WireServer;
let target: WireServer;
let other: WireServer;
let client: KubeClient;
let clients: ClusterClients;
/** Purser's user name on the hub. */
let ownUsername: string;
/** Actions that the hub allows the service account. */
let allowed: readonly string[];
/** Number of issued tokens; each token contains it. */
let issued: number;

beforeEach(async () => {
  clock = new FakeClock(Date.now());
  ownUsername = `system:serviceaccount:${CREDENTIALS}:operator`;
  allowed = [];
  issued = 0;
  hub = await startWireServer(respondAsHub);
  target = await startTarget((_, reply) => reply.text(200, 'ok'));
  other = await startTarget((_, reply) => reply.text(200, 'ok'));
  const config = createFixedConfig({ name: 'hub', server: hub.url, skipTLSVerify: false }, { name: 'purser' });
  client = new KubeClient(createTransport(config, { clock: systemClock }), 'tests');
  clients = new ClusterClients(settings(clock, { hub: { client, namespace: CREDENTIALS } }));
});

afterEach(async () => {
  await clients.close();
  await client.transport.close();
  await Promise.all([hub.close(), target.close(), other.close()]);
});

const respondAsHub: WireHandler = (request, reply) => {
  if (request.path.endsWith('/selfsubjectreviews')) return reply.json(201, selfSubjectReview(ownUsername));
  if (request.path.endsWith('/subjectaccessreviews')) {
    const { resourceAttributes } = JSON.parse(request.body).spec;
    const isAllowed = allowed.includes(`${resourceAttributes.verb} ${resourceAttributes.resource}`);
    return reply.json(201, { kind: 'SubjectAccessReview', status: { allowed: isAllowed } });
  }
  // Secrets are not stored in these tests.
  if (request.path !== TOKEN_PATH) return reply.json(500, errorStatus(500, 'no storage'));
  issued += 1;
  const claims = { sub: SUBJECT, iss: 'https://hub.test', jti: `token-${issued}` };
  return grant(request, reply, { claims, now: clock.now(), headers: { date: new Date(clock.now()).toUTCString() } });
};

function federated(servers: readonly string[], keys: Readonly<Record<string, string>> = {}): RegisteredCluster {
  const credential = aCredential({ serviceAccount: SERVICE_ACCOUNT, server: servers.join(' '), ...keys });
  return registered({ uid: servers.join(), servers, ca: authority.certificate, credential });
}

const readiness = (each: Target) => each.call((connection, options) => connection.getText('/readyz', options));
const use = (cluster = federated([target.url])) => clients.use(cluster, readiness);
const tokenRequests = () => hub.requests.filter(({ path }) => path === TOKEN_PATH);

/** Returns the claims of the tokens that a server received, one for each request. */
function received({
  requests,
}: {
  readonly requests: readonly Pick<WireRequest, 'headers'>[];
}): readonly { readonly aud: readonly string[]; readonly jti: string; readonly sub: string }[] {
  return requests.map(({ headers }) => JSON.parse(Buffer.from(headers.authorization?.split('.')[1] ?? '', 'base64url').toString()));
}

describe('ClusterClients with a service account on the hub', () => {
  it('sends a one-hour token whose only audience is the address, exactly as the Secret spells it', async () => {
    const spelled = `${target.url.replace('https://', '')}/`;
    expect(await use(federated([target.url], { server: spelled }))).toBe('ok');
    expect(received(target)).toMatchObject([{ sub: SUBJECT, aud: [`purser:${spelled}`] }]);
    expect(JSON.parse(tokenRequests()[0]?.body ?? '').spec).toEqual({ audiences: [`purser:${spelled}`], expirationSeconds: 3_600 });
  });

  it('sends a different token to each address, including an address with a path', async () => {
    const url = `${other.url}/clusters/one`;
    target.handle((_, reply) => reply.reset());
    const cluster = federated([target.url, url]);
    await use(cluster).catch(() => {});
    await clients.use(cluster, (each) => each.createProber(5_000).call((connection, options) => connection.getText('/readyz', options)));
    expect(new Set(received(target).flatMap(({ aud }) => aud))).toEqual(new Set([`purser:${target.url}`]));
    expect(new Set(received(other).flatMap(({ aud }) => aud))).toEqual(new Set([`purser:${url}`]));
    expect(tokenRequests()).toHaveLength(2);
  });

  it('sends nothing with a Secret whose address another Secret names, until the other Secret is deleted', async () => {
    const store = new ObjectStore<Secret>();
    const federatedAddresses = new FederatedAddresses([store], CREDENTIALS);
    await clients.close();
    clients = new ClusterClients(settings(clock, { hub: { client, namespace: CREDENTIALS }, federatedAddresses }));
    const { metadata, ...older } = aCredential({ serviceAccount: SERVICE_ACCOUNT, server: target.url, 'ca.crt': 'system' });
    const object = { ...older, metadata: { ...metadata, name: 'older', uid: 'older', creationTimestamp: '2026-01-01T00:00:00Z' } };
    const cluster = federated([target.url]);
    const credential = { ...cluster.credential, metadata: { ...metadata, creationTimestamp: '2026-01-02T00:00:00Z' } };
    const younger = { ...cluster, credential };
    expect(await use(younger)).toBe('ok');
    store.apply({ type: 'listed', objects: [credential, object], resourceVersion: '1' });
    await expect(use(younger)).rejects.toMatchObject({ reason: 'EndpointConflict', detail: '', isLasting: false });
    expect([tokenRequests().length, target.requests.length]).toEqual([1, 1]);
    store.apply({ type: 'deleted', object, resourceVersion: '2' });
    expect(await use(younger)).toBe('ok');
  });

  it('requests one token for concurrent requests of several Clusters with the same address', async () => {
    const clusters = ['prod-eu', 'prod-us'].map((name) => {
      const { cluster, credential } = federated([target.url], { cluster: 'prod-eu prod-us' });
      return { cluster: { ...cluster, metadata: { ...cluster.metadata, name, uid: name } }, credential };
    });
    await Promise.all([...clusters, ...clusters].map(use));
    expect(tokenRequests()).toHaveLength(1);
    expect(new Set(received(target).map(({ jti }) => jti))).toEqual(new Set(['token-1']));
  });

  it('uses a token until half of its lifetime has passed, then renews it without a delay for requests', async () => {
    await use();
    clock.advance(0.44 * HOUR_MS);
    await use();
    expect(tokenRequests()).toHaveLength(1);
    clock.advance(0.07 * HOUR_MS);
    await use();
    await eventually(() => expect(issued).toBe(2));
    const renewed = await clients.use(federated([target.url]), async ({ credential }) => credential);
    const tokens = renewed?.type === 'serviceAccount' ? [...renewed.tokens.values()] : [];
    await eventually(() => expect(parseTokenClaims(tokens[0]?.current?.reveal() ?? '')?.id).toBe('token-2'));
    await use();
    expect(received(target).map(({ jti }) => jti)).toEqual(['token-1', 'token-1', 'token-1', 'token-2']);
    expect(tokenRequests()).toHaveLength(2);
  });

  it('keeps the token while the renewal fails, reports the failure, and sends no expired token', async () => {
    const cluster = federated([target.url]);
    await use(cluster);
    hub.handle((_, reply) => reply.json(500, errorStatus(500, 'etcd is down')));
    clock.advance(0.6 * HOUR_MS);
    expect(await use(cluster)).toBe('ok');
    await eventually(() => expect(clients.hubTokenFailure(cluster.cluster)).toMatchObject({ reason: 'HubTokenFailed' }));
    clock.advance(0.41 * HOUR_MS);
    await expect(use(cluster)).rejects.toMatchObject({ reason: 'HubTokenFailed', detail: expect.stringContaining('etcd is down') });
    expect(target.requests).toHaveLength(2);
    hub.handle(respondAsHub);
    clock.advance(60_000);
    expect(await use(cluster)).toBe('ok');
    expect(clients.hubTokenFailure(cluster.cluster)).toBeUndefined();
  });

  it('returns the times of the token for the address in use, even of an expired token while the renewal fails', async () => {
    const cluster = federated([target.url, other.url]);
    expect(clients.hubTokenTimes(cluster.cluster)).toBeUndefined();
    const issuedAt = clock.now();
    await use(cluster);
    const times = clients.hubTokenTimes(cluster.cluster);
    expect(times).toEqual({ issuedAt, renewAt: expect.any(Number), expiresAt: issuedAt + HOUR_MS });
    expect((times?.renewAt ?? 0) - issuedAt).toBeGreaterThanOrEqual(0.45 * HOUR_MS);
    expect((times?.renewAt ?? 0) - issuedAt).toBeLessThanOrEqual(0.5 * HOUR_MS);
    hub.handle((_, reply) => reply.json(500, errorStatus(500, 'etcd is down')));
    clock.advance(1.1 * HOUR_MS);
    await expect(use(cluster)).rejects.toMatchObject({ reason: 'HubTokenFailed' });
    expect(clients.hubTokenTimes(cluster.cluster)).toEqual(times);
  });

  it('reports a missing permission, sends nothing to the target, and requests again only after a growing delay', async () => {
    const message = `serviceaccounts "federated" is forbidden: User "x" cannot create resource "serviceaccounts/token" in API group ""`;
    hub.handle((request, reply) =>
      request.path === TOKEN_PATH ? reply.json(403, errorStatus(403, message, { reason: 'Forbidden' })) : respondAsHub(request, reply),
    );
    for (let count = 0; count < 5; count++) await expect(use()).rejects.toMatchObject({ reason: 'HubTokenForbidden', detail: message });
    expect([tokenRequests().length, target.requests.length]).toEqual([1, 0]);
    clock.advance(1_000);
    for (let count = 0; count < 5; count++) await expect(use()).rejects.toMatchObject({ reason: 'HubTokenForbidden' });
    clock.advance(1_000);
    await expect(use()).rejects.toMatchObject({ reason: 'HubTokenForbidden' });
    expect(tokenRequests()).toHaveLength(2);
  });

  it.each<[string, number, object, RegExp]>([
    [
      'a service account that does not exist',
      404,
      { details: { kind: 'serviceaccounts' } },
      /^the hub has no service account purser-system\//,
    ],
    ['an error response', 503, {}, /^the message of the hub$/],
    ['a rejection by admission', 403, {}, /^the message of the hub$/],
  ])('reports HubTokenFailed without a Status for callers: %s', async (_, code, more, detail) => {
    hub.handle((request, reply) =>
      request.path === TOKEN_PATH ? reply.json(code, errorStatus(code, 'the message of the hub', more)) : respondAsHub(request, reply),
    );
    const failure = { reason: 'HubTokenFailed', detail: expect.stringMatching(detail), isLasting: false, status: undefined };
    await expect(use()).rejects.toMatchObject(failure);
  });

  it.each<[string, object]>([
    ['for another audience', { aud: ['purser:https://elsewhere.example.com'] }],
    ['for a second audience', { aud: ['purser:x', 'https://hub.test'] }],
    ['of another service account', { sub: `system:serviceaccount:${CREDENTIALS}:purser` }],
  ])('sends no token issued by the hub that is %s', async (_, claims) => {
    hub.handle((request, reply) =>
      request.path === TOKEN_PATH ? grant(request, reply, { claims: { sub: SUBJECT, ...claims } }) : respondAsHub(request, reply),
    );
    await expect(use()).rejects.toMatchObject({ reason: 'HubTokenFailed' });
    expect(target.requests).toEqual([]);
  });

  it('sends no token issued by the hub that is not a JWT', async () => {
    hub.handle((request, reply) =>
      request.path === TOKEN_PATH ? grant(request, reply, { status: { token: 'opaque' } }) : respondAsHub(request, reply),
    );
    await expect(use()).rejects.toMatchObject({ reason: 'HubTokenFailed', detail: 'the token from the hub is not a JWT' });
  });

  it('repeats a request with a fresh token after a 401, at most once per growing delay', async () => {
    target.handle((_, reply) => reply.json(401, errorStatus(401, 'Unauthorized')));
    for (let count = 0; count < 5; count++) await expect(use()).rejects.toMatchObject({ code: 401 });
    expect(received(target).map(({ jti }) => jti)).toEqual(['token-1', 'token-2', 'token-2', 'token-2', 'token-2', 'token-2']);
    clock.advance(10_000);
    for (let count = 0; count < 5; count++) await expect(use()).rejects.toMatchObject({ code: 401 });
    expect(issued).toBe(3);
    clock.advance(10_000);
    await expect(use()).rejects.toMatchObject({ code: 401 });
    expect(issued).toBe(3);
  });

  it('succeeds with a fresh token if the target rejects only the former one', async () => {
    await use();
    target.handle(({ headers }, reply) => {
      const [{ jti } = { jti: '' }] = received({ requests: [{ headers }] });
      return jti === 'token-1' ? reply.json(401, errorStatus(401, 'Unauthorized')) : reply.text(200, 'ok');
    });
    expect(await use()).toBe('ok');
  });

  it('hides tokens from inspection and JSON, and redacts them from responses from the target', async () => {
    target.handle(({ headers }, reply) => reply.json(409, errorStatus(409, `you sent ${headers.authorization}`)));
    const shown = await use().catch((error: unknown) => inspect(error, { depth: 9 }) + JSON.stringify(error));
    expect(shown).toContain('you sent');
    expect(shown + inspect(clients, { depth: 20, showHidden: true })).not.toMatch(/eyJ/);
  });

  it("determines Purser's user with a TokenReview of the token for the address on servers before 1.28", async () => {
    const user = `hub:${SUBJECT}`;
    target.handle((request, reply) => {
      if (request.path.endsWith('/selfsubjectreviews')) return reply.json(404, errorStatus(404, 'not found'));
      const isOwn = request.headers.authorization === `Bearer ${JSON.parse(request.body).spec.token}`;
      return reply.json(201, { kind: 'TokenReview', status: { user: { username: isOwn ? user : 'other' } } });
    });
    expect(await clients.use(federated([target.url]), (each) => reviewOwnUsername(each))).toBe(user);
  });
});

describe('HubServiceAccounts', () => {
  it("rejects a service account in a Secret outside Purser's namespace", async () => {
    const elsewhere = new ClusterClients(settings(clock, { hub: { client, namespace: 'elsewhere' } }));
    const cluster = federated([target.url]);
    await expect(elsewhere.use(cluster, readiness)).rejects.toMatchObject({
      reason: 'CredentialMissing',
      detail: expect.stringContaining("only in Secrets in Purser's namespace, not in purser-system. Move the Secret"),
    });
    expect(elsewhere.hubTokenFailure(cluster.cluster)).toMatchObject({ reason: 'CredentialMissing' });
    expect(hub.requests).toEqual([]);
  });

  it('rejects the service account that Purser itself runs as', async () => {
    ownUsername = SUBJECT;
    await expect(use()).rejects.toMatchObject({
      reason: 'CredentialMissing',
      detail: expect.stringContaining("Purser's own service account"),
    });
    expect([tokenRequests().length, target.requests.length]).toEqual([0, 0]);
  });

  it.each(['get secrets', 'create serviceaccounts', 'impersonate serviceaccounts', 'issue clusters', 'update clusters'])(
    'rejects a service account with permission on the hub to %s, until the permission is removed',
    async (action) => {
      allowed = [action];
      await expect(use()).rejects.toMatchObject({
        reason: 'CredentialMissing',
        detail: expect.stringMatching(new RegExp(` can ${action}.* on the hub, so a cluster .* do the same\\. Remove the permission, or`)),
        isLasting: false,
      });
      expect([tokenRequests().length, target.requests.length]).toEqual([0, 0]);
      allowed = [];
      clock.advance(60_000);
      expect(await use()).toBe('ok');
    },
  );

  it('reviews a rejected service account once in 30 s for all addresses', async () => {
    allowed = ['get secrets'];
    await expect(use()).rejects.toMatchObject({ reason: 'CredentialMissing' });
    await expect(use(federated([other.url]))).rejects.toMatchObject({ reason: 'CredentialMissing' });
    expect(hub.requests).toHaveLength(6);
  });

  it('accepts a service account that Purser may not review on the hub', async () => {
    hub.handle((request, reply) =>
      request.path === TOKEN_PATH ? respondAsHub(request, reply) : reply.json(403, errorStatus(403, 'forbidden')),
    );
    expect(await use()).toBe('ok');
  });

  it('reviews an accepted service account once in ten minutes for all addresses', async () => {
    await use();
    await use(federated([other.url]));
    expect(hub.requests.filter(({ path }) => path.endsWith('reviews'))).toHaveLength(6);
  });
});
