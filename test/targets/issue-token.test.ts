import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { TargetTokenRequest } from '../../src/targets/policy/grant.ts';
import { eventually } from '../kube/eventually.ts';
import { IssuerWorld, tokenRequests } from './issuer-world.ts';
import { CREDENTIAL } from './registration.ts';
import { ACCOUNT_UID, errorStatus, grant, grants, jwt, REQUEST, selfSubjectReview, TOKEN_PATH } from './wire-target.ts';

const HOUR = 3_600_000;

let world: IssuerWorld;

beforeEach(() => {
  world = new IssuerWorld();
});

afterEach(() => world.close());

describe('issueToken', () => {
  it("sends the token request with Purser's credential and only the requested fields", async () => {
    const server = await world.serve(grants());
    const boundObject = { kind: 'Secret', name: 'anchor', uid: 'anchor-uid' } as const;
    await world.issueAt(server, { ...REQUEST, boundObject }).catch(() => undefined);
    const [sent] = tokenRequests(server);
    expect(sent).toMatchObject({ method: 'POST', headers: { authorization: `Bearer ${CREDENTIAL}` } });
    expect(JSON.parse(sent?.body ?? '')).toEqual({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: {},
      spec: { audiences: ['api'], expirationSeconds: 3600, boundObjectRef: { apiVersion: 'v1', ...boundObject } },
    });
  });

  it('computes the expiry from the time of the request', async () => {
    const server = await world.serve((request, reply) => {
      world.clock.advance(5_000);
      grant(request, reply);
    });
    const sentAt = world.clock.now();
    const { token, issuedAt, expiresAt, claims } = await world.issueAt(server);
    expect({ issuedAt, expiresAt }).toEqual({ issuedAt: sentAt, expiresAt: sentAt + HOUR });
    expect(claims).toMatchObject({ id: 'a-jti', accountUID: ACCOUNT_UID });
    expect(token.reveal()).toMatch(/^eyJ/);
    expect(inspect(token)).toBe('[redacted]');
  });

  it.each([
    ['shorter than requested, in token and response', { claims: { exp: Math.floor(Date.now() / 1000) + 600 } }, 600],
    ['shorter in the response than in the token', { claims: { exp: Math.floor(Date.now() / 1000) + 31_536_000 } }, 3600],
  ])('uses the granted lifetime: %s', async (_, change, seconds) => {
    const server = await world.serve(grants(change));
    const { issuedAt, expiresAt } = await world.issueAt(server);
    expect(Math.abs(expiresAt - issuedAt - seconds * 1000)).toBeLessThan(30_000);
  });

  it("corrects for the target's clock with its Date header", async () => {
    const now = Date.now() + 2 * HOUR;
    const server = await world.serve(grants({ now, headers: { date: new Date(now).toUTCString() } }));
    const { issuedAt, expiresAt } = await world.issueAt(server);
    expect(expiresAt - issuedAt).toBe(HOUR);
  });

  it('rejects a token from the future if the target sends no Date header', async () => {
    const server = await world.serve(grants({ now: Date.now() + 2 * HOUR }));
    expect(await world.failureAt(server)).toMatchObject({ reason: 'ResponseUntrusted' });
  });

  it.each(['', 'yesterday', '0', 'Thu, 01 Jan 1970 00:00:00 GMT', 'Fri, 31 Dec 9999 23:59:59 GMT', '\u0001'])(
    'ignores the Date header %j',
    async (date) => {
      const server = await world.serve((request, reply) => grant(request, reply, { headers: { date: date.replace('\u0001', '~') } }));
      const { issuedAt, expiresAt } = await world.issueAt(server);
      expect(expiresAt - issuedAt).toBe(HOUR);
    },
  );

  it('accepts a token that is not a JWT', async () => {
    const server = await world.serve(grants({ status: { token: 'k8s-aws-v1.opaque' } }));
    const { token, claims, issuedAt, expiresAt } = await world.issueAt(server);
    expect([token.reveal(), claims]).toEqual(['k8s-aws-v1.opaque', undefined]);
    expect(Math.abs(expiresAt - issuedAt - HOUR)).toBeLessThan(2_000);
  });

  it("sends no request for an audience that is reserved for Purser's own tokens", async () => {
    const server = await world.serve(grants());
    const audiences = ['api', `purser:${server.url}`];
    expect(await world.failureAt(server, { ...REQUEST, audiences })).toMatchObject({ reason: 'InvalidSpec' });
    expect(server.requests).toEqual([]);
  });

  it('never requests 3607 seconds for a Pod', async () => {
    const server = await world.serve(grants());
    await world.issueAt(server, { ...REQUEST, expirationSeconds: 3607, boundObject: { kind: 'Pod', name: 'p' } }).catch(() => undefined);
    await world.issueAt(server, { ...REQUEST, expirationSeconds: 3607 });
    expect(tokenRequests(server).map(({ body }) => JSON.parse(body).spec.expirationSeconds)).toEqual([3606, 3607]);
  });

  it('sends the expected UID of the service account and compares the response', async () => {
    const server = await world.serve(grants());
    await expect(world.issueAt(server, { ...REQUEST, accountUID: ACCOUNT_UID })).resolves.toBeDefined();
    expect(JSON.parse(tokenRequests(server)[0]?.body ?? '').metadata).toEqual({ uid: ACCOUNT_UID });
    expect(await world.failureAt(server, { ...REQUEST, accountUID: 'another' })).toMatchObject({ reason: 'ServiceAccountRecreated' });
    server.handle((request, reply) =>
      request.path === TOKEN_PATH
        ? grant(request, reply, { status: { token: 'opaque' }, response: { metadata: { uid: ACCOUNT_UID } } })
        : reply.json(201, selfSubjectReview()),
    );
    expect(await world.failureAt(server, { ...REQUEST, accountUID: ACCOUNT_UID })).toMatchObject({ reason: 'ServiceAccountRecreated' });
  });

  it.each([
    ['a namespace with dots', { namespace: '..' }],
    ['a namespace with a slash', { namespace: 'a/b' }],
    ['a name that leaves the path', { name: '../../secrets' }],
    ['an empty name', { name: '' }],
    ['a bound object without a name', { boundObject: { kind: 'Pod', name: '' } as const }],
  ])('rejects %s without a request', async (_, change) => {
    const server = await world.serve(grants());
    expect(await world.failureAt(server, { ...REQUEST, ...change })).toMatchObject({ reason: 'InvalidSpec' });
    expect(server.requests).toEqual([]);
  });

  it('throws the reason of the aborted signal', async () => {
    const server = await world.serve(() => undefined);
    const controller = new AbortController();
    const issued = world.issueAt(server, REQUEST, controller.signal);
    await eventually(() => expect(tokenRequests(server)).toHaveLength(1));
    controller.abort(new Error('Purser stops'));
    await expect(issued).rejects.toThrow('Purser stops');
  });
});

