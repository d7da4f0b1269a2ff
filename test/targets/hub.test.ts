import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import { KubeClient } from '../../src/kube/client.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import { startWireServer, type WireHandler, type WireServer } from '../support/wire-server.ts';
import { IssuerWorld } from './issuer-world.ts';
import { aCredential, registered } from './registration.ts';
import { authority, errorStatus, grants, REQUEST, selfSubjectReview } from './wire-target.ts';

const ADMIN = 'system:serviceaccount:kube-system:some-admin';
/** A service account in Purser's namespace on the hub; the credential of ADMIN is permitted to issue tokens for it. */
const BESIDE = { ...REQUEST, namespace: 'purser-system', name: 'default' };

let world: IssuerWorld;
let hub: WireServer;

afterEach(async () => {
  await world.close();
  await hub.close();
});

/** Responses from an API server: its signing keys and the UID of kube-system, each forbidden if absent. */
interface Identity {
  readonly keys?: readonly KeyObject[];
  readonly uid?: string;
  readonly username?: string;
}

function respondAs({ keys, uid, username = ADMIN }: Identity): WireHandler {
  return (request, reply) => {
    if (request.path.endsWith('/selfsubjectreviews')) return reply.json(201, selfSubjectReview(username));
    const forbid = reply.json.bind(reply, 403, errorStatus(403, 'forbidden: User "x" cannot get resource "y"'));
    if (request.path === '/openid/v1/jwks')
      return keys === undefined ? forbid() : reply.json(200, { keys: keys.map((key) => key.export({ format: 'jwk' })) });
    if (request.path === '/api/v1/namespaces/kube-system')
      return uid === undefined
        ? forbid()
        : reply.json(200, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system', uid, resourceVersion: '1' } });
    const [, , , , namespace, , name] = request.path.split('/');
    return grants({ claims: { sub: `system:serviceaccount:${namespace}:${name}` } })(request, reply);
  };
}

async function start(ofHub: Identity): Promise<void> {
  hub = await startWireServer(respondAs(ofHub));
  const config = createFixedConfig({ name: 'hub', server: hub.url, skipTLSVerify: false }, { name: 'us', token: 'hub-token' });
  const client = new KubeClient(createTransport(config, { clock: systemClock }), 'purser');
  world = new IssuerWorld({ hub: { client, namespace: 'purser-system' } });
}

/** Returns a token signed by this key. */
function jwt(key: KeyObject, alg = 'ES256'): string {
  const [header, payload] = [{ alg }, { sub: ADMIN }].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signature = sign('sha256', Buffer.from(`${header}.${payload}`), { key, dsaEncoding: 'ieee-p1363' });
  return `${header}.${payload}.${signature.toString('base64url')}`;
}

async function registeredAt(ofTarget: Identity, token: string) {
  const target = await world.serve(() => undefined);
  target.handle(respondAs(ofTarget));
  const credential = aCredential({ token, server: target.url });
  return { target, cluster: registered({ servers: [target.url], ca: authority.certificate, credential }) };
}

const ours = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });

