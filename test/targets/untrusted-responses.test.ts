import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../kube/eventually.ts';
import type { WireHandler } from '../support/wire-server.ts';
import { connectionsOf, IssuerWorld, tokenRequests } from './issuer-world.ts';
import { http } from './raw-target.ts';
import { CREDENTIAL } from './registration.ts';
import { grants, REQUEST, TOKEN_PATH } from './wire-target.ts';

let world: IssuerWorld;

beforeEach(() => {
  world = new IssuerWorld();
});

afterEach(() => world.close());

describe('untrusted response', () => {
  const past = Math.floor(Date.now() / 1000) - 60;
  it.each([
    ['for another service account', { claims: { sub: 'system:serviceaccount:kube-system:admin' } }],
    ['for other audiences', { claims: { aud: ['everything'] } }],
    ['for more audiences', { claims: { aud: ['api', 'more'] } }],
    ['for no audience', { claims: { aud: undefined } }],
    ['past its expiry by its claims', { claims: { exp: past } }],
    ['past the expiry in the response', { status: { expirationTimestamp: '2020-01-01T00:00:00Z' } }],
    ['without an expiry', { status: { expirationTimestamp: null } }],
    ['with an invalid expiry', { status: { expirationTimestamp: 'soon' } }],
    ['not valid yet', { claims: { nbf: past + 86_400 } }],
    ['bound to an object that was not named', { claims: { 'kubernetes.io': { secret: { uid: 'x' } } } }],
    ['empty', { status: { token: '' } }],
    ['no text', { status: { token: { toString: 'x' } } }],
    ['with a line break', { status: { token: 'abc\nX-Evil: 1' } }],
    ['with spaces', { status: { token: 'abc def' } }],
    ['too long', { status: { token: 'a'.repeat(20_000) } }],
    ['without a status', { answer: { status: null } }],
    ['of another kind', { answer: { kind: 'TokenReview' } }],
    ['of another group', { answer: { apiVersion: 'v1' } }],
  ])('is rejected: a token %s', async (_, change) => {
    const server = await world.serve(grants(change));
    expect(await world.failureAt(server)).toMatchObject({ reason: 'ResponseUntrusted' });
  });

  it.each([
    ['HTML', '<html><script>alert(1)</script></html>'],
    [
      'truncated JSON',
      '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","status":{"token":"eyJhbGciOiJub25lIn0.eyJhbGciOiJub25lIn0',
    ],
    ['nothing', ''],
    ['null', 'null'],
    ['a list', '[]'],
    ['a number', '1e999'],
    ['deeply nested', '['.repeat(30_000)],
    ['with a key of the prototype', '{"__proto__":{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest"}}'],
    ['longer than 64 KiB', ' '.repeat(70_000)],
  ])('is rejected: %s', async (_, body) => {
    const server = await world.serve((_request, reply) => reply.text(201, body));
    expect(await world.failureAt(server)).toMatchObject({ reason: 'ResponseUntrusted' });
  });

  it('is rejected as soon as it is too long, before 100 MB arrive', async () => {
    let sent = 0;
    const server = await world.serve(async (_request, reply) => {
      reply.open();
      for (; sent < 100 && reply.isOpen; sent += 1) {
        reply.bytes('x'.repeat(1 << 20));
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    expect(await world.failureAt(server)).toMatchObject({ reason: 'ResponseUntrusted' });
    await eventually(() => expect(server.openConnections).toBeLessThan(connectionsOf(server).size));
    expect(sent).toBeLessThan(100);
  });

  it('is rejected if it is compressed', async () => {
    const bomb = gzipSync(Buffer.alloc(50 << 20));
    const target = await world.serveRaw((socket) => {
      socket.write(`HTTP/1.1 201 Created\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    });
    expect(await world.failureAt(target)).toMatchObject({ reason: 'ResponseUntrusted' });
  });

  it.each([301, 302, 303, 307, 308])('95: is refused: a redirect (%i), and nobody else hears of it', async (code) => {
    const elsewhere = await world.serve(grants());
    const server = await world.serve((_, reply) => reply.text(code, '', { location: `${elsewhere.url}${TOKEN_PATH}` }));
    expect(await world.failureAt(server)).toMatchObject({ reason: 'ResponseUntrusted' });
    expect(elsewhere.requests).toEqual([]);
  });

  it.each([202, 204, 206])('is refused: a success that is none (%i)', async (code) => {
    const server = await world.serve((_, reply) => reply.text(code, ''));
    expect(await world.failureAt(server)).toMatchObject({ reason: 'ResponseUntrusted' });
  });
});

describe('endless response', () => {
  it.each<[string, WireHandler]>([
    ['nothing at all', () => undefined],
    ['headers alone', (_, reply) => void reply.open()],
    [
      '94: a byte now and then',
      async (_, reply) => {
        reply.open();
        while (reply.isOpen) {
          reply.bytes(' ');
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
    ],
  ])('is aborted after ten seconds, with its connection: %s', async (_, handler) => {
    const server = await world.serve(handler);
    const start = world.clock.monotonic();
    const failed = await world.failureAt(server, REQUEST, () => expect(tokenRequests(server)).toHaveLength(1));
    // A drip of bytes may as well reach the size that is too much.
    expect(['ClusterTimeout', 'ResponseUntrusted']).toContain(failed.reason);
    expect(world.clock.monotonic() - start).toBeLessThan(11_000);
    await eventually(() => expect(server.openConnections).toBeLessThan(connectionsOf(server).size));
    await world.issuer.close();
    expect(world.clock.pending).toBe(0);
  });
});

describe('response that is not HTTP', () => {
  const body = JSON.stringify({ kind: 'TokenRequest' });
  it.each<[string, string, RegExp]>([
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n', /ResponseUntrusted|ClusterUnreachable/],
    ['a broken status line', 'HTTP/1.1 two hundred\r\n\r\n', /ResponseUntrusted/],
    ['endless headers', `HTTP/1.1 201 Created\r\n${'x-a: b\r\n'.repeat(20_000)}`, /ResponseUntrusted/],
    ['an invalid length', 'HTTP/1.1 201 Created\r\ncontent-length: -1\r\n\r\n', /ResponseUntrusted/],
    ['two lengths', 'HTTP/1.1 201 Created\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}', /ResponseUntrusted/],
    ['broken chunks', 'HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n', /ResponseUntrusted/],
    [
      'another protocol on offer',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      /ResponseUntrusted|ClusterUnreachable/,
    ],
    ['the credential in place of the status', `HTTP/1.1 Bearer ${CREDENTIAL}\r\n\r\n`, /ResponseUntrusted/],
    ['less than was promised', http('201 Created', body).slice(0, -3), /ClusterUnreachable|ClusterTimeout/],
  ])('fails: %s', async (_, bytes, reason) => {
    const target = await world.serveRaw((socket) => socket.end(bytes));
    expect((await world.failureAt(target)).reason).toMatch(reason);
  });

  it('may be preceded by a limited number of 1xx responses', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n';
    const target = await world.serveRaw((socket) => socket.write(early.repeat(3) + http('401 Unauthorized', '')));
    expect(await world.failureAt(target)).toMatchObject({ reason: 'CredentialRejected' });
    let isAsked = false;
    const endless = await world.serveRaw((socket) => {
      isAsked = true;
      const more = () => socket.writable && socket.write(early, () => setImmediate(more));
      more();
    });
    expect(await world.failureAt(endless, REQUEST, () => expect(isAsked).toBe(true))).toMatchObject({ reason: 'ClusterTimeout' });
  });
});

describe('connection that is closed', () => {
  const answer = http('201 Created', JSON.stringify({ kind: 'TokenRequest', status: {} }));
  it.each([0, 1, 12, 30, 60, answer.length - 1])('is a failure after %i bytes of the answer, and nothing is sent twice', async (length) => {
    let requests = 0;
    const target = await world.serveRaw((socket, cut) => {
      requests += 1;
      if (length === 0) cut();
      else socket.write(answer.slice(0, length), cut);
    });
    expect(await world.failureAt(target)).toMatchObject({ reason: 'ClusterUnreachable' });
    expect(requests).toBe(1);
  });
});
