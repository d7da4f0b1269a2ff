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

describe('issueToken with an untrusted response', () => {
  const past = Math.floor(Date.now() / 1000) - 60;
  it.each([
    ['for another service account', { claims: { sub: 'system:serviceaccount:kube-system:admin' } }],
    ['for other audiences', { claims: { aud: ['everything'] } }],
    ['for more audiences', { claims: { aud: ['api', 'more'] } }],
    ['for no audience', { claims: { aud: undefined } }],
    ['that has expired by its claims', { claims: { exp: past } }],
    ['that has expired by the response', { status: { expirationTimestamp: '2020-01-01T00:00:00Z' } }],
    ['without an expiry', { status: { expirationTimestamp: null } }],
    ['with an invalid expiry', { status: { expirationTimestamp: 'soon' } }],
    ['that is not valid yet', { claims: { nbf: past + 86_400 } }],
    ['bound to an object that was not requested', { claims: { 'kubernetes.io': { secret: { uid: 'x' } } } }],
    ['that is empty', { status: { token: '' } }],
    ['that is not a string', { status: { token: { toString: 'x' } } }],
    ['with a line break', { status: { token: 'abc\nX-Evil: 1' } }],
    ['with spaces', { status: { token: 'abc def' } }],
    ['that is too long', { status: { token: 'a'.repeat(20_000) } }],
    ['in a response without a status', { response: { status: null } }],
    ['in a response of another kind', { response: { kind: 'TokenReview' } }],
    ['in a response of another group', { response: { apiVersion: 'v1' } }],
  ])('rejects a token %s', async (_, change) => {
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
  ])('rejects a body: %s', async (_, body) => {
    const server = await world.serve((_request, reply) => reply.text(201, body));
    expect(await world.failureAt(server)).toMatchObject({ reason: 'ResponseUntrusted' });
  });

  it('rejects a response of 100 MB as soon as the limit is exceeded', async () => {
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

  it('rejects a compressed response', async () => {
    const bomb = gzipSync(Buffer.alloc(50 << 20));
    const target = await world.serveRaw((socket) => {
      socket.write(`HTTP/1.1 201 Created\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    });
    expect(await world.failureAt(target)).toMatchObject({ reason: 'ResponseUntrusted' });
  });

  it.each([301, 302, 303, 307, 308])('rejects a redirect (%i) without following it', async (code) => {
    const elsewhere = await world.serve(grants());
    const server = await world.serve((_, reply) => reply.text(code, '', { location: `${elsewhere.url}${TOKEN_PATH}` }));
    expect(await world.failureAt(server)).toMatchObject({ reason: 'ResponseUntrusted' });
    expect(elsewhere.requests).toEqual([]);
  });

  it.each([202, 204, 206])('rejects a success code other than 200 and 201 (%i)', async (code) => {
    const server = await world.serve((_, reply) => reply.text(code, ''));
    expect(await world.failureAt(server)).toMatchObject({ reason: 'ResponseUntrusted' });
  });
});

describe('issueToken with an endless response', () => {
  it.each<[string, WireHandler]>([
    ['no byte', () => undefined],
    ['headers only', (_, reply) => void reply.open()],
    [
      'one byte at a time',
      async (_, reply) => {
        reply.open();
        while (reply.isOpen) {
          reply.bytes(' ');
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
    ],
  ])('closes the connection after ten seconds: %s', async (_, handler) => {
    const server = await world.serve(handler);
    const start = world.clock.monotonic();
    const failed = await world.failureAt(server, REQUEST, () => expect(tokenRequests(server)).toHaveLength(1));
    // Bytes that trickle may reach the size limit first.
    expect(['ClusterTimeout', 'ResponseUntrusted']).toContain(failed.reason);
    expect(world.clock.monotonic() - start).toBeLessThan(11_000);
    await eventually(() => expect(server.openConnections).toBeLessThan(connectionsOf(server).size));
    await world.issuer.close();
    expect(world.clock.pending).toBe(0);
  });
});

describe('issueToken with a response that is not HTTP', () => {
  const body = JSON.stringify({ kind: 'TokenRequest' });
  it.each<[string, string, RegExp]>([
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n', /ResponseUntrusted|ClusterUnreachable/],
    ['a broken status line', 'HTTP/1.1 two hundred\r\n\r\n', /ResponseUntrusted/],
    ['endless headers', `HTTP/1.1 201 Created\r\n${'x-a: b\r\n'.repeat(20_000)}`, /ResponseUntrusted/],
    ['an invalid length', 'HTTP/1.1 201 Created\r\ncontent-length: -1\r\n\r\n', /ResponseUntrusted/],
    ['two lengths', 'HTTP/1.1 201 Created\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}', /ResponseUntrusted/],
    ['broken chunks', 'HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n', /ResponseUntrusted/],
    [
      'an upgrade to another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      /ResponseUntrusted|ClusterUnreachable/,
    ],
    ['the credential in place of the status', `HTTP/1.1 Bearer ${CREDENTIAL}\r\n\r\n`, /ResponseUntrusted/],
    ['a body shorter than its content-length', http('201 Created', body).slice(0, -3), /ClusterUnreachable|ClusterTimeout/],
  ])('rejects %s', async (_, bytes, reason) => {
    const target = await world.serveRaw((socket) => socket.end(bytes));
    expect((await world.failureAt(target)).reason).toMatch(reason);
  });

  it('accepts a limited number of 1xx responses before the final one', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n';
    const target = await world.serveRaw((socket) => socket.write(early.repeat(3) + http('401 Unauthorized', '')));
    expect(await world.failureAt(target)).toMatchObject({ reason: 'CredentialRejected' });
    const endless = await world.serveRaw((socket) => {
      const more = () => socket.writable && socket.write(early, () => setImmediate(more));
      more();
    });
    expect(await world.failureAt(endless)).toMatchObject({ reason: 'ResponseUntrusted' });
  });
});

describe('issueToken on a closed connection', () => {
  const response = http('201 Created', JSON.stringify({ kind: 'TokenRequest', status: {} }));
  it.each([0, 1, 12, 30, 60, response.length - 1])('fails after %i bytes of the response without repeating the request', async (length) => {
    let requests = 0;
    const target = await world.serveRaw((socket, cut) => {
      requests += 1;
      if (length === 0) cut();
      else socket.write(response.slice(0, length), cut);
    });
    expect(await world.failureAt(target)).toMatchObject({ reason: 'ClusterUnreachable' });
    expect(requests).toBe(1);
  });
});
