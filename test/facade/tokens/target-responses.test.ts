// Responses from the target, which may be hostile.

import { connect } from 'node:tls';
import { afterEach, describe, expect, it } from '@jest/globals';
import { formatTimestamp } from '../../../src/std/timestamp.ts';
import { eventually } from '../../kube/eventually.ts';
import { FakeClock } from '../../support/clock.ts';
import { startWireServer, type WireHandler, type WireReply } from '../../support/wire-server.ts';
import { CREDENTIAL } from '../../targets/registration.ts';
import { ACCOUNT_UID, type Change, errorStatus, grant, grants, jwt, SUBJECT } from '../../targets/wire-target.ts';
import { ALLOWED, bytesOf, FacadeWorld, TOKEN_REQUEST } from '../facade-world.ts';
import { statusOf } from '../raw-connection.ts';

let world: FacadeWorld;
afterEach(() => world.close());

/** Returns a response with a token. */
function responseOf(audiences: readonly string[]): string {
  const at = Math.floor(Date.now() / 1000);
  const token = jwt({ sub: SUBJECT, aud: audiences, iat: at, nbf: at, exp: at + 3600 });
  const status = { token, expirationTimestamp: formatTimestamp((at + 3600) * 1000) };
  return JSON.stringify({
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { audiences, expirationSeconds: 3600 },
    status,
  });
}

const reasonOf = (body: string) => (JSON.parse(body) as { details?: { causes?: { reason: string }[] } }).details?.causes?.[0]?.reason;

describe('untrusted response from the target', () => {
  const past = Math.floor(Date.now() / 1000) - 60;
  const text =
    (body: string): WireHandler =>
    (_request, reply) =>
      reply.text(201, body, { 'content-type': 'application/json' });
  const changed = (change: Change): WireHandler => grants(change);
  it.each<readonly [string, WireHandler]>([
    ['an HTML page', text('<html></html>')],
    ['truncated JSON', text('{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","status":{"token":"ey')],
    ['10 MB', (_request, reply) => reply.text(201, ' '.repeat(10 << 20))],
    ['a token for another service account', changed({ claims: { sub: 'system:serviceaccount:kube-system:admin' } })],
    ['a token for other audiences', changed({ claims: { aud: ['others'] } })],
    ['an expired token', changed({ claims: { exp: past } })],
    ['an empty token', changed({ status: { token: '' } })],
    ['Purser’s own credential', changed({ status: { token: CREDENTIAL } })],
    ['a line break in the token', changed({ status: { token: 'a\r\nSet-Cookie: x' } })],
  ])('returns 503 for an untrusted response from the target: %s', async (_case, target) => {
    world = await FacadeWorld.start({ target });
    const { status, headers, body } = await world.post();
    expect({ status, reason: reasonOf(body) }).toEqual({ status: 503, reason: 'ResponseUntrusted' });
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(body).not.toMatch(/eyJ|kube-system|others/);
    expect(body).not.toContain(CREDENTIAL);
    const counted = (await world.scrape()).get('purser_token_issuances_total')?.samples;
    expect([...(counted ?? [])]).toEqual([[expect.stringContaining('["result","failure"]'), 1]]);
  });

  it('returns 409 for another service account of the same name', async () => {
    const serviceaccount = { name: 'deployer', uid: 'another' };
    world = await FacadeWorld.start({ target: grants({ claims: { 'kubernetes.io': { namespace: 'deploy', serviceaccount } } }) });
    const { status, body } = await world.post({ ...TOKEN_REQUEST, metadata: { uid: ACCOUNT_UID } });
    expect({ status, body: JSON.parse(body) as unknown }).toMatchObject({ status: 409, body: { kind: 'Status', reason: 'Conflict' } });
    expect(body).not.toContain('eyJ');
  });

  it('returns 504 if the target does not respond within ten seconds', async () => {
    const clock = new FakeClock(Date.now());
    world = await FacadeWorld.start({ clock, target: (_request, reply) => void reply.open().bytes('{') });
    let response: { status: number; body: string } | undefined;
    void world.post().then((found) => (response = found));
    await eventually(() => expect(world.tokenRequests).toHaveLength(1));
    await eventually(() => expect(response?.status).toBe(504), clock);
    expect(JSON.parse(response?.body ?? '')).toMatchObject({ reason: 'Timeout', message: expect.stringMatching(/^Timeout: /) });
  });

  it.each([301, 302, 307, 308])('follows no redirect from the target: %i', async (code) => {
    const redirectTarget = await startWireServer((_request, reply) => reply.text(201, ''));
    world = await FacadeWorld.start({ target: (_request, reply) => reply.text(code, '', { location: redirectTarget.url }) });
    const { status, headers } = await world.post();
    expect(status).toBe(503);
    expect(headers).not.toHaveProperty('location');
    expect(redirectTarget.requests).toEqual([]);
    await redirectTarget.close();
  });
});

