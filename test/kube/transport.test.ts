import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Socket, connect as tcpConnect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Cluster, User } from '@kubernetes/client-node';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { createTransport, type Transport, type TransportOptions } from '../../src/kube/transport.ts';
import { Sensitive } from '../../src/std/sensitive.ts';
import { createAuthority, issueClientCertificate, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { FakeClock } from '../support/clock.ts';
import { startWireServer, type WireHandler, type WireServer, type WireServerOptions } from '../support/wire-server.ts';
import { eventually } from './eventually.ts';

const GET = { method: 'GET', path: '/x' } as const;
const POST = { method: 'POST', path: '/x', body: '{}' } as const;

let clock: FakeClock;
let folder: string;
const closing: (() => Promise<void>)[] = [];

beforeEach(() => {
  clock = new FakeClock();
  folder = mkdtempSync(join(tmpdir(), 'purser-'));
});

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true });
});

async function serve(handler: WireHandler, options?: WireServerOptions): Promise<WireServer> {
  const server = await startWireServer(handler, options);
  closing.push(() => server.close());
  return server;
}

function connect(
  server: WireServer,
  user: Partial<User> = {},
  more: Partial<TransportOptions & { cluster: Partial<Cluster> }> = {},
): Transport {
  const { cluster, ...options } = more;
  const config = createFixedConfig({ name: 'c', server: server.url, skipTLSVerify: false, ...cluster }, { name: 'u', ...user });
  const transport = createTransport(config, { clock, ...options });
  closing.push(() => transport.close());
  return transport;
}

const echo: WireHandler = (request, reply) => reply.json(200, { authorization: request.headers.authorization ?? '' });

