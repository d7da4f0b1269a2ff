// Headers and framing: cases 24 to 40.

import { connect } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { bytesOf, FacadeWorld, GOOD, GOOD_LINES, TOKEN_PATH, TOKEN_REQUEST } from '../facade-world.ts';
import { answersIn, failureOf, statusOf } from '../raw-connection.ts';

let world: FacadeWorld;
beforeAll(async () => {
  world = await FacadeWorld.start();
  // Whoever is known already goes straight to the target: what must not get there would be seen at once.
  await world.post();
});
afterAll(() => world.close());

let before: readonly [number, number];
const asked = () => [world.hub.requests.length, world.target.requests.length] as const;
beforeEach(() => {
  before = asked();
});

const BODY = JSON.stringify(TOKEN_REQUEST);
const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n`;

describe('a request in the name of somebody else', () => {
  it.each([
    ['23: X-Remote-User', 'X-Remote-User: admin'],
    ['23: X-Remote-Group', 'X-Remote-Group: system:masters'],
    ['23: X-Remote-Extra', 'x-remote-extra-scopes: all'],
    ['24: Impersonate-User', 'Impersonate-User: admin'],
    ['25: impersonate-uid', 'impersonate-uid: 1'],
    ['25: IMPERSONATE-Group', 'IMPERSONATE-Group: system:masters'],
    ['25: Impersonate-Extra-x', 'Impersonate-Extra-x: y'],
    ['25: Impersonate-Future', 'Impersonate-Future: y'],
  ])('is refused, and nothing is sent, in case %s', async (_case, line) => {
    const answer = await world.raw(bytesOf({ more: [line] }));
    expect(statusOf(answer)).toBe(400);
    expect(failureOf(answer)).toMatchObject({ reason: 'BadRequest' });
    expect(asked()).toEqual(before);
  });
});

describe('what a proxy says of a caller', () => {
  it.each([
    'X-Forwarded-User: admin',
    'X-Forwarded-Client-Cert: Subject="CN=admin"',
    'X-Forwarded-Groups: system:masters',
    'Forwarded: for=admin',
  ])('is not believed, in case 23: %s', async (line) => {
    const other = await FacadeWorld.start();
    expect(statusOf(await other.raw(bytesOf({ more: [line] })))).toBe(201);
    expect(other.hub.requests.map(({ body }) => JSON.parse(body) as object)).toEqual([
      expect.objectContaining({ kind: 'TokenReview', spec: { token: GOOD } }),
      expect.objectContaining({ spec: expect.objectContaining({ user: 'alice', uid: 'alice-uid', groups: ['system:authenticated'] }) }),
    ]);
    expect(JSON.stringify([...other.hub.requests, ...other.target.requests])).not.toMatch(/admin|masters/);
    await other.close();
  });
});

describe('what goes to the target', () => {
  /** The headers of the request that the target saw last. */
  const sent = async (more: readonly string[]) => {
    expect(statusOf(await world.raw(bytesOf({ more })))).toBe(201);
    return world.tokenRequests.at(-1)?.rawHeaders;
  };

  it.each([
    ['26: an underscore', ['Impersonate_User: admin']],
    ['27: Connection names headers', ['Connection: close, Impersonate-User, Authorization, Host']],
    ['28: Connection in lower case', ['Connection: impersonate-group']],
    ['34: X-HTTP-Method-Override', ['X-HTTP-Method-Override: DELETE']],
    ['35: __proto__ and constructor', ['__proto__: x', 'constructor: y']],
    ['headers that callers invent', ['X-Forwarded-For: 1.2.3.4', 'Cookie: a=b', 'Accept-Language: de', 'Kubectl-Command: x']],
  ])('has the headers of any other request, byte for byte, in case %s', async (_case, more) => {
    const baseline = await sent([]);
    expect(await sent(more)).toEqual(baseline);
  });
});

describe('a message that HTTP does not know', () => {
  it.each([
    ['30: a length and chunks', bytesOf({ more: ['Content-Length: 5', 'Transfer-Encoding: chunked'], body: chunked(BODY) })],
    ['31: two lengths', bytesOf({ more: ['Content-Length: 5', 'Content-Length: 6'] })],
    ['32: xchunked', bytesOf({ more: ['Transfer-Encoding: xchunked'], body: chunked(BODY) })],
    ['32: identity, chunked', bytesOf({ more: ['Transfer-Encoding: identity, chunked'], body: `${chunked(BODY)}\r\n` })],
    ['33: a folded line', bytesOf({ more: ['X-Folded: a\r\n b'] })],
    ['33: a space before the colon', bytesOf({ more: ['X-Space : a'] })],
    ['33: a bare line feed', Buffer.from(bytesOf().toString('latin1').replaceAll('\r\n', '\n'), 'latin1')],
    ['33: NUL in the target', bytesOf({ target: `${TOKEN_PATH}\0` })],
    ['39: HTTP/1.0 without a host', bytesOf({ version: '1.0', lines: GOOD_LINES.slice(1) })],
    ['40: the preface of HTTP/2', Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
  ])('is refused by 400, with whatever comes behind it, in case %s', async (_case, bytes) => {
    // Where it ends is in doubt: nothing behind it may be taken for a request.
    const answer = await world.raw(Buffer.concat([bytes, bytesOf()]), { isEnough: () => false });
    expect(answersIn(answer.text).map(({ status }) => status)).toEqual([400]);
    expect(failureOf(answer)).toMatchObject({ kind: 'Status', status: 'Failure', reason: 'BadRequest', code: 400 });
    expect(answer).toMatchObject({ isClosed: true, text: expect.stringMatching(/\r\nconnection: close\r\n/i) });
    expect(asked()).toEqual(before);
  });

  it('is refused by 400, in case 39: HTTP/1.1 without a host', async () => {
    const answer = await world.raw(bytesOf({ lines: GOOD_LINES.slice(1) }));
    expect(failureOf(answer)).toMatchObject({ kind: 'Status', status: 'Failure', reason: 'BadRequest', code: 400 });
    expect(statusOf(answer)).toBe(400);
    expect(asked()).toEqual(before);
  });

  it('is 3,000 headers, in case 36', async () => {
    const answer = await world.raw(bytesOf({ more: Array.from({ length: 3_000 }, (_, index) => `x-${index}: y`) }));
    expect([400, 431]).toContain(statusOf(answer));
    expect(asked()).toEqual(before);
  });

  it('has its authorization in a trailer, in case 37', async () => {
    const more = ['Transfer-Encoding: chunked', 'Trailer: Authorization'];
    const body = `${chunked(BODY)}Authorization: Bearer ${GOOD}\r\n\r\n`;
    const answer = await world.raw(bytesOf({ lines: ['Host: facade.test', 'Content-Type: application/json'], more, body }));
    expect(statusOf(answer)).toBe(401);
  });
});

describe('a change of protocols', () => {
  it.each([
    [
      '29: websocket',
      ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='],
    ],
    ['29: h2c', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__']],
  ])('is not made, in case %s', async (_case, more) => {
    const answer = await world.raw(bytesOf({ more }));
    expect(statusOf(answer)).toBe(201);
  });

  it('is not offered in TLS, in case 40', async () => {
    const outcome = await new Promise((resolve) => {
      const socket = connect({ port: world.port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] });
      socket.on('secureConnect', () => {
        resolve(socket.alpnProtocol);
        socket.destroy();
      });
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    });
    expect(outcome).not.toBe('h2');
  });
});

describe('a body that is announced', () => {
  it('is refused before it is sent, in case 38', async () => {
    const bytes = bytesOf({ more: ['Expect: 100-continue', `Content-Length: ${1 << 30}`], body: '' });
    const answer = await world.raw(bytes);
    expect(statusOf(answer)).toBe(413);
    expect(answer.text).not.toContain('100 Continue');
  });

  it('is asked for when it may come', async () => {
    const bytes = bytesOf({ more: ['Expect: 100-continue', `Content-Length: ${BODY.length}`], body: '' });
    const answer = await world.raw(bytes, { isEnough: (text) => text.endsWith('\r\n\r\n') });
    expect(answer.text).toMatch(/^HTTP\/1\.1 100 Continue/);
  });

  it('is not asked for when nobody may send it', async () => {
    const bytes = bytesOf({ lines: ['Host: facade.test'], more: ['Expect: 100-continue', `Content-Length: ${BODY.length}`], body: '' });
    const answer = await world.raw(bytes, { isEnough: () => false });
    expect(answer.text).toMatch(/^HTTP\/1\.1 401/);
    expect(answer.isClosed).toBe(true);
  });
});
