import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '../../src/std/clock.ts';
import { type ListeningServer, listen } from '../../src/std/listening.ts';
import { eventually } from '../contract/eventually.ts';
import { FakeClock } from '../support/clock.ts';

let listening: ListeningServer | undefined;
afterEach(async () => {
  await listening?.close(0);
  listening = undefined;
});

const OK: RequestListener = (_request, response) => void response.end('ok');
const GET = 'GET / HTTP/1.1\r\nHost: f\r\n';
const reported: unknown[] = [];

async function up(server: Server, host: string | undefined = '127.0.0.1', clock = systemClock): Promise<ListeningServer> {
  listening = await listen(server, { port: 0, host, clock, report: (error) => reported.push(error) });
  return listening;
}

async function openSocket(port: number, text = ''): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

async function countConnections(server: Server): Promise<number> {
  return await new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
}

/** Opens connections in a thread and stores their number when all are connected. */
const OPEN_MANY = `
  const { workerData: { port, counter, count } } = require('node:worker_threads');
  let connected = 0;
  for (let index = 0; index < count; index++)
    require('node:net').connect(port, '127.0.0.1').on('error', () => {}).on('connect', () => {
      if (++connected < count) return;
      Atomics.store(counter, 0, connected);
      Atomics.notify(counter, 0);
    });
`;
/** Maximum time that a failing test waits, in milliseconds. */
const QUEUED_MS = 10_000;

describe('listen', () => {
  it.each([
    ['127.0.0.1', 'http://127.0.0.1:'],
    ['::1', 'http://[::1]:'],
    [undefined, 'http://127.0.0.1:'],
  ])('returns a usable URL for the host %s', async (host, expected) => {
    const { url, port } = await up(createServer(OK), host);
    expect(url).toBe(`${expected}${port}`);
    expect(await (await fetch(url)).text()).toBe('ok');
  });

  it('returns an https URL for a TLS server', async () => {
    expect((await up(createSecureServer(OK))).url).toMatch(/^https:/);
  });

  it('becomes unused when the last connection closes, even if it was opened during the wait', async () => {
    const server = createServer(OK);
    const opened = await up(server, '127.0.0.1', new FakeClock());
    const first = await openSocket(opened.port);
    let isUnused = false;
    const unused = opened.whenUnused(60_000).then(() => (isUnused = true));
    const [second] = await Promise.all([openSocket(opened.port), once(server, 'connection')]);
    expect(await countConnections(server)).toBe(2);
    first.destroy();
    await eventually(async () => expect(await countConnections(server)).toBe(1));
    expect(isUnused).toBe(false);
    second.destroy();
    await unused;
  });

  it('rejects a port that is in use', async () => {
    const { port } = await up(createServer(OK));
    const second = listen(createServer(OK), { port, host: '127.0.0.1', clock: systemClock, report: () => {} });
    await expect(second).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('keeps 1,000 connections in the accept queue while the event loop is busy', async () => {
    const { port } = await up(createServer(OK));
    const counter = new Int32Array(new SharedArrayBuffer(4));
    const clients = new Worker(OPEN_MANY, { eval: true, workerData: { port, counter, count: 1_000 } });
    // The kernel drops connections beyond its queue, and their clients retry after a second at the earliest. Without an accept before
    // then, a short queue never lets all of them connect.
    Atomics.wait(counter, 0, 0, QUEUED_MS);
    await clients.terminate();
    expect(Atomics.load(counter, 0)).toBe(1_000);
  });

  it('reports connections that cannot be accepted and keeps listening', async () => {
    const server = createServer(OK);
    const { url } = await up(server);
    const full = new Error('EMFILE');
    server.emit('error', full);
    server.emit('error', full);
    expect(reported).toEqual([full, full]);
    expect((await fetch(url)).status).toBe(200);
  });

  it('receives all 1,501 headers of a request', async () => {
    const counts: number[] = [];
    const { port } = await up(
      createServer(({ rawHeaders }, response) => {
        counts.push(rawHeaders.length / 2);
        response.end();
      }),
    );
    const socket = await openSocket(port, `${GET}${'a: b\r\n'.repeat(1_500)}\r\n`);
    await once(socket, 'data');
    socket.destroy();
    expect(counts).toEqual([1_501]);
  });
});

describe('ListeningServer.close', () => {
  it('closes idle connections immediately', async () => {
    const server = await up(createServer(OK), '127.0.0.1', new FakeClock());
    const socket = await openSocket(server.port, `${GET}\r\n`);
    await once(socket, 'data');
    await server.close(1_000);
  });

  it('waits for active connections until the grace period ends', async () => {
    const clock = new FakeClock();
    const server = await up(createServer(OK), '127.0.0.1', clock);
    const socket = await openSocket(server.port, GET);
    const closed = server.close(1_000);
    clock.advance(999);
    const late = new Promise((resolve) => setImmediate(resolve, 'not yet'));
    expect(await Promise.race([closed, late])).toBe('not yet');
    clock.advance(1);
    await closed;
    socket.destroy();
    expect(clock.pending).toBe(0);
  });
});
