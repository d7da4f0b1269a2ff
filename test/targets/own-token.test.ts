// Tokens for Purser's own service account, from a target on the wire.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { issueOwnToken, issueToken } from '../../src/targets/issue-token.ts';
import type { RegisteredCluster } from '../../src/targets/registry.ts';
import { FakeClock } from '../support/clock.ts';
import type { WireServer } from '../support/wire-server.ts';
import { CREDENTIAL, registered, settings } from './registration.ts';
import { authority, grant, grants, startTarget } from './wire-target.ts';

const OWN = { namespace: 'purser-system', name: 'purser', expirationSeconds: 600 };
const SUBJECT = 'system:serviceaccount:purser-system:purser';
const { signal } = new AbortController();

let target: WireServer;
let clients: ClusterClients;
let cluster: RegisteredCluster;

beforeEach(async () => {
  target = await startTarget(grants({ claims: { sub: SUBJECT, aud: ['api'] } }));
  clients = new ClusterClients(settings(new FakeClock(Date.now())));
  cluster = registered({ servers: [target.url], ca: authority.certificate });
});

afterEach(async () => {
  await clients.close();
  await target.close();
});

const tokenRequests = () => target.requests.filter(({ path }) => path.endsWith('/token'));

describe('issueOwnToken', () => {
  it("requests a token for Purser's own service account with the audiences of the API server", async () => {
    const issued = await clients.use(cluster, (each) => issueOwnToken(each, OWN, signal));
    expect(issued.claims).toMatchObject({ subject: SUBJECT, audiences: ['api'] });
    expect(tokenRequests()).toHaveLength(1);
    expect(JSON.parse(tokenRequests()[0]?.body ?? '')).toMatchObject({ spec: { audiences: [], expirationSeconds: 600 } });
  });

  it.each([
    ['another service account of the same namespace', { ...OWN, name: 'other' }],
    ['a service account in another namespace', { ...OWN, namespace: 'deploy' }],
  ])('sends no token request for %s', async (_, request) => {
    const issuing = clients.use(cluster, (each) => issueOwnToken(each, request, signal));
    await expect(issuing).rejects.toMatchObject({ reason: 'IdentityUnknown' });
    expect(tokenRequests()).toEqual([]);
  });

  it('rejects the token that Purser already uses, and a token for another service account', async () => {
    target.handle((request, reply) =>
      request.path.endsWith('/token')
        ? grant(request, reply, { status: { token: CREDENTIAL } })
        : reply.json(201, { status: { userInfo: { username: SUBJECT } } }),
    );
    await expect(clients.use(cluster, (each) => issueOwnToken(each, OWN, signal))).rejects.toMatchObject({ reason: 'ResponseUntrusted' });
    target.handle((request, reply) =>
      request.path.endsWith('/token') ? grant(request, reply) : reply.json(201, { status: { userInfo: { username: SUBJECT } } }),
    );
    await expect(clients.use(cluster, (each) => issueOwnToken(each, OWN, signal))).rejects.toMatchObject({ reason: 'ResponseUntrusted' });
  });
});

describe('issueToken', () => {
  it("sends no token request for Purser's own service account", async () => {
    const issuing = clients.use(cluster, (each) => issueToken(each, { ...OWN, audiences: ['api'] }, signal));
    await expect(issuing).rejects.toMatchObject({ reason: 'OwnNamespace' });
    expect(tokenRequests()).toEqual([]);
  });
});
