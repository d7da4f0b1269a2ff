import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { WireHandler, WireRequest, WireServer } from '../support/wire-server.ts';
import { clusterAt, IssuerWorld, tokenRequests } from './issuer-world.ts';
import { CREDENTIAL } from './registration.ts';
import { grant, grants, refusal, selfSubjectReview } from './wire-target.ts';

let world: IssuerWorld;

beforeEach(() => {
  world = new IssuerWorld();
});

afterEach(() => world.close());

describe('our own account', () => {
  const isReview = ({ path }: WireRequest) => path.endsWith('/selfsubjectreviews');
  const isTokenReview = ({ path }: WireRequest) => path.endsWith('/tokenreviews');

  /** A target that answers the question who we are as given. */
  async function knowing(review: WireHandler): Promise<WireServer> {
    const server = await world.serve(grants());
    server.handle((request, reply) => (isReview(request) ? review(request, reply) : grants()(request, reply)));
    return server;
  }

  it('is asked for once, by all that wait for it together', async () => {
    const server = await world.serve(grants());
    await Promise.all([world.ask(server), world.ask(server)]);
    await world.ask(server);
    expect(server.requests.filter(isReview)).toHaveLength(1);
    expect(tokenRequests(server)).toHaveLength(3);
  });

  it('gets no token', async () => {
    const server = await knowing((_, reply) => reply.json(201, selfSubjectReview('system:serviceaccount:deploy:deployer')));
    expect(await world.failureAt(server)).toMatchObject({ reason: 'OwnAccount' });
    expect(tokenRequests(server)).toEqual([]);
  });

  it("gets no token for another service account in its own account's namespace", async () => {
    const server = await knowing((_, reply) => reply.json(201, selfSubjectReview('system:serviceaccount:deploy:purser')));
    expect(await world.failureAt(server)).toMatchObject({ reason: 'OwnAccount' });
    expect(tokenRequests(server)).toEqual([]);
  });

  it('gets no anchor in its own namespace, and nothing is read there', async () => {
    const server = await knowing((_, reply) => reply.json(201, selfSubjectReview('system:serviceaccount:deploy:purser')));
    const anchor = { namespace: 'deploy', name: 'purser-uid', account: 'deployer' };
    await expect(world.issuer.ensureAnchor(clusterAt(server.url), anchor, AbortSignal.any([]))).rejects.toMatchObject({
      reason: 'OwnAccount',
    });
    expect(server.requests.filter((request) => !isReview(request))).toEqual([]);
  });

  it.each<[string, WireHandler, string]>([
    ['the answer names nobody', (_, reply) => reply.json(201, selfSubjectReview('')), 'IdentityUnknown'],
    ['the answer is nonsense', (_, reply) => reply.json(201, { status: [] }), 'IdentityUnknown'],
    ['we must not ask', (_, reply) => reply.json(403, refusal(403, 'User "x" cannot create resource "y"')), 'IdentityUnknown'],
    ['we are nobody there', (_, reply) => reply.json(201, selfSubjectReview('system:anonymous')), 'CredentialRejected'],
    ['our credential is refused', (_, reply) => reply.json(401, refusal(401, 'Unauthorized')), 'CredentialRejected'],
    ['the target fails', (_, reply) => reply.json(500, refusal(500, 'no')), 'TargetFailed'],
    ['the target is cut off', (_, reply) => reply.reset(), 'ClusterUnreachable'],
  ])('must be known before anything is issued: %s', async (_, review, reason) => {
    const server = await knowing(review);
    expect(await world.failureAt(server)).toMatchObject({ reason });
    expect(tokenRequests(server)).toEqual([]);
  });

  it('is asked for again after a failure', async () => {
    const server = await knowing((_, reply) => reply.json(500, refusal(500, 'no')));
    await world.failureAt(server);
    server.handle((request, reply) => (isReview(request) ? reply.json(201, selfSubjectReview()) : grant(request, reply)));
    await expect(world.ask(server)).resolves.toBeDefined();
  });

  it('is found out by a review of our own token where servers are older than 1.28', async () => {
    const username = 'system:serviceaccount:deploy:deployer';
    const server = await world.serve(grants());
    server.handle((request, reply) => {
      if (isReview(request)) return reply.json(404, refusal(404, 'the server could not find the requested resource'));
      if (!isTokenReview(request)) return grant(request, reply);
      expect(JSON.parse(request.body).spec).toEqual({ token: CREDENTIAL });
      return reply.json(201, { status: { authenticated: true, user: { username } } });
    });
    expect(await world.failureAt(server)).toMatchObject({ reason: 'OwnAccount' });
  });
});