describe('issueToken with an error response', () => {
  const details = (kind: string) => ({ reason: 'NotFound', details: { name: 'x', kind } });
  const bound = { ...REQUEST, boundObject: { kind: 'Secret', name: 'anchor' } } as const;
  it.each<[string, number, object, TargetTokenRequest, string]>([
    ['missing service account', 404, details('serviceaccounts'), REQUEST, 'ServiceAccountNotFound'],
    ['missing namespace', 404, details('namespaces'), REQUEST, 'ServiceAccountNotFound'],
    ['missing Secret', 404, details('secrets'), bound, 'BoundObjectNotFound'],
    ['missing Pod', 404, details('pods'), { ...REQUEST, boundObject: { kind: 'Pod', name: 'p' } }, 'BoundObjectNotFound'],
    ['another Secret of the same name', 409, { details: { name: 'anchor', kind: 'Secret' } }, bound, 'BoundObjectNotFound'],
    ['re-created service account', 409, { details: { kind: 'TokenRequest' } }, { ...REQUEST, accountUID: 'a' }, 'ServiceAccountRecreated'],
    ['a conflict of another kind', 409, {}, REQUEST, 'RequestRejected'],
    ['a 404 without details', 404, {}, bound, 'RequestRejected'],
    ['rejected credential', 401, {}, REQUEST, 'CredentialRejected'],
    ['an invalid request', 422, { reason: 'Invalid' }, REQUEST, 'RequestRejected'],
    ['an internal server error', 500, { reason: 'InternalError' }, REQUEST, 'TargetFailed'],
  ])('classifies the response: %s', async (_, ...[code, more, request, reason]) => {
    const server = await world.serve((_request, reply) => reply.json(code, errorStatus(code, 'no', more)));
    expect(await world.failureAt(server, request)).toMatchObject({ reason });
  });

  it.each<[string, number, string, TargetTokenRequest, string]>([
    [
      'a missing service account',
      404,
      'serviceaccounts',
      REQUEST,
      'the service account was not found: the cluster has no service account deploy/deployer. Create it on the cluster. If spec.serviceAccount of a ManagedToken names it, you can change spec.serviceAccount instead',
    ],
    [
      'a missing Secret',
      404,
      'secrets',
      bound,
      'the object to bind the token to was not found, or has a different UID: the cluster has no Secret deploy/anchor. If spec.boundObjectRef names it, create it on the cluster or change spec.boundObjectRef',
    ],
    [
      'another Secret of the same name',
      409,
      'Secret',
      bound,
      'the object to bind the token to was not found, or has a different UID: the Secret deploy/anchor has a different UID. If spec.boundObjectRef names it, change or remove spec.boundObjectRef.uid',
    ],
  ])('reports a remedy and the Status from the target: %s', async (_, ...[code, kind, request, message]) => {
    const status = errorStatus(code, 'x not found', { details: { name: 'x', kind } });
    const server = await world.serve((_request, reply) => reply.json(code, status));
    expect(await world.failureAt(server, request)).toMatchObject({ message, status });
  });

  it("removes Purser's credential and tokens in any encoding from the error", async () => {
    const escaped = CREDENTIAL.replace(/./g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
    const token = jwt({ sub: 'x'.repeat(40) });
    const message = `"got ${escaped}, ${CREDENTIAL} and ${token}"`;
    const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","code":422,"message":${message},"details":{"name":"${escaped}"}}`;
    const server = await world.serve((_, reply) => reply.text(422, body, { 'content-type': 'application/json' }));
    const failed = await world.failureAt(server);
    expect(failed.status?.details?.name).toBe('[redacted]');
    expect(failed.message).toContain('got [redacted], [redacted] and');
  });

  it('reports the error as one short line', async () => {
    const server = await world.serve((_, reply) => reply.json(422, errorStatus(422, `\u001b[31m<b>no</b>\n${'x '.repeat(9_000)}`)));
    expect((await world.failureAt(server)).message).toMatch(/: \[31m<b>no<\/b> x x [x ]+…$/);
  });

  it.each(['1', '30', '86400', 'soon', '-1', 'Wed, 21 Oct 2026 07:28:00 GMT'])(
    'returns the time until the next request for Retry-After: %s',
    async (seconds) => {
      const server = await world.serve((_, reply) => reply.json(429, errorStatus(429, 'slow down'), { 'retry-after': seconds }));
      const expected = { 30: 30_000, 86400: 300_000 }[seconds] ?? 1_000;
      expect(await world.failureAt(server)).toMatchObject({ reason: 'TargetThrottled', retryAfterMs: expected });
    },
  );
});