describe('HubIdentity', () => {
  it.each<[string, Identity, Identity, string]>([
    ["a token that the hub's key signed", { keys: [other.publicKey, ours.publicKey] }, {}, jwt(ours.privateKey)],
    ["a token that the hub's RSA key signed", { keys: [rsa.publicKey] }, {}, jwt(rsa.privateKey, 'RS256')],
    ['the same UID of kube-system', { keys: [other.publicKey], uid: 'a' }, { uid: 'a' }, 'opaque'],
    ['an opaque token where neither keys nor UIDs can be read', {}, {}, 'opaque'],
    ['an opaque token where the UID on the hub cannot be read', { keys: [ours.publicKey] }, { uid: 'a' }, 'opaque'],
    [
      'a token that another key signed and that is not for a service account',
      { keys: [ours.publicKey] },
      { username: 'admin' },
      jwt(other.privateKey),
    ],
  ])("rejects service accounts in Purser's namespace with at most four requests: %s", async (_, ofHub, ofTarget, token) => {
    await start(ofHub);
    const { target, cluster } = await registeredAt(ofTarget, token);
    for (let round = 0; round < 3; round += 1) expect(await world.failure(cluster, BESIDE)).toMatchObject({ reason: 'OwnNamespace' });
    expect(target.requests.filter(({ path }) => path.endsWith('/token'))).toEqual([]);
    expect(hub.requests.length + target.requests.length).toBeLessThanOrEqual(4);
    await expect(world.issue(cluster)).resolves.toBeDefined();
  });

  it.each<[string, Identity, Identity, string]>([
    ['a service account token that another key signed', { keys: [ours.publicKey] }, {}, jwt(other.privateKey)],
    ['another UID of kube-system', { uid: 'a' }, { uid: 'b' }, 'opaque'],
  ])(
    "issues tokens for service accounts in a namespace with the name of Purser's namespace on another cluster: %s",
    async (_, ofHub, ofTarget, token) => {
      await start(ofHub);
      const { cluster } = await registeredAt(ofTarget, token);
      await expect(world.issue(cluster, BESIDE)).resolves.toBeDefined();
    },
  );

  it.each(['https://kubernetes.default.svc', 'https://kubernetes.default.svc.cluster.local:443'])(
    "rejects service accounts in Purser's namespace at the address %s without requests to the hub",
    async (url) => {
      await start({});
      const { target } = await registeredAt({}, 'opaque');
      const servers = [target.url, url];
      const credential = aCredential({ token: 'opaque', server: servers.join() });
      expect(await world.failure(registered({ servers, ca: authority.certificate, credential }), BESIDE)).toMatchObject({
        reason: 'OwnNamespace',
      });
      expect([hub.requests.length, target.requests.length]).toEqual([0, 1]);
    },
  );

  it("rejects service accounts in Purser's namespace until the hub responds", async () => {
    await start({});
    hub.handle((_, reply) => reply.text(500, 'down'));
    const { cluster } = await registeredAt({}, jwt(other.privateKey));
    expect(await world.failure(cluster, BESIDE)).toMatchObject({ reason: 'IdentityUnknown' });
    hub.handle(respondAs({ keys: [ours.publicKey] }));
    await expect(world.issue(cluster, BESIDE)).resolves.toBeDefined();
  });

  it("rejects service accounts in Purser's namespace at the hub's own address", async () => {
    await start({});
    const { target } = await registeredAt({ username: ADMIN }, 'opaque');
    const config = createFixedConfig({ name: 'hub', server: target.url, skipTLSVerify: false }, { name: 'us', token: 'hub-token' });
    const client = new KubeClient(createTransport(config, { clock: systemClock }), 'purser');
    const another = new IssuerWorld({ hub: { client, namespace: 'purser-system' } });
    const cluster = registered({ servers: [target.url], ca: authority.certificate });
    expect(await another.failure(cluster, BESIDE)).toMatchObject({ reason: 'OwnNamespace' });
    await another.close();
  });

  it.each<[string, Identity, Identity, boolean]>([
    ['the same UID of kube-system', { uid: 'a' }, { uid: 'a' }, false],
    ['UIDs that cannot be read', { keys: [ours.publicKey] }, {}, false],
    ['another UID of kube-system', { keys: [ours.publicKey], uid: 'a' }, { uid: 'b' }, true],
  ])('compares the UID of kube-system if the credential is a token issued by the hub: %s', async (_, ofHub, ofTarget, isIssued) => {
    await start(ofHub);
    const target = await world.serve(() => undefined);
    target.handle(respondAs({ ...ofTarget, username: 'hub:system:serviceaccount:purser-system:federated' }));
    const credential = aCredential({ serviceAccount: 'federated', server: target.url });
    const cluster = registered({ servers: [target.url], ca: authority.certificate, credential });
    await expect(world.issue(cluster)).resolves.toBeDefined();
    if (isIssued) await expect(world.issue(cluster, BESIDE)).resolves.toBeDefined();
    else expect(await world.failure(cluster, BESIDE)).toMatchObject({ reason: 'OwnNamespace' });
  });

  it("rejects the service accounts in Purser's namespace if the credential for the hub itself is a token that the hub issued", async () => {
    await start({ uid: 'a' });
    const itself = await world.serve(() => undefined);
    itself.handle(respondAs({ uid: 'a', username: 'system:serviceaccount:purser-system:federated' }));
    const credential = aCredential({ serviceAccount: 'federated', server: itself.url });
    const cluster = registered({ servers: [itself.url], ca: authority.certificate, credential });
    for (const name of ['federated', 'default', 'purser'])
      expect(await world.failure(cluster, { ...BESIDE, name })).toMatchObject({ reason: 'OwnNamespace' });
  });
});
