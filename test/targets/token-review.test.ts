import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { WireHandler } from '../support/wire-server.ts';
import { clusterAt, IssuerWorld } from './issuer-world.ts';
import { errorStatus, grants, SUBJECT } from './wire-target.ts';

let world: IssuerWorld;

beforeEach(() => {
  world = new IssuerWorld();
});

afterEach(() => world.close());

describe('reviewToken', () => {
  const respondWith =
    (status: unknown): WireHandler =>
    (_, reply) =>
      reply.json(201, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', status });
  const good = { authenticated: true, user: { username: SUBJECT }, audiences: ['api'] };

  async function review(handler: WireHandler): Promise<boolean> {
    const server = await world.serve(handler);
    const { token } = await world.issueAt(await world.serve(grants()));
    return await world.issuer.review(clusterAt(server.url), { token, subject: SUBJECT, audiences: ['api'] }, new AbortController().signal);
  }

  it.each([
    ['accepts the token', good, true],
    ['rejects the token', { authenticated: false, error: 'token has been invalidated' }, false],
    ['sends a string for authenticated', { ...good, authenticated: 'true' }, false],
    ['names another user', { ...good, user: { username: 'admin' } }, false],
    ['names no user', { authenticated: true, audiences: ['api'] }, false],
    ['accepts the token for other audiences', { ...good, audiences: ['other'] }, false],
    ['omits audiences', { ...good, audiences: undefined }, false],
  ])('returns the decision of a target that %s', async (_, status, accepted) => {
    await expect(review(respondWith(status))).resolves.toBe(accepted);
  });

  it.each<[string, WireHandler, string]>([
    ['no status', respondWith(undefined), 'ResponseUntrusted'],
    ['another kind', (_, reply) => reply.json(201, { kind: 'Status', status: good }), 'ResponseUntrusted'],
    [
      'a denied review',
      (_, reply) => reply.json(403, errorStatus(403, 'User "x" cannot create resource "tokenreviews"')),
      'TargetForbidden',
    ],
    ['an error response that contains the token', ({ body }, reply) => reply.json(422, errorStatus(422, body)), 'RequestRejected'],
  ])('throws for %s', async (_, handler, reason) => {
    const failed = await review(handler).catch((error: unknown) => error);
    expect(failed).toMatchObject({ reason });
    expect(inspect(failed)).not.toMatch(/eyJ[\w-]{20}/);
  });
});
