import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeClient } from '../../src/kube/client.ts';
import { StatusError } from '../../src/kubernetes/status.ts';
import { Sensitive } from '../../src/std/sensitive.ts';
import { IssueError } from '../../src/targets/issue-error.ts';
import { findAPIAudiences } from '../../src/targets/reviews.ts';
import type { TargetCaller } from '../../src/targets/target.ts';
import type { WireHandler, WireRequest, WireServer } from '../support/wire-server.ts';
import { clusterAt, IssuerWorld, tokenRequests } from './issuer-world.ts';
import { CREDENTIAL } from './registration.ts';
import { errorStatus, grant, grants, selfSubjectReview } from './wire-target.ts';

let world: IssuerWorld;

beforeEach(() => {
  world = new IssuerWorld();
});

afterEach(() => world.close());

describe('findAPIAudiences', () => {
  const findWith = (respond: () => unknown) => {
    const sent: unknown[] = [];
    const createReview = async (_: unknown, review: unknown) => {
      sent.push(review);
      return respond();
    };
    const client = { transport: { server: 'https://a.example.com' }, createReview } as unknown as KubeClient;
    const credential = { type: 'token', token: new Sensitive('own-token') } as const;
    const target = { credential, call: ((request) => request(client, {})) as TargetCaller['call'] };
    return { sent, audiences: findAPIAudiences(target) };
  };
  const failing = (error: Error) => () => {
    throw error;
  };
  const statusError = (code: number) => new StatusError(errorStatus(code, 'x') as StatusError['status']);

  it("returns the audiences of a review of Purser's own token for the API of the target", async () => {
    const { sent, audiences } = findWith(() => ({ status: { authenticated: true, audiences: ['https://a', 'k3s'] } }));
    expect(await audiences).toEqual(['https://a', 'k3s']);
    expect(sent).toEqual([{ spec: { token: 'own-token' } }]);
  });

  it.each<[string, () => unknown, readonly string[] | undefined]>([
    ['a response without audiences', () => ({ status: { authenticated: true } }), []],
    [
      "audiences of Purser's own tokens and values that are not texts",
      () => ({ status: { audiences: ['purser:https://a', 7, 'b'] } }),
      ['b'],
    ],
    ['a review that is not permitted', failing(statusError(403)), []],
    ['a review that fails', failing(statusError(500)), undefined],
    ['a target that does not respond', failing(new IssueError('ClusterUnreachable')), undefined],
  ])('returns audiences, or undefined if the review fails: %s', async (_, respond, expected) => {
    expect(await findWith(respond).audiences).toEqual(expected);
  });
});

describe('findOwnUsername', () => {
  const isReview = ({ path }: WireRequest) => path.endsWith('/selfsubjectreviews');
  const isTokenReview = ({ path }: WireRequest) => path.endsWith('/tokenreviews');

  /** Starts a target with this response to SelfSubjectReviews. */
  async function serveReview(review: WireHandler): Promise<WireServer> {
    const server = await world.serve(grants());
    server.handle((request, reply) => (isReview(request) ? review(request, reply) : grants()(request, reply)));
    return server;
  }

  it('sends one review for all concurrent callers', async () => {
    const server = await world.serve(grants());
    await Promise.all([world.issueAt(server), world.issueAt(server)]);
    await world.issueAt(server);
    expect(server.requests.filter(isReview)).toHaveLength(1);
    expect(tokenRequests(server)).toHaveLength(3);
  });

  it("rejects a token for Purser's own service account", async () => {
    const server = await serveReview((_, reply) => reply.json(201, selfSubjectReview('system:serviceaccount:deploy:deployer')));
    expect(await world.failureAt(server)).toMatchObject({ reason: 'OwnNamespace' });
    expect(tokenRequests(server)).toEqual([]);
  });

  it("rejects a token for another service account in the namespace of Purser's own service account", async () => {
    const server = await serveReview((_, reply) => reply.json(201, selfSubjectReview('system:serviceaccount:deploy:purser')));
    expect(await world.failureAt(server)).toMatchObject({ reason: 'OwnNamespace' });
    expect(tokenRequests(server)).toEqual([]);
  });

  it("rejects an anchor in the namespace of Purser's own service account before any request other than the review", async () => {
    const server = await serveReview((_, reply) => reply.json(201, selfSubjectReview('system:serviceaccount:deploy:purser')));
    const anchor = { namespace: 'deploy', name: 'purser-uid', account: 'deployer' };
    await expect(world.issuer.ensureAnchor(clusterAt(server.url), anchor, AbortSignal.any([]))).rejects.toMatchObject({
      reason: 'OwnNamespace',
    });
    expect(server.requests.filter((request) => !isReview(request))).toEqual([]);
  });

  it.each<[string, WireHandler, string]>([
    ['a response without user', (_, reply) => reply.json(201, selfSubjectReview('')), 'IdentityUnknown'],
    ['an unreadable response', (_, reply) => reply.json(201, { status: [] }), 'IdentityUnknown'],
    ['a denied review', (_, reply) => reply.json(403, errorStatus(403, 'User "x" cannot create resource "y"')), 'IdentityUnknown'],
    ['an anonymous user', (_, reply) => reply.json(201, selfSubjectReview('system:anonymous')), 'CredentialRejected'],
    ['a rejected credential', (_, reply) => reply.json(401, errorStatus(401, 'Unauthorized')), 'CredentialRejected'],
    ['a server error', (_, reply) => reply.json(500, errorStatus(500, 'no')), 'TargetFailed'],
    ['a closed connection', (_, reply) => reply.reset(), 'ClusterUnreachable'],
  ])('requests no token if the review fails: %s', async (_, review, reason) => {
    const server = await serveReview(review);
    expect(await world.failureAt(server)).toMatchObject({ reason });
    expect(tokenRequests(server)).toEqual([]);
  });

  it('sends another review after a failure', async () => {
    const server = await serveReview((_, reply) => reply.json(500, errorStatus(500, 'no')));
    await world.failureAt(server);
    server.handle((request, reply) => (isReview(request) ? reply.json(201, selfSubjectReview()) : grant(request, reply)));
    await expect(world.issueAt(server)).resolves.toBeDefined();
  });

  it("reviews Purser's own token on servers before 1.28", async () => {
    const username = 'system:serviceaccount:deploy:deployer';
    const server = await world.serve(grants());
    server.handle((request, reply) => {
      if (isReview(request)) return reply.json(404, errorStatus(404, 'the server could not find the requested resource'));
      if (!isTokenReview(request)) return grant(request, reply);
      expect(JSON.parse(request.body).spec).toEqual({ token: CREDENTIAL });
      return reply.json(201, { status: { authenticated: true, user: { username } } });
    });
    expect(await world.failureAt(server)).toMatchObject({ reason: 'OwnNamespace' });
  });
});
