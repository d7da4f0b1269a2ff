import { once } from 'node:events';
import { Agent, type RequestOptions, request } from 'node:https';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Reply } from '../../src/kubernetes/reply.ts';
import { type Certificate, createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { FakeClock } from '../../test/support/clock.ts';
import { type Listener, listenForRequests } from '../listener.ts';
import type { IncomingRequest } from '../request.ts';

const OK: Reply = { status: 200, headers: { 'content-type': 'text/plain' }, body: 'ok' };
const LIMIT = 3 * 1024 * 1024;

describe('listenForRequests', () => {
  let authority: Certificate;
  let serving: Certificate;
  beforeAll(() => {
    const now = Date.now();
    authority = createAuthority(now);
    serving = issueServerCertificate(authority, LOOPBACK_NAMES, now);
  });

  let listener: Listener;
  let agent: Agent;
  let handle: (incoming: IncomingRequest) => Promise<Reply>;
  let faults: unknown[];
  let clock: FakeClock;
  beforeEach(async () => {
    clock = new FakeClock();
    faults = [];
    handle = async () => OK;
    listener = await listenForRequests({
      port: 0,
      host: '127.0.0.1',
      clock,
      tls: { cert: serving.certificate, key: serving.key },
      handle: (incoming) => handle(incoming),
      report: (error) => void faults.push(error),
    });
    agent = new Agent({ ca: authority.certificate, keepAlive: true });
  });
  afterEach(async () => {
    agent.destroy();
    const closed = listener.close();
    clock.advance(1_000);
    await closed;
  });

  const open = (options: RequestOptions = {}) => request({ agent, host: '127.0.0.1', port: listener.port, ...options });
  const responseTo = async (outgoing: ReturnType<typeof open>) => {
    const [incoming] = await once(outgoing, 'response');
    return incoming;
  };

  it('sends the body of the reply, except to HEAD', async () => {
    const get = open().end();
    expect(await text(await responseTo(get))).toBe('ok');
    const head = await responseTo(open({ method: 'HEAD' }).end());
    expect([head.headers['content-length'], await text(head)]).toEqual(['2', '']);
  });

  it.each<readonly [string, () => Reply['body']]>([
    ['a body', () => 'ü'],
    ['a stream', () => Readable.from(['ü'])],
  ])('writes header values with one byte per character before %s', async (_, body) => {
    const warning = Buffer.from('299 - "größer ✓"').toString('latin1');
    handle = async () => ({ ...OK, headers: { warning }, body: body() });
    const response = await responseTo(open().end());
    expect([response.headers.warning, await text(response)]).toEqual([warning, 'ü']);
  });

  it('sends a readable response to a body above the limit', async () => {
    handle = async ({ body }) => {
      const message = await body().then(
        () => 'read',
        (error: Error) => error.message,
      );
      return { ...OK, body: message };
    };
    const outgoing = open({ method: 'POST' });
    outgoing.end(Buffer.alloc(LIMIT + 1));
    expect(await text(await responseTo(outgoing))).toBe('Request entity too large: limit is 3145728');
  });

  it('passes more than 1,000 headers to the handler', async () => {
    handle = async ({ headers }) => ({ ...OK, body: String(headers['impersonate-user']) });
    const many = Array.from({ length: 1_100 }, (_, index) => [`a${index}`, 'b']);
    const outgoing = open({ headers: ['Host', 'f', ...many.flat(), 'Impersonate-User', 'admin'] }).end();
    expect(await text(await responseTo(outgoing))).toBe('admin');
  });

  it('aborts the signal when a caller disconnects', async () => {
    const left = Promise.withResolvers<boolean>();
    const arrived = Promise.withResolvers<void>();
    handle = async ({ body, signal }) => {
      arrived.resolve();
      await body().catch(() => left.resolve(signal.aborted));
      return OK;
    };
    const outgoing = open({ method: 'POST', headers: { 'content-length': '100' } });
    outgoing.on('error', () => {});
    outgoing.write('half');
    await arrived.promise;
    outgoing.destroy();
    expect(await left.promise).toBe(true);
    expect(faults).toEqual([]);
  });

  it('writes a stream no faster than the caller reads', async () => {
    let written = 0;
    const ended = Promise.withResolvers<void>();
    async function* pieces() {
      try {
        for (;;) {
          written += 1;
          await setImmediate();
          yield 'x'.repeat(1024 * 1024);
        }
      } finally {
        ended.resolve();
      }
    }
    handle = async () => ({ ...OK, body: pieces() });
    const outgoing = open().end();
    const incoming = await responseTo(outgoing);
    let before = -1;
    // Sockets buffer some pieces; then the writer stops.
    while (written > before) {
      before = written;
      for (let turn = 0; turn < 200; turn++) await setImmediate();
    }
    expect(written).toBeLessThan(100);
    incoming.destroy();
    await ended.promise;
  });

  it('destroys the connection and reports a failed stream', async () => {
    const broken = new Error('broken');
    async function* pieces() {
      yield 'a';
      throw broken;
    }
    handle = async () => ({ ...OK, body: pieces() });
    await expect(responseTo(open().end()).then(text)).rejects.toThrow('aborted');
    expect(faults).toEqual([broken]);
  });

  it('ends watches and their connections on close', async () => {
    async function* untilStopped(signal: AbortSignal) {
      yield 'first ';
      await once(signal, 'abort');
      yield 'last';
    }
    handle = async ({ signal }) => ({ ...OK, body: untilStopped(signal) });
    const read = text(await responseTo(open().end()));
    // The clock does not advance: close must not wait for its limit.
    await listener.close();
    expect(await read).toBe('first last');
  });

  it('closes open connections one second after close is called', async () => {
    async function* forever() {
      yield 'first';
      await new Promise(() => {});
    }
    handle = async () => ({ ...OK, body: forever() });
    const silent = connect(listener.port, '127.0.0.1');
    silent.on('error', () => {});
    await once(silent, 'connect');
    // The server accepts connections in order: it accepts the silent one before it responds.
    const watch = await responseTo(open().end());
    watch.on('error', () => {});
    watch.resume();
    const silentClosed = once(silent, 'close');
    const closed = listener.close();
    expect(clock.pending).toBe(1);
    clock.advance(1_000);
    await Promise.all([closed, silentClosed]);
  });
});
