import { once } from 'node:events';
import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Agent, request } from 'undici';
import { createSelfSignedCertificateSource } from '../../../src/facade/certificate.ts';
import { listenForOperations, type Operations, type OperationsOptions } from '../../../src/facade/operations/listener.ts';
import { StatusError, unauthorized } from '../../../src/kubernetes/status.ts';
import { systemClock } from '../../../src/std/clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { FakeClock } from '../../support/clock.ts';

const logged: string[] = [];
let running: Operations | undefined;

async function listen(options: Partial<OperationsOptions> = {}): Promise<string> {
  const ping = { name: 'ping', passes: () => true };
  running = await listenForOperations({
    host: '127.0.0.1',
    port: 0,
    health: { livez: [ping], readyz: [ping] },
    metrics: { text: () => pieces('a 1\n', 'b 2\n') },
    clock: systemClock,
    log: createLogger({ level: 'info', readable: false, write: (line) => logged.push(line) }),
    ...options,
  });
  return running.url;
}

async function* pieces(...texts: readonly string[]): AsyncGenerator<string> {
  yield* texts;
}

afterEach(async () => {
  await running?.close();
});

describe('listenForOperations', () => {
  it('serves health and metrics', async () => {
    const url = await listen();
    const livez = await fetch(`${url}/livez`);
    const metrics = await fetch(`${url}/metrics`);

    expect([livez.status, await livez.text()]).toEqual([200, 'ok']);
    expect([metrics.status, await metrics.text()]).toEqual([200, 'a 1\nb 2\n']);
    expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  it.each([
    ['gzip', 'gzip'],
    ['deflate, gzip', 'gzip'],
    ['identity', undefined],
  ])('sends metrics for Accept-Encoding %s as %s', async (accepted, encoding) => {
    const url = await listen();
    const { headers, body } = await request(`${url}/metrics`, { headers: { 'accept-encoding': accepted } });
    const bytes = Buffer.from(await body.arrayBuffer());

    expect([headers['content-encoding'], headers['vary']]).toEqual([encoding, 'Accept-Encoding']);
    expect((encoding === undefined ? bytes : gunzipSync(bytes)).toString()).toBe('a 1\nb 2\n');
  });

  it.each([
    ['localhost:9464', 200],
    ['LOCALHOST', 200],
    ['127.0.0.1:1', 200],
    ['[::1]:9464', 200],
    ['rebound.example:9464', 421],
    ['127.0.0.1.example', 421],
    ['localhost:9464:1', 421],
    ['', 421],
  ])('responds on loopback to the Host header %j with %i', async (host, code) => {
    const url = await listen();
    for (const path of ['/metrics', '/livez', '/other']) {
      const { statusCode, body } = await request(`${url}${path}`, { headers: { host } });
      expect([path, statusCode, (await body.text()).includes('does not name the loopback interface')]).toEqual([
        path,
        code === 200 && path === '/other' ? 404 : code,
        code === 421,
      ]);
    }
  });

  it('serves requests with any Host header if it listens on all addresses', async () => {
    const { port } = new URL(await listen({ host: undefined }));
    const { statusCode, body } = await request(`http://127.0.0.1:${port}/livez`, { headers: { host: 'purser.example' } });
    expect([statusCode, await body.text()]).toEqual([200, 'ok']);
  });

  it('serves HTTPS if it has a certificate', async () => {
    const certificate = createSelfSignedCertificateSource([], Date.now());
    const url = await listen({ certificate });
    const { cert } = await certificate();

    expect(url).toMatch(/^https:/);
    await expect(fetch(`${url}/livez`)).rejects.toThrow('fetch failed');
    expect((await request(`${url}/livez`, { dispatcher: new Agent({ connect: { ca: cert } }) })).statusCode).toBe(200);
  });

  it.each([
    ['GET', '/', 404],
    ['GET', '//', 404],
    ['GET', '/metrics/x', 404],
    ['POST', '/metrics', 405],
    ['HEAD', '/metrics', 200],
    ['HEAD', '/readyz', 200],
  ])('responds to %s %s with %d', async (method, path, status) => {
    const url = await listen();

    expect((await fetch(`${url}${path}`, { method })).status).toBe(status);
  });

  it('returns 401 for metrics without admission, and 200 for health', async () => {
    const url = await listen({ admit: async () => Promise.reject(unauthorized()) });
    const metrics = await fetch(`${url}/metrics`);

    expect([metrics.status, metrics.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await metrics.json()).toMatchObject({ kind: 'Status', code: 401, reason: 'Unauthorized' });
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  it('returns 500 without details for an unexpected error', async () => {
    const url = await listen({ admit: async () => Promise.reject(new TypeError('oops')) });
    const metrics = await fetch(`${url}/metrics`);

    expect([metrics.status, await metrics.text()]).toEqual([500, expect.not.stringContaining('oops')]);
    expect(logged.join('')).toContain('oops');
  });

  it('closes the connection if the metrics fail midway', async () => {
    const url = await listen({ metrics: { text: failing } });

    await expect(fetch(`${url}/metrics`).then((response) => response.text())).rejects.toThrow(/terminated|fetch failed/);
  });

  it('rejects a fifth concurrent scrape with 503', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const text = async function* () {
      yield 'a 1\n';
      await released;
    };
    const url = await listen({ metrics: { text } });
    const four = await Promise.all(Array.from({ length: 4 }, () => fetch(`${url}/metrics`)));
    const fifth = await fetch(`${url}/metrics`);
    release();

    expect([fifth.status, fifth.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await Promise.all(four.map((response) => response.text()))).toEqual(Array.from({ length: 4 }, () => 'a 1\n'));
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
  });

  it.each(['without TLS', 'with TLS'])('serves probes and metrics while 250 silent connections are open, %s', async (how) => {
    const certificate = how === 'with TLS' ? createSelfSignedCertificateSource([], Date.now()) : undefined;
    const url = await listen({ certificate });
    const silent = Array.from({ length: 250 }, () => connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {}));
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    const ca = (await certificate?.())?.cert;
    const dispatcher = new Agent({ connect: { ...(ca && { ca }) } });
    const codes = ['/livez', '/readyz', '/metrics'].map(async (path) => (await request(`${url}${path}`, { dispatcher })).statusCode);
    expect(await Promise.all(codes)).toEqual([200, 200, 200]);
    for (const socket of silent) socket.destroy();
    await dispatcher.close();
  });

  it('closes the oldest connection of an address with many unread responses', async () => {
    const { port } = new URL(await listen({ clock: new FakeClock() }));
    // More than the kernel buffers for one connection.
    const requests = `GET /livez?verbose&exclude=${'x'.repeat(15_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`.repeat(600);
    const clients = Array.from({ length: 40 }, () => connect(Number(port), '127.0.0.1').on('error', () => {}));
    const closed = new Promise((resolve) => clients[0]?.on('close', resolve));
    for (const client of clients) client.write(requests);
    await closed;
    for (const client of clients) client.destroy();
  });

  it('closes the connection of a client that does not read the metrics within ten seconds', async () => {
    const clock = new FakeClock();
    const url = await listen({ clock, metrics: { text: endless } });
    const response = await fetch(`${url}/metrics`);
    clock.advance(10_000);

    await expect(response.text()).rejects.toThrow('terminated');
    const closed = running?.close();
    clock.advance(0);
    await closed;
    running = undefined;
  });

  it('rejects a port that is in use', async () => {
    const port = Number(new URL(await listen()).port);
    const options = { host: '127.0.0.1', port, health: { livez: [], readyz: [] }, metrics: { text: () => pieces() } };
    const log = createLogger({ level: 'silent', readable: false, write: () => {} });

    await expect(listenForOperations({ ...options, clock: systemClock, log })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('closes without waiting for open connections', async () => {
    const url = await listen({ metrics: { text: endless } });
    const response = await fetch(`${url}/metrics`);
    await running?.close();

    await expect(response.text()).rejects.toThrow('terminated');
    await expect(fetch(`${url}/livez`)).rejects.not.toBeInstanceOf(StatusError);
  });
});

async function* failing(): AsyncGenerator<string> {
  yield 'a 1\n';
  throw new Error('no more');
}

async function* endless(): AsyncGenerator<string> {
  yield 'a 1\n';
  await new Promise(() => {});
}