describe('relayed response', () => {
  it('relays only allowed headers from the target', async () => {
    world = await FacadeWorld.start({
      target: grants({
        headers: { 'set-cookie': 'a=b', location: 'https://evil.test', 'x-evil': '1', warning: '299 - "shortened"', 'audit-id': 'theirs' },
      }),
    });
    const { status, headers } = await world.post();
    expect(status).toBe(201);
    expect(Object.keys(headers).toSorted()).toEqual([
      'audit-id',
      'cache-control',
      'connection',
      'content-length',
      'content-type',
      'date',
      'keep-alive',
      'warning',
    ]);
    expect(headers['warning']).toBe('299 - "shortened"');
    expect(headers['audit-id']).not.toBe('theirs');
  });

  it.each([
    ['a bare carriage return', '299 - "a\rSet-Cookie: x=y"', 503],
    ['a bare line feed', '299 - "a\nSet-Cookie: x=y"', 503],
    ['a separate header line', '299 - "a"\r\nSet-Cookie: x=y', 201],
    ['an escaped line break', '299 - "a%0d%0aSet-Cookie: x=y"', 201],
  ])('relays a Warning from the target as one header line, or rejects the response: %s', async (_case, warning, status) => {
    const body = responseOf(TOKEN_REQUEST.spec.audiences);
    const head = ['HTTP/1.1 201 Created', 'content-type: application/json', `warning: ${warning}`, `content-length: ${body.length}`];
    world = await FacadeWorld.start({ target: (_request, reply) => reply.raw([...head, '', body].join('\r\n')) });
    const response = await world.raw(bytesOf());
    expect(response.text.slice(0, response.text.indexOf('\r\n\r\n'))).not.toMatch(/[\r\n]set-cookie/i);
    expect(statusOf(response)).toBe(status);
  });

  it('relays the bytes of a Warning with non-ASCII text', async () => {
    const warning = Buffer.from('299 - "größer ✓"').toString('latin1');
    const body = responseOf(TOKEN_REQUEST.spec.audiences);
    const head = ['HTTP/1.1 201 Created', 'content-type: application/json', 'warning: 299 - "größer ✓"', `content-length: ${body.length}`];
    world = await FacadeWorld.start({ target: (_request, reply) => reply.raw([...head, '', body].join('\r\n')) });
    expect((await world.post()).headers['warning']).toBe(warning);
  });

  it('relays no warning with a credential or a token', async () => {
    world = await FacadeWorld.start({
      target: grants({ headers: { warning: `299 - "${CREDENTIAL}", 299 - "eyJhbGciOiJ9.eyJhbGci.x", 199 - "other"` } }),
    });
    expect((await world.post()).headers['warning']).toBe('299 - "[redacted]"');
  });

  it.each([
    ['401', errorStatus(401, 'Unauthorized', { reason: 'Unauthorized' }), 'CredentialRejected'],
    [
      '403',
      errorStatus(403, 'serviceaccounts "deployer" is forbidden: User "purser" cannot create resource "serviceaccounts/token"', {
        reason: 'Forbidden',
      }),
      'TargetForbidden',
    ],
  ])('hides errors about Purser’s credential: %s', async (code, response, reason) => {
    world = await FacadeWorld.start({ target: (_request, reply) => reply.json(Number(code), response) });
    const { status, headers, body } = await world.post();
    expect({ status, reason: reasonOf(body) }).toEqual({ status: 503, reason });
    expect(headers).not.toHaveProperty('www-authenticate');
  });

  it.each([
    ['86400', '300'],
    ['-1', '1'],
    ['Wed, 21 Oct 2099 07:28:00 GMT', '1'],
    ['7', '7'],
  ])('limits the Retry-After from the target: %s', async (given, expected) => {
    world = await FacadeWorld.start({
      target: (_request, reply) => reply.json(429, errorStatus(429, 'slow down', { reason: 'TooManyRequests' }), { 'retry-after': given }),
    });
    const { status, headers, body } = await world.post();
    expect({ status, retryAfter: headers['retry-after'] }).toEqual({ status: 429, retryAfter: expected });
    expect(JSON.parse(body)).toMatchObject({ message: 'slow down', details: { retryAfterSeconds: Number(expected) } });
  });

  it.each([
    [404, { reason: 'NotFound', details: { name: 'deployer', kind: 'serviceaccounts' } }],
    [409, { reason: 'Conflict', details: { name: 'deployer', kind: 'TokenRequest', group: 'authentication.k8s.io' } }],
    [
      403,
      {
        reason: 'Forbidden',
        details: { name: 'deployer', kind: 'serviceaccounts', causes: [{ reason: 'NamespaceTerminating', message: 'm', field: 'f' }] },
      },
    ],
    [422, { reason: 'Invalid', details: { group: 'g', kind: 'k' } }],
  ])('relays only the Status of a rejection with %i', async (code, more) => {
    const response = errorStatus(code, 'why', more);
    world = await FacadeWorld.start({
      target: (_request, reply) => reply.json(code, { ...response, evil: 1, details: { ...more.details, evil: 2 } }),
    });
    const { status, body } = await world.post();
    expect(status).toBe(code);
    expect(JSON.parse(body)).toEqual(response);
  });
});

