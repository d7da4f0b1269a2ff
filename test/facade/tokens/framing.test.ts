// Headers and framing of requests.

import { connect } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ALLOWED, bytesOf, FacadeWorld, TOKEN_PATH, TOKEN_REQUEST, VALID_LINES } from '../facade-world.ts';
import { failureOf, responsesIn, statusOf } from '../raw-connection.ts';

let world: FacadeWorld;
beforeAll(async () => {
  world = await FacadeWorld.start();
  // With a cached review, a request that passes reaches the target immediately, where the test sees it.
  await world.post();
});
afterAll(() => world.close());

let before: readonly [number, number];
const requestCounts = () => [world.hub.requests.length, world.target.requests.length] as const;
beforeEach(() => {
  before = requestCounts();
});

const BODY = JSON.stringify(TOKEN_REQUEST);
const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n`;

describe('impersonation headers', () => {
  it.each([
    ['X-Remote-User', 'X-Remote-User: admin'],
    ['X-Remote-Group', 'X-Remote-Group: system:masters'],
    ['X-Remote-Extra', 'x-remote-extra-scopes: all'],
    ['Impersonate-User', 'Impersonate-User: admin'],
    ['impersonate-uid', 'impersonate-uid: 1'],
    ['IMPERSONATE-Group', 'IMPERSONATE-Group: system:masters'],
    ['Impersonate-Extra-x', 'Impersonate-Extra-x: y'],
    ['Impersonate-Future', 'Impersonate-Future: y'],
  ])('rejects an impersonation header without a request to the target: %s', async (_case, line) => {
    const response = await world.raw(bytesOf({ more: [line] }));
    expect(statusOf(response)).toBe(400);
    expect(failureOf(response)).toMatchObject({ reason: 'BadRequest' });
    expect(requestCounts()).toEqual(before);
  });
});

describe('headers of proxies', () => {
  it.each([
    'X-Forwarded-User: admin',
    'X-Forwarded-Client-Cert: Subject="CN=admin"',
    'X-Forwarded-Groups: system:masters',
    'Forwarded: for=admin',
  ])('ignores a header of a proxy: %s', async (line) => {
    const other = await FacadeWorld.start();
    expect(statusOf(await other.raw(bytesOf({ more: [line] })))).toBe(201);
    expect(other.hub.requests.map(({ body }) => JSON.parse(body) as object)).toEqual([
      expect.objectContaining({ kind: 'TokenReview', spec: { token: ALLOWED } }),
      expect.objectContaining({ spec: expect.objectContaining({ user: 'alice', uid: 'alice-uid', groups: ['system:authenticated'] }) }),
    ]);
    expect(JSON.stringify([...other.hub.requests, ...other.target.requests])).not.toMatch(/admin|masters/);
    await other.close();
  });
});

describe('request to the target', () => {
  /** Returns the headers of the last request to the target. */
  const sent = async (more: readonly string[]) => {
    expect(statusOf(await world.raw(bytesOf({ more })))).toBe(201);
    return world.tokenRequests.at(-1)?.rawHeaders;
  };

  it.each([
    ['an underscore', ['Impersonate_User: admin']],
    ['names of headers in Connection', ['Connection: close, Impersonate-User, Authorization, Host']],
    ['Connection in lower case', ['Connection: impersonate-group']],
    ['X-HTTP-Method-Override', ['X-HTTP-Method-Override: DELETE']],
    ['__proto__ and constructor', ['__proto__: x', 'constructor: y']],
    ['other headers', ['X-Forwarded-For: 1.2.3.4', 'Cookie: a=b', 'Accept-Language: de', 'Kubectl-Command: x']],
  ])("sends the same header bytes to the target regardless of the caller's headers: %s", async (_case, more) => {
    const baseline = await sent([]);
    expect(await sent(more)).toEqual(baseline);
  });
});

describe('malformed message', () => {
  it.each([
    ['a length and chunks', bytesOf({ more: ['Content-Length: 5', 'Transfer-Encoding: chunked'], body: chunked(BODY) })],
    ['two lengths', bytesOf({ more: ['Content-Length: 5', 'Content-Length: 6'] })],
    ['xchunked', bytesOf({ more: ['Transfer-Encoding: xchunked'], body: chunked(BODY) })],
    ['identity, chunked', bytesOf({ more: ['Transfer-Encoding: identity, chunked'], body: `${chunked(BODY)}\r\n` })],
    ['a folded line', bytesOf({ more: ['X-Folded: a\r\n b'] })],
    ['a space before the colon', bytesOf({ more: ['X-Space : a'] })],
    ['a bare line feed', Buffer.from(bytesOf().toString('latin1').replaceAll('\r\n', '\n'), 'latin1')],
    ['NUL in the target', bytesOf({ target: `${TOKEN_PATH}\0` })],
    ['HTTP/1.0 without a host', bytesOf({ version: '1.0', lines: VALID_LINES.slice(1) })],
    ['the preface of HTTP/2', Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
  ])('returns one 400 for a malformed message, and does not parse the following bytes: %s', async (_case, bytes) => {
    // The end of the message is ambiguous, so the bytes after it must not be parsed as a request.
    const response = await world.raw(Buffer.concat([bytes, bytesOf()]), { isEnough: () => false });
    expect(responsesIn(response.text).map(({ status }) => status)).toEqual([400]);
    expect(failureOf(response)).toMatchObject({ kind: 'Status', status: 'Failure', reason: 'BadRequest', code: 400 });
    expect(response).toMatchObject({ isClosed: true, text: expect.stringMatching(/\r\nconnection: close\r\n/i) });
    expect(requestCounts()).toEqual(before);
  });

  it('returns 400 for HTTP/1.1 without a Host header', async () => {
    const response = await world.raw(bytesOf({ lines: VALID_LINES.slice(1) }));
    expect(failureOf(response)).toMatchObject({ kind: 'Status', status: 'Failure', reason: 'BadRequest', code: 400 });
    expect(statusOf(response)).toBe(400);
    expect(requestCounts()).toEqual(before);
  });

  it('rejects a request with 3,000 headers', async () => {
    const response = await world.raw(bytesOf({ more: Array.from({ length: 3_000 }, (_, index) => `x-${index}: y`) }));
    expect([400, 431]).toContain(statusOf(response));
    expect(requestCounts()).toEqual(before);
  });

  it('returns 401 for Authorization in a trailer', async () => {
    const more = ['Transfer-Encoding: chunked', 'Trailer: Authorization'];
    const body = `${chunked(BODY)}Authorization: Bearer ${ALLOWED}\r\n\r\n`;
    const response = await world.raw(bytesOf({ lines: ['Host: facade.test', 'Content-Type: application/json'], more, body }));
    expect(statusOf(response)).toBe(401);
  });
});

describe('protocol upgrade', () => {
  it.each([
    [
      'websocket',
      ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='],
    ],
    ['h2c', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__']],
  ])('ignores a protocol upgrade: %s', async (_case, more) => {
    const response = await world.raw(bytesOf({ more }));
    expect(statusOf(response)).toBe(201);
  });

  it('rejects a TLS handshake that offers neither HTTP/1.1 nor HTTP/2', async () => {
    const outcome = await new Promise((resolve) => {
      const socket = connect({ port: world.port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['spdy/3', 'h2c'] });
      socket.on('secureConnect', () => {
        resolve(socket.alpnProtocol);
        socket.destroy();
      });
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    });
    expect(outcome).toBe('ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL');
  });
});

describe('Expect: 100-continue', () => {
  it('rejects an excessive body before the caller sends it', async () => {
    const bytes = bytesOf({ more: ['Expect: 100-continue', `Content-Length: ${1 << 30}`], body: '' });
    const response = await world.raw(bytes);
    expect(statusOf(response)).toBe(413);
    expect(response.text).not.toContain('100 Continue');
  });

  it('sends 100 Continue to an authorized caller', async () => {
    const bytes = bytesOf({ more: ['Expect: 100-continue', `Content-Length: ${BODY.length}`], body: '' });
    const response = await world.raw(bytes, { isEnough: (text) => text.endsWith('\r\n\r\n') });
    expect(response.text).toMatch(/^HTTP\/1\.1 100 Continue/);
  });

  it('sends no 100 Continue to an unauthenticated caller', async () => {
    const bytes = bytesOf({ lines: ['Host: facade.test'], more: ['Expect: 100-continue', `Content-Length: ${BODY.length}`], body: '' });
    const response = await world.raw(bytes, { isEnough: () => false });
    expect(response.text).toMatch(/^HTTP\/1\.1 401/);
    expect(response.isClosed).toBe(true);
  });
});
