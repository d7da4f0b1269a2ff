import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { WireHandler } from '../support/wire-server.ts';
import { clusterAt, IssuerWorld } from './issuer-world.ts';
import { grants, refusal, SUBJECT } from './wire-target.ts';

let world: IssuerWorld;

beforeEach(() => {
  world = new IssuerWorld();
});

afterEach(() => world.close());

describe('reviewToken', () => {
  const answer =
    (status: unknown): WireHandler =>
    (_, reply) =>
      reply.json(201, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', status });
  const good = { authenticated: true, user: { username: SUBJECT }, audiences: ['api'] };

  async function review(handler: WireHandler): Promise<boolean> {
    const server = await world.serve(handler);
    const { token } = await world.ask(await world.serve(grants()));
    return await world.issuer.review(clusterAt(server.url), { token, subject: SUBJECT, audiences: ['api'] }, new AbortController().signal);
  }

  it.each([
    ['accepts it', good, true],
    ['refuses it', { authenticated: false, error: 'token has been invalidated' }, false],
    ['does not say yes, but something like it', { ...good, authenticated: 'true' }, false],
    ['takes it for another user', { ...good, user: { username: 'admin' } }, false],
    ['names no user', { authenticated: true, audiences: ['api'] }, false],
    ['accepts it for other audiences', { ...good, audiences: ['other'] }, false],
    ['leaves audiences out', { ...good, audiences: undefined }, false],
  ])('returns the decision of a target that %s', async (_, status, accepted) => {
    await expect(review(answer(status))).resolves.toBe(accepted);
  });

  it.each<[string, WireHandler, string]>([
    ['no status', answer(undefined), 'ResponseUntrusted'],
    ['another kind', (_, reply) => reply.json(201, { kind: 'Status', status: good }), 'ResponseUntrusted'],
    ['a refusal', (_, reply) => reply.json(403, refusal(403, 'User "x" cannot create resource "tokenreviews"')), 'TargetForbidden'],
    ['its own token in a refusal', ({ body }, reply) => reply.json(422, refusal(422, body)), 'RequestRejected'],
  ])('throws for %s', async (_, handler, reason) => {
    const failed = await review(handler).catch((error: unknown) => error);
    expect(failed).toMatchObject({ reason });
    expect(inspect(failed)).not.toMatch(/eyJ[\w-]{20}/);
  });
});