describe('transport', () => {
  it('sends requests below the path of the server URL, without undefined query parameters', async () => {
    const server = await serve(echo);
    await connect(server, {}, { cluster: { server: `${server.url}/k8s/c-1/` } }).request({ ...GET, query: { a: 'b c', gone: undefined } });
    expect(server.requests[0]).toMatchObject({ path: '/k8s/c-1/x' });
    expect([...(server.requests[0]?.query ?? [])]).toEqual([['a', 'b c']]);
  });

  it('reuses one connection for sequential requests', async () => {
    const server = await serve(echo);
    const transport = connect(server);
    for (let round = 0; round < 5; round += 1) await transport.request(GET);
    expect(new Set(server.requests.map(({ connection }) => connection)).size).toBe(1);
  });

  it('never follows a redirect', async () => {
    const elsewhere = await serve(echo);
    const server = await serve((_, reply) => reply.text(307, '', { location: `${elsewhere.url}/x` }));
    await expect(connect(server, { token: 'secret-token' }).request(POST)).resolves.toMatchObject({ status: 307 });
    expect(elsewhere.requests).toEqual([]);
  });

  it('rejects a response above the size limit', async () => {
    const server = await serve((_, reply) => void reply.open().bytes('x'.repeat(5_000)));
    await expect(connect(server, {}, { maxBytes: 1_000 }).request(GET)).rejects.toMatchObject({ code: 'EMSGSIZE' });
  });

  it.each([
    [3, { status: 200 }],
    [9, { code: 'EBADMSG' }],
  ])('accepts at most eight interim responses before a response: %i', async (count, expected) => {
    const server = await serve((_, reply) => {
      reply.raw(`${'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(count)}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}`);
    });
    await expect(
      connect(server)
        .request(GET)
        .catch((error: unknown) => error),
    ).resolves.toMatchObject(expected);
  });

  it('times out when the server never responds', async () => {
    const server = await serve(() => undefined);
    const reply = connect(server).request({ ...GET, timeoutMs: 3_000 });
    await eventually(() => expect(server.requests).toHaveLength(1));
    clock.advance(3_000);
    await expect(reply).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    expect(clock.pending).toBe(0);
  });

  describe('connections from before a request without a response', () => {
    /** Returns two transports with idle connections, all of which the network has dropped. */
    async function dropConnections() {
      const lost = new Set<number>();
      const server = await serve(({ connection }, reply) => void (!lost.has(connection) && reply.json(200, {})));
      const transport = connect(server);
      const beside = connect(server, {}, { streams: transport.streams });
      await Promise.all([transport, transport, beside].map((each) => each.request(GET)));
      for (const { connection } of server.requests) lost.add(connection);
      expect(lost.size).toBe(3);
      clock.advance(1);
      return { server, transport, beside };
    }

    const timeOut = async (server: WireServer, transport: Transport) => {
      const before = server.requests.length;
      const reply = transport.request({ ...GET, timeoutMs: 3_000 });
      await eventually(() => expect(server.requests.length).toBeGreaterThan(before));
      clock.advance(3_000);
      await expect(reply).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    };

    it('does not reuse connections from before a request without a response', async () => {
      const { server, transport } = await dropConnections();
      await timeOut(server, transport);
      await expect(transport.request(GET)).resolves.toMatchObject({ status: 200 });
    });

    it('does not reuse older connections after another transport to the server fails', async () => {
      const { server, transport, beside } = await dropConnections();
      await timeOut(server, beside);
      await expect(transport.request(GET)).resolves.toMatchObject({ status: 200 });
    });

    it('replaces older connections once if several requests fail', async () => {
      const { server, transport } = await dropConnections();
      const before = server.requests.length;
      const replies = [0, 1].map(() => transport.request({ ...GET, timeoutMs: 3_000 }).catch((error: unknown) => error));
      await eventually(() => expect(server.requests.length).toBe(before + 2));
      clock.advance(3_000);
      await Promise.all(replies);
      for (let round = 0; round < 3; round++) await transport.request(GET);
      expect(new Set(server.requests.slice(before + 2).map(({ connection }) => connection)).size).toBe(1);
    });
  });

  it('times out independently of the wall clock', async () => {
    const server = await serve(() => undefined);
    const reply = connect(server).request({ ...GET, timeoutMs: 3_000 });
    await eventually(() => expect(server.requests).toHaveLength(1));
    clock.set(clock.now() - 3_600_000);
    clock.advance(3_000);
    await expect(reply).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  });

  it('times out when the server never completes the TLS handshake', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const transport = createTransport(
      createFixedConfig({ name: 'c', server: `https://127.0.0.1:${port}`, skipTLSVerify: false }, { name: 'u' }),
      {
        clock,
      },
    );
    const reply = transport.request({ ...GET, timeoutMs: 3_000 });
    await eventually(() => expect(sockets).toHaveLength(1));
    clock.advance(3_000);
    await expect(reply).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    await transport.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
  });

  it('times out when the response never ends', async () => {
    const server = await serve((_, reply) => void reply.open().bytes('{'));
    const reply = connect(server).request({ ...GET, timeoutMs: 3_000 });
    await eventually(() => expect(server.requests).toHaveLength(1));
    clock.advance(3_000);
    await expect(reply).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  });

  it('rejects with the reason of the signal when the caller aborts', async () => {
    const server = await serve(() => undefined);
    const controller = new AbortController();
    const reply = connect(server).request({ ...GET, signal: controller.signal });
    await eventually(() => expect(server.requests).toHaveLength(1));
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(reply).rejects.toBe(reason);
    expect(clock.pending).toBe(0);
  });

  it('repeats a GET once when the connection closes before a response', async () => {
    const server = await serve((_, reply) => reply.reset());
    const transport = connect(server);
    server.handle((request, reply) => (server.requests.length === 1 ? reply.reset() : echo(request, reply)));
    await expect(transport.request(GET)).resolves.toMatchObject({ status: 200 });
    expect(server.requests).toHaveLength(2);
  });

  it('never repeats a write', async () => {
    const server = await serve((_, reply) => reply.reset());
    await expect(connect(server).request(POST)).rejects.toMatchObject({ name: 'TransportError' });
    expect(server.requests).toHaveLength(1);
  });

  it('reports a refused connection', async () => {
    const server = await serve(echo);
    const transport = connect(server);
    await server.close();
    await expect(transport.request(GET)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('fails requests in progress and later requests after close', async () => {
    const server = await serve(() => undefined);
    const transport = connect(server);
    const reply = transport.request(GET);
    await eventually(() => expect(server.requests).toHaveLength(1));
    const failed = reply.catch((error: unknown) => error);
    await transport.close();
    expect(await failed).toMatchObject({ name: 'TransportError' });
    await expect(transport.request(GET)).rejects.toMatchObject({ code: 'ECANCELED' });
  });

  it.each([
    ['plain HTTP outside loopback', { server: 'http://10.0.0.1:6443' }, /use https/],
    ['another protocol', { server: 'ftp://127.0.0.1' }, /use https/],
    ['an address that is not allowed', { server: 'https://169.254.169.254' }, /are not allowed/],
  ])('rejects %s', (_, cluster, message) => {
    const mayDial = (address: string) => !address.startsWith('169.254.');
    const config = createFixedConfig({ name: 'c', skipTLSVerify: false, ...cluster }, { name: 'u' });
    expect(() => createTransport(config, { clock, mayDial })).toThrow(message);
  });

  it('rejects a name that resolves to an address that is not allowed', async () => {
    const server = await serve(echo);
    const named = { server: server.url.replace('127.0.0.1', 'localhost') };
    const transport = connect(server, {}, { cluster: named, mayDial: () => false });
    await expect(transport.request(GET)).rejects.toThrow('are not allowed');
    expect(server.requests).toEqual([]);
  });

  it('resolves a name at every connect and connects only to the checked address', async () => {
    const server = await serve((_, reply) => reply.reset());
    const resolved = [['127.0.0.1'], ['169.254.169.254'], ['127.0.0.1', '169.254.169.254']];
    const findAddresses = async () => (resolved.shift() ?? []).map((address) => ({ address, family: 4 }));
    const mayDial = (address: string) => address.startsWith('127.');
    const cluster = { server: server.url.replace('127.0.0.1', 'rebound.test') };
    const transport = connect(server, {}, { cluster: { ...cluster, skipTLSVerify: true }, findAddresses, mayDial });
    const send = () => transport.request({ method: 'POST', path: '/x' });
    await expect(send()).rejects.toMatchObject({ code: expect.stringMatching(/UND_ERR_SOCKET|ECONNRESET/) });
    await expect(send()).rejects.toMatchObject({ code: 'ERR_ADDRESS_REFUSED' });
    await expect(send()).rejects.toMatchObject({ code: 'ERR_ADDRESS_REFUSED' });
    expect(resolved).toEqual([]);
    expect(server.requests).toHaveLength(1);
  });

  it('connects through the proxy of the cluster with TLS to the server', async () => {
    const authority = createAuthority(Date.now());
    const { certificate: cert, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
    const server = await serve((_, reply) => void reply.open().bytes('through'), { tls: { cert, key } });
    const targets: string[] = [];
    const proxy = createHttpServer().on('connect', (request, socket: Socket) => {
      targets.push(request.url ?? '');
      const upstream = tcpConnect(Number(request.url?.split(':')[1]), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        socket.pipe(upstream).pipe(socket);
      });
      for (const end of [socket, upstream]) end.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    closing.push(async () => void proxy.close());
    const address = proxy.address();
    const proxyUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const transport = connect(server, {}, { cluster: { proxyUrl, caData: Buffer.from(authority.certificate).toString('base64') } });
    const stream = await transport.stream({ ...GET, idleMs: 1_000 });
    if (stream.type !== 'stream') throw new Error('rejected');
    for await (const chunk of stream.chunks) {
      expect(Buffer.from(chunk).toString()).toBe('through');
      break;
    }
    expect(targets).toEqual([new URL(server.url).host]);
  });

  describe('transport streams', () => {
    it('fails a stream that receives no byte within the idle timeout', async () => {
      const server = await serve((_, reply) => void reply.open().bytes('a'));
      const stream = await connect(server).stream({ ...GET, idleMs: 100_000 });
      if (stream.type !== 'stream') throw new Error('rejected');
      const chunks = stream.chunks[Symbol.asyncIterator]();
      await chunks.next();
      const next = chunks.next().catch((error: unknown) => error);
      clock.advance(99_999);
      expect(clock.pending).toBe(1);
      clock.advance(1);
      expect(await next).toMatchObject({ code: 'ETIMEDOUT' });
      expect(clock.pending).toBe(0);
    });

    it('keeps a stream open that is silent for longer than the request timeout', async () => {
      const server = await serve((_, reply) => void reply.open());
      const stream = await connect(server).stream({ ...GET, timeoutMs: 3_000, idleMs: 100_000 });
      if (stream.type !== 'stream') throw new Error('rejected');
      const next = stream.chunks[Symbol.asyncIterator]()
        .next()
        .catch((error: unknown) => error);
      clock.advance(99_999);
      expect(clock.pending).toBe(1);
      clock.advance(1);
      expect(await next).toMatchObject({ code: 'ETIMEDOUT' });
    });

    it('keeps a stream while bytes arrive', async () => {
      let send: (text: string) => void = () => undefined;
      const server = await serve((_, reply) => {
        reply.open();
        send = (text) => void reply.bytes(text);
      });
      const stream = await connect(server).stream({ ...GET, idleMs: 100_000 });
      if (stream.type !== 'stream') throw new Error('rejected');
      const chunks = stream.chunks[Symbol.asyncIterator]();
      for (const text of ['a', 'b', 'c']) {
        send(text);
        expect(Buffer.from((await chunks.next()).value ?? []).toString()).toBe(text);
        clock.advance(90_000);
      }
      await chunks.return?.(undefined);
      expect(clock.pending).toBe(0);
    });

    describe('transport streams after requests without a response', () => {
      /** Returns a stream that has received a byte, on a server that leaves requests pending until `isBack`. */
      async function openSilentStream() {
        const state = { isBack: false, say: (_text: string): void => undefined };
        const server = await serve((request, reply) => {
          if (request.path === '/watch') {
            state.say = (text) => void reply.bytes(text);
            reply.open().bytes('a');
          } else if (state.isBack) reply.json(200, {});
        });
        const transport = connect(server);
        const stream = await transport.stream({ ...GET, path: '/watch', idleMs: 100_000 });
        if (stream.type !== 'stream') throw new Error('rejected');
        const chunks = stream.chunks[Symbol.asyncIterator]();
        await chunks.next();
        clock.advance(1);
        const beside = connect(server, {}, { streams: transport.streams });
        const send = async (abort?: AbortController, way = transport) => {
          const requestsBefore = server.requests.length;
          const reply = way.request({ ...GET, timeoutMs: 10_000, signal: abort?.signal }).catch((error: unknown) => error);
          await eventually(() => expect(server.requests.length).toBeGreaterThan(requestsBefore));
          return { reply };
        };
        return { state, chunks, send, beside };
      }

      it('ends silent streams when the server responds again', async () => {
        const { state, chunks, send } = await openSilentStream();
        const next = chunks.next().catch((error: unknown) => error);
        const pending = await send();
        clock.advance(10_000);
        expect(await pending.reply).toMatchObject({ code: 'ETIMEDOUT' });
        state.isBack = true;
        await (await send()).reply;
        clock.advance(0);
        expect(await next).toMatchObject({ code: 'ETIMEDOUT' });
        expect(clock.pending).toBe(0);
      });

      it('ends silent streams after a response on another transport', async () => {
        const { state, chunks, send, beside } = await openSilentStream();
        const next = chunks.next().catch((error: unknown) => error);
        const pending = await send(undefined, beside);
        clock.advance(10_000);
        await pending.reply;
        state.isBack = true;
        await (await send(undefined, beside)).reply;
        clock.advance(0);
        expect(await next).toMatchObject({ code: 'ETIMEDOUT' });
      });

      it('keeps streams while other requests get responses', async () => {
        const { state, chunks, send } = await openSilentStream();
        const pending = await send();
        clock.advance(6_000);
        state.isBack = true;
        await (await send()).reply;
        clock.advance(4_000);
        await pending.reply;
        await (await send()).reply;
        clock.advance(0);
        state.say('b');
        expect(Buffer.from((await chunks.next()).value ?? []).toString()).toBe('b');
        await chunks.return?.(undefined);
      });

      it('keeps streams that receive bytes during the outage', async () => {
        const { state, chunks, send } = await openSilentStream();
        const pending = await send();
        state.say('b');
        await chunks.next();
        clock.advance(10_000);
        await pending.reply;
        state.isBack = true;
        await (await send()).reply;
        clock.advance(0);
        state.say('c');
        expect(Buffer.from((await chunks.next()).value ?? []).toString()).toBe('c');
        await chunks.return?.(undefined);
      });

      it.each([
        ['ends silent streams after a caller has waited two seconds for a response and aborted', 2_000, 3_000, { code: 'ETIMEDOUT' }],
        ['keeps silent streams after a caller has aborted within two seconds', 1_999, 9_000, { value: expect.anything() }],
        ['keeps silent streams after an outage of less than five seconds', 2_000, 2_999, { value: expect.anything() }],
      ])('%s', async (_what, waitedMs, moreMs, outcome) => {
        const { state, chunks, send } = await openSilentStream();
        const next = chunks.next().catch((error: unknown) => error);
        const caller = new AbortController();
        const pending = await send(caller);
        clock.advance(waitedMs);
        caller.abort();
        await pending.reply;
        clock.advance(moreMs);
        state.isBack = true;
        await (await send()).reply;
        clock.advance(0);
        state.say('b');
        expect(await next).toMatchObject(outcome);
      });
    });

    it('leaves no timer when the reader aborts between two chunks', async () => {
      const server = await serve((_, reply) => void reply.open().bytes('a'));
      const controller = new AbortController();
      const stream = await connect(server).stream({ ...GET, idleMs: 100_000, signal: controller.signal });
      if (stream.type !== 'stream') throw new Error('rejected');
      await stream.chunks[Symbol.asyncIterator]().next();
      controller.abort();
      expect(clock.pending).toBe(0);
    });

    it('returns the complete body of an error response', async () => {
      const server = await serve((_, reply) => reply.text(429, 'later', { 'retry-after': '7' }));
      const stream = await connect(server).stream({ ...GET, idleMs: 1_000 });
      expect(stream).toMatchObject({ type: 'rejected', response: { status: 429, body: 'later', headers: { 'retry-after': '7' } } });
      expect(clock.pending).toBe(0);
    });
  });

  describe('transport credentials', () => {
    const tokenFile = (path: string) => ({ authProvider: { name: 'tokenFile', config: { tokenFile: path } } });

    it('reads a rotated token file again', async () => {
      const path = join(folder, 'token');
      const server = await serve(echo);
      const transport = connect(server, tokenFile(path), { rereadMs: 5_000 });
      const sent = async () => (await transport.request(GET)).body;
      writeFileSync(path, 'first-token\n');
      expect(await sent()).toContain('"Bearer first-token"');
      writeFileSync(path, 'second-token');
      expect(await sent()).toContain('first-token');
      clock.advance(5_000);
      expect(await sent()).toContain('second-token');
    });

    it('sends the current token of the bearer source, and repeats a request after a 401 only with another token', async () => {
      const replacements: (string | undefined)[] = [];
      const bearer = {
        current: new Sensitive('first-token'),
        get: async () => bearer.current,
        replace: async (rejected: string | undefined) => {
          replacements.push(rejected);
          if (replacements.length === 2) bearer.current = new Sensitive('third-token');
          return bearer.current;
        },
      };
      const server = await serve((request, reply) => reply.text(request.headers.authorization === 'Bearer first-token' ? 401 : 200, ''));
      const transport = connect(server, {}, { bearer });
      await expect(transport.request(POST)).resolves.toMatchObject({ status: 401 });
      await expect(transport.request(POST)).resolves.toMatchObject({ status: 200 });
      bearer.current = new Sensitive('fourth-token');
      await expect(transport.request(POST)).resolves.toMatchObject({ status: 200 });
      const sent = server.requests.map(({ headers }) => headers.authorization?.split(' ')[1]);
      expect(sent).toEqual(['first-token', 'first-token', 'third-token', 'fourth-token']);
      expect(replacements).toEqual(['first-token', 'first-token']);
      expect(new Set(server.requests.map(({ connection }) => connection)).size).toBe(1);
    });

    it('reads credentials again after a 401 and repeats the request once', async () => {
      const path = join(folder, 'token');
      writeFileSync(path, 'first-token');
      const server = await serve((request, reply) => reply.text(request.headers.authorization === 'Bearer second-token' ? 200 : 401, ''));
      const transport = connect(server, tokenFile(path), { rereadMs: 60_000 });
      await expect(transport.request(POST)).resolves.toMatchObject({ status: 401 });
      expect(server.requests).toHaveLength(1);
      writeFileSync(path, 'second-token');
      clock.advance(1_000);
      await expect(transport.request(POST)).resolves.toMatchObject({ status: 200 });
      expect(server.requests).toHaveLength(3);
    });

    it('keeps credentials while their file is missing or empty', async () => {
      const path = join(folder, 'token');
      writeFileSync(path, 'first-token');
      const server = await serve(echo);
      const transport = connect(server, tokenFile(path));
      await transport.request(GET);
      writeFileSync(path, '');
      clock.advance(10_000);
      expect((await transport.request(GET)).body).toContain('first-token');
      rmSync(path);
      clock.advance(10_000);
      expect((await transport.request(GET)).body).toContain('first-token');
    });

    it('redacts credentials in errors', async () => {
      const server = await serve((request, reply) => reply.text(500, `you said ${request.headers.authorization}`));
      const reply = await connect(server, { token: 'opaque-secret' }).request(GET);
      expect(reply.body).toBe('you said Bearer [redacted]');
    });

    it('runs the credential plugin again ten seconds before the credential expires', async () => {
      const script = join(folder, 'plugin');
      const counter = join(folder, 'count');
      writeFileSync(counter, '');
      const expiry = new Date(clock.now() + 60_000).toISOString();
      writeFileSync(
        script,
        `#!/bin/sh\nprintf x >> ${counter}\ncase "$KUBERNETES_EXEC_INFO" in *'"server":"http'*) ;; *) exit 3;; esac\n` +
          `echo '{"kind":"ExecCredential","status":{"token":"plugin-'$(cat ${counter})$MODE$REALM'","expirationTimestamp":"${expiry}"}}'\n`,
      );
      chmodSync(script, 0o755);
      const exec = {
        command: script,
        apiVersion: 'client.authentication.k8s.io/v1',
        provideClusterInfo: true,
        env: [{ name: 'MODE', value: '-m' }],
      };
      const server = await serve(echo);
      const transport = connect(server, { exec }, { execEnv: { PATH: '/usr/bin:/bin', REALM: '-r' } });
      expect((await transport.request(GET)).body).toContain('Bearer plugin-x-m-r');
      clock.advance(40_000);
      expect((await transport.request(GET)).body).toContain('Bearer plugin-x-m');
      clock.advance(10_000);
      expect((await transport.request(GET)).body).toContain('Bearer plugin-xx-m');
    });

    it('respects the deadline while credentials load', async () => {
      const done = join(folder, 'done');
      const exec = { command: 'sh', args: ['-c', `sleep 0.3; touch ${done}`] };
      const server = await serve(echo);
      const reply = connect(server, { exec }, { execEnv: { PATH: '/usr/bin:/bin' } }).request({ ...GET, timeoutMs: 3_000 });
      clock.advance(3_000);
      await expect(reply).rejects.toMatchObject({ code: 'ETIMEDOUT' });
      expect(existsSync(done)).toBe(false);
      await eventually(() => expect(existsSync(done)).toBe(true));
    });

    it('fails for an interactive plugin', async () => {
      const server = await serve(echo);
      const reply = connect(server, { exec: { command: 'cat' } }, { execEnv: { PATH: '/usr/bin:/bin' } }).request(GET);
      await expect(reply).rejects.toThrow('did not print an ExecCredential');
    });

    it('rejects a credential plugin if plugins are disabled', async () => {
      const server = await serve(echo);
      expect(() => connect(server, { exec: { command: 'touch' } })).toThrow('not allowed');
    });

    it('omits the output of a plugin from errors', async () => {
      const script = join(folder, 'plugin');
      writeFileSync(script, '#!/bin/sh\necho secret-output; echo secret-error >&2; exit 4\n');
      chmodSync(script, 0o755);
      const server = await serve(echo);
      const reply = connect(server, { exec: { command: script, args: ['secret-argument'] } }, { execEnv: {} }).request(GET);
      const error = await reply.catch((caught: unknown) => caught);
      expect(String(error)).toMatch(/plugin failed: 4/);
      expect(inspect(error)).not.toContain('secret');
    });

    it('sends no credentials to a server with an untrusted certificate', async () => {
      const [ours, theirs] = [createAuthority(Date.now()), createAuthority(Date.now())];
      const { certificate: cert, key } = issueServerCertificate(theirs, LOOPBACK_NAMES, Date.now());
      const server = await serve(echo, { tls: { cert, key } });
      const caData = Buffer.from(ours.certificate).toString('base64');
      await expect(connect(server, { token: 't' }, { cluster: { caData } }).request(GET)).rejects.toThrow(/certificate|signature/);
      expect(server.requests).toEqual([]);
    });

    it('opens new connections for a rotated client certificate', async () => {
      const authority = createAuthority(Date.now());
      const { certificate: cert, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
      const tls = { cert, key, ca: authority.certificate };
      const server = await serve((request, reply) => reply.text(200, request.clientName ?? ''), { tls });
      const [caFile, certFile, keyFile] = [join(folder, 'ca'), join(folder, 'cert'), join(folder, 'key')];
      const issue = (name: string) => issueClientCertificate(authority, { name, groups: [] }, Date.now());
      const [first, second] = [issue('first'), issue('second')];
      writeFileSync(caFile, authority.certificate);
      writeFileSync(certFile, first.certificate);
      writeFileSync(keyFile, first.key);
      const transport = connect(server, { certFile, keyFile }, { cluster: { caFile } });
      const shown = async () => (await transport.request(GET)).body;
      expect(await shown()).toBe('first');
      writeFileSync(certFile, second.certificate);
      clock.advance(10_000);
      expect(await shown()).toBe('first');
      writeFileSync(keyFile, second.key);
      clock.advance(10_000);
      expect(await shown()).toBe('second');
      expect(server.requests.map(({ connection }) => connection)).toEqual([1, 1, 2]);
      await eventually(() => expect(server.openConnections).toBe(1));
    });
  });
});
