// A hub and a target on the wire: the target rejects the token that the informers have, and the hub has a newer one.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Secret, Stored } from '../../src/api/resources.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import { computeDigest } from '../../src/std/digest.ts';
import { Sensitive } from '../../src/std/sensitive.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { toRenewedSecret } from '../../src/targets/policy/renewed-secret.ts';
import type { RegisteredCluster } from '../../src/targets/registry.ts';
import type { TargetCaller } from '../../src/targets/target.ts';
import { eventually } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import { startWireServer, type WireReply, type WireServer } from '../support/wire-server.ts';
import { connectionsOf } from './issuer-world.ts';
import { aCredential, CREDENTIALS, registered, settings } from './registration.ts';
import { authority, errorStatus, startTarget } from './wire-target.ts';

let clock: FakeClock;
let hub: WireServer;
let target: WireServer;
let clients: ClusterClients;
let client: KubeClient;
/** Secrets on the hub. */
let stored: Stored<Secret>[];
let cluster: RegisteredCluster;

beforeEach(async () => {
  clock = new FakeClock();
  target = await startTarget((request, reply) =>
    request.headers.authorization === 'Bearer new-token' ? reply.text(200, 'ok') : reply.json(401, errorStatus(401, 'Unauthorized')),
  );
  hub = await startWireServer(({ query }, reply) => {
    const items = stored.filter(({ metadata }) => query.get('fieldSelector') === `metadata.name=${metadata.name}`);
    reply.json(200, { apiVersion: 'v1', kind: 'SecretList', metadata: { resourceVersion: '9' }, items });
  });
  const config = createFixedConfig({ name: 'hub', server: hub.url, skipTLSVerify: false }, { name: 'purser' });
  client = new KubeClient(createTransport(config, { clock: systemClock }), 'tests');
  clients = new ClusterClients(settings(clock, { hub: { client, namespace: 'elsewhere' } }));
  const credential = aCredential({ token: 'old-token', server: target.url });
  cluster = registered({ servers: [target.url], ca: authority.certificate, credential });
  stored = [credential];
});

afterEach(async () => {
  await clients.close();
  await client.transport.close();
  await Promise.all([hub.close(), target.close()]);
});

/** Returns the Secret with the renewed token `new-token`. */
function renewed(): Stored<Secret> {
  const record = {
    registeredDigest: computeDigest('old-token'),
    tokenDigest: computeDigest('new-token'),
    renewedAt: clock.now(),
    expiresAt: clock.now() + 3_600_000,
    replaced: [],
  };
  const secret = toRenewedSecret(cluster.credential as Stored<Secret>, new Sensitive('new-token'), record);
  return {
    ...secret,
    metadata: { ...secret.metadata, namespace: CREDENTIALS, name: 'credential-renewed', uid: 'r', resourceVersion: '2' },
  };
}

const readiness = (each: TargetCaller) => each.call((connection, options) => connection.getText('/readyz', options));
const use = () => clients.use(cluster, readiness);