describe('audit line of a token', () => {
  it('records one audit line without the token', async () => {
    world = await FacadeWorld.start();
    const { status, body } = await world.post();
    expect(status).toBe(201);
    const { token } = (JSON.parse(body) as { status: { token: string } }).status;
    const lines = world.lines.filter((line) => line.includes('"audit"'));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({
        decision: 'issued',
        user: 'alice',
        cluster: 'prod-eu',
        namespace: 'deploy',
        serviceAccount: 'deployer',
        audiences: ['api'],
        expirationSeconds: 3600,
        expiresAt: expect.stringMatching(/Z$/),
        credentialID: 'a-jti',
        requestID: expect.any(String),
      }),
    ]);
    for (const secret of [token, ALLOWED, CREDENTIAL, 'hub-credential']) expect(world.lines.join()).not.toContain(secret);
    const { text } = await world.raw(bytesOf());
    expect(text.match(/eyJ[\w-]+\.[\w-]+\./g)).toHaveLength(1);
  });

  it.each([
    ['a rejection', { spec: {} }, { decision: 'rejected', code: 422, reason: 'Invalid' }],
    [
      'a token in an audience',
      { spec: { audiences: ['eyJhbGciOiJub25lIn0.eyJhbGciOiJub25lIn0.x'] } },
      { decision: 'issued', audiences: ['[redacted]'] },
    ],
  ])('records one audit line for %s', async (_case, body, expected) => {
    world = await FacadeWorld.start();
    await world.post({ ...TOKEN_REQUEST, ...body });
    const lines = world.lines.filter((line) => line.includes('"audit"'));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([expect.objectContaining(expected)]);
  });

  it('records an audit line for a caller who disconnects', async () => {
    const held: WireReply[] = [];
    world = await FacadeWorld.start({ target: (_request, reply) => void held.push(reply) });
    const socket = connect({ port: world.port, host: '127.0.0.1', rejectUnauthorized: false });
    socket.on('secureConnect', () => socket.write(bytesOf()));
    await eventually(() => expect(held).toHaveLength(1));
    socket.destroy();
    await eventually(() => expect(held[0]?.isOpen).toBe(false));
    await eventually(() => expect(world.lines.filter((line) => line.includes('"audit"'))).toHaveLength(1));
    expect(JSON.parse(world.lines.at(-1) ?? '')).toMatchObject({ decision: 'abandoned' });
    expect(world.lines.join()).not.toContain('unexpected error');
    world.target.handle((request, reply) => grant(request, reply));
    expect((await world.post()).status).toBe(201);
  });
});