describe('ClusterClients with a rejected credential', () => {
  it('reads the Secrets again, and repeats the work with the renewed token', async () => {
    stored.push(renewed());
    expect(await use()).toBe('ok');
    expect(hub.requests).toHaveLength(2);
    expect(target.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer old-token', 'Bearer new-token']);
  });

  it('keeps the renewed token until the informers have received a change', async () => {
    stored.push(renewed());
    await use();
    await use();
    expect(target.requests.map(({ headers }) => headers.authorization).slice(2)).toEqual(['Bearer new-token']);
    const changed = { ...cluster, credential: aCredential({ token: 'other-token', server: target.url }, '3') };
    await expect(clients.use(changed, readiness)).rejects.toMatchObject({ code: 401 });
  });

  it('reports the rejection if the hub has no newer token, and reads the Secrets at most once in ten seconds', async () => {
    for (let count = 0; count < 5; count++) await expect(use()).rejects.toMatchObject({ code: 401 });
    expect(hub.requests).toHaveLength(2);
    clock.advance(10_000);
    await expect(use()).rejects.toMatchObject({ code: 401 });
    expect(hub.requests).toHaveLength(4);
  });

  it('reads the Secrets once for concurrent rejections, and repeats the work of all callers', async () => {
    stored.push(renewed());
    expect(await Promise.all(Array.from({ length: 8 }, use))).toEqual(Array.from({ length: 8 }, () => 'ok'));
    expect(hub.requests).toHaveLength(2);
  });

  it('repeats work that returns a rejection', async () => {
    stored.push(renewed());
    const work = (each: TargetCaller) => readiness(each).catch(() => 'rejected');
    expect(await clients.use(cluster, work, (result) => result === 'rejected')).toBe('ok');
  });

  it('reports the rejection if the hub does not respond', async () => {
    hub.handle((_, reply) => reply.reset());
    await expect(use()).rejects.toMatchObject({ code: 401 });
  });

  it('uses the pins of the registered Secret, never those of the renewed one', async () => {
    const secret = renewed();
    stored.push({ ...secret, data: { ...secret.data, server: Buffer.from('https://192.0.2.1').toString('base64') } });
    expect(await use()).toBe('ok');
  });
});

describe('ClusterClients with a renewed token', () => {
  const probe = () => clients.use(cluster, (each) => readiness(each.createProber(5_000)));
  const bearers = () => target.requests.map(({ headers }) => headers.authorization);

  beforeEach(() => target.handle((_, reply) => reply.text(200, 'ok')));

  it('keeps the connection of probes for the renewed token, and closes it when the Cluster changes', async () => {
    await probe();
    cluster = { ...cluster, renewed: renewed() };
    await probe();
    expect(bearers()).toEqual(['Bearer old-token', 'Bearer new-token']);
    expect(connectionsOf(target).size).toBe(1);
    const { metadata } = cluster.cluster;
    cluster = { ...cluster, cluster: { ...cluster.cluster, metadata: { ...metadata, generation: 2 } } };
    await probe();
    expect(connectionsOf(target).size).toBe(2);
    await eventually(() => expect(target.openConnections).toBe(1));
  });

  it('lets a probe with the former token finish, and then keeps its connection', async () => {
    const replies: WireReply[] = [];
    target.handle((_, reply) => void replies.push(reply));
    const before = probe();
    await eventually(() => expect(replies).toHaveLength(1));
    cluster = { ...cluster, renewed: renewed() };
    clients.endpointsOf(cluster);
    target.handle((_, reply) => reply.text(200, 'ok'));
    replies[0]?.text(200, 'late');
    expect(await before).toBe('late');
    await probe();
    expect(bearers()).toEqual(['Bearer old-token', 'Bearer new-token']);
    expect(connectionsOf(target).size).toBe(1);
  });

  it('closes the connection of a probe in progress with the former token when the Cluster is deleted', async () => {
    target.handle(() => {});
    const before = probe().catch((error: unknown) => error);
    await eventually(() => expect(target.requests).toHaveLength(1));
    cluster = { ...cluster, renewed: renewed() };
    clients.endpointsOf(cluster);
    await clients.forget(cluster.cluster);
    expect(await before).toMatchObject({ reason: 'ClusterUnreachable' });
    await eventually(() => expect(target.openConnections).toBe(0));
  });

  it('closes idle connections of other requests', async () => {
    await use();
    cluster = { ...cluster, renewed: renewed() };
    clients.endpointsOf(cluster);
    await eventually(() => expect(target.openConnections).toBe(0));
  });

  it('verifies a token over a new connection', async () => {
    await probe();
    await clients.useOnce(cluster, new Sensitive('new-token'), readiness);
    expect(connectionsOf(target).size).toBe(2);
    await eventually(() => expect(target.openConnections).toBe(1));
  });
});
