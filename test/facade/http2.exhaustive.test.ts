// HTTP/2 connections of the server: requests, streams, and attacks with frames.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect,
  constants,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
} from 'node:http2';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Chunk } from '../../src/facade/body-stream.ts';
import type { Endpoint } from '../../src/facade/request.ts';
import { createFacadeServer, type FacadeServer, type ServerOptions } from '../../src/facade/server.ts';
import type { Reply } from '../../src/kubernetes/reply.ts';
import { unauthorized } from '../../src/kubernetes/status.ts';
import { systemClock } from '../../src/std/clock.ts';
import { type Certificate, createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import type { ServedRequest } from '../../src/telemetry/metrics.ts';
import { eventually, turn } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import { createRandom, pick } from '../support/random.ts';
import { allOrFirst, onlyExhaustive, scaled } from '../support/scaled.ts';
import {
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  framesOf,
  GOAWAY,
  HEADERS,
  headerBlock,
  PING,
  PREFACE,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from './frames.ts';

const OK: Reply = { status: 200, headers: { 'content-type': 'text/plain' }, body: 'ok' };
const LIMIT = 8 * 1024;
/** Larger than half of the limit on unread responses of an address. */
const LARGE = Buffer.alloc(5_000_000);

let authority: Certificate;
let serving: { readonly cert: string; readonly key: string };
beforeAll(() => {
  authority = createAuthority(Date.now());
  const { certificate: cert, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
  serving = { cert, key };
});

let server: FacadeServer;
let port: number;
let endpoint: Endpoint;
let begun: number;
let recorded: ServedRequest[];
let reported: unknown[];
let sessions: ClientHttp2Session[];
let sockets: TLSSocket[];
beforeEach(async () => {
  [begun, recorded, reported, sessions, sockets] = [0, [], [], [], []];
  endpoint = async (request) => {
    const body = await request.body(LIMIT);
    return { ...OK, body: `ok ${body.toString()}` };
  };
  await startServer();
});
afterEach(async () => {
  for (const session of sessions) session.destroy();
  for (const socket of sockets) socket.destroy();
  await server.close(0);
  expect(reported).toEqual([]);
});

async function startServer(
  options: Partial<Pick<ServerOptions, 'arrivalMs' | 'keepAliveMs' | 'isHttp2Served' | 'clock'>> = {},
): Promise<void> {
  server = createFacadeServer({
    clock: systemClock,
    certificate: serving,
    routes: [
      { method: 'POST', path: '/things/:name', endpoint: (request) => endpoint(request) },
      { method: 'GET', path: '/things', endpoint: (request) => endpoint(request) },
    ],
    documents: [
      { path: '/document', reply: () => OK },
      { path: '/large', reply: () => ({ ...OK, body: LARGE }) },
    ],
    authenticate: async ({ rawHeaders }) => {
      begun += 1;
      if (rawHeaders.includes('Bearer invalid')) throw unauthorized();
      return { user: { username: 'alice', uid: '', groups: [], extra: {} }, tokenId: 'a', isStillValid: async () => true };
    },
    report: (error) => void reported.push(error),
    onResponse: (response) => void recorded.push(response),
    ...options,
  });
  ({ port } = await server.listen(0, '127.0.0.1'));
}

async function restart(options: Partial<Pick<ServerOptions, 'arrivalMs' | 'keepAliveMs' | 'isHttp2Served' | 'clock'>>): Promise<void> {
  await server.close(0);
  await startServer(options);
}

type ClientOptions = ClientSessionOptions & SecureClientSessionOptions & { readonly localAddress?: string };

function open(options: ClientOptions = {}): ClientHttp2Session {
  const session = connect(`https://127.0.0.1:${port}`, { ca: authority.certificate, ...options });
  session.on('error', () => {});
  sessions.push(session);
  return session;
}

function send(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: string | Buffer): ClientHttp2Stream {
  const stream = session.request({ ':path': '/things', ...headers }, { endStream: body === undefined });
  stream.on('error', () => {});
  if (body !== undefined) stream.end(body);
  return stream;
}

interface Received {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

async function responseTo(stream: ClientHttp2Stream): Promise<Received> {
  const [headers] = (await once(stream, 'response')) as [Readonly<Record<string, unknown>>];
  return { status: Number(headers[':status']), headers, body: await text(stream) };
}

/** Returns the protocol that the server selects for a client at this address that offers HTTP/1.1 and HTTP/2. */
async function protocolFor(localAddress: string): Promise<string | false | null> {
  // The type of the options lacks the address, which TLS passes to TCP.
  const from = { localAddress };
  const socket = connectTls({ port, host: '127.0.0.1', ca: authority.certificate, ALPNProtocols: ['h2', 'http/1.1'], ...from });
  sockets.push(socket);
  await once(socket, 'secureConnect');
  return socket.alpnProtocol;
}

const HEAD = { ':scheme': 'https', ':authority': 'f' };
const POST = { ':method': 'POST', ':path': '/things/a' };
const get = (session: ClientHttp2Session, path: string) => responseTo(send(session, { ':path': path }));

/** Fails unless a new client is served. */
async function expectServed(): Promise<void> {
  expect(await get(open(), '/document')).toMatchObject({ status: 200, body: 'ok' });
}

/** Sends bytes after the preface and the SETTINGS of a client. */
async function sendFrames(...frames: readonly Buffer[]): Promise<TLSSocket> {
  return await sendFramesFrom('127.0.0.1', ...frames);
}

async function sendFramesFrom(localAddress: string, ...frames: readonly Buffer[]): Promise<TLSSocket> {
  // The type of the options lacks the address, which TLS passes to TCP.
  const from = { localAddress };
  const socket = connectTls({ port, host: '127.0.0.1', ca: authority.certificate, ALPNProtocols: ['h2'], ...from });
  sockets.push(socket);
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  socket.write(Buffer.concat([PREFACE, frame(SETTINGS, 0, 0), ...frames]));
  return socket;
}

/** Frames of a client that opens and resets streams, and occasionally makes an error. */
class RandomFrames {
  readonly #random: () => number;
  readonly #open: { readonly id: number; readonly hasBody: boolean }[] = [];
  #nextId = 1;

  constructor(random: () => number) {
    this.#random = random;
  }

  next(count: number): Buffer {
    return Buffer.concat(Array.from({ length: count }, () => this.#next()));
  }

  #next(): Buffer {
    const random = this.#random;
    if (random() < 0.005) return frame(this.#number(12), this.#number(256), this.#number(50), this.#bytes(this.#number(20)));
    const stream = pick(random, this.#open);
    if (stream === undefined || random() < 0.5) return this.#request();
    const code = Buffer.from([0, 0, 0, 1 + this.#number(12)]);
    const make = pick(random, [
      () => frame(RST_STREAM, 0, this.#close(stream), code),
      () => (stream.hasBody ? frame(DATA, END_STREAM, this.#close(stream), this.#bytes(this.#number(100))) : Buffer.alloc(0)),
      () => frame(PING, 0, 0, this.#bytes(8)),
      () => frame(WINDOW_UPDATE, 0, pick(random, [0, stream.id]), code),
      () => (random() < 0.05 ? frame(GOAWAY, 0, 0, Buffer.concat([Buffer.alloc(4), code])) : Buffer.alloc(0)),
      () => (stream.hasBody ? this.#trailers(stream) : Buffer.alloc(0)),
      () => frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 4]), pick(random, [Buffer.alloc(4), Buffer.from([0x7f, 0, 0, 0])])])),
    ]);
    return make();
  }

  #request(): Buffer {
    const random = this.#random;
    const stream = { id: this.#nextId, hasBody: random() < 0.3 };
    this.#nextId += 2;
    this.#open.push(stream);
    const method = pick(random, ['GET', 'GET', 'HEAD', 'POST', 'CONNECT', 'PUT']);
    const path = pick(random, ['/things', '/things/a', '/document', '/large', '/none', '*']);
    const flags = stream.hasBody ? END_HEADERS : END_STREAM | END_HEADERS;
    return frame(HEADERS, flags, stream.id, headerBlock({ ...HEAD, ':method': method, ':path': path }));
  }

  /** Returns trailers in one or two frames; those of few streams are incomplete, after which every other frame is an error. */
  #trailers(stream: { readonly id: number; readonly hasBody: boolean }): Buffer {
    const block = headerBlock({ 'x-trailer': 'x'.repeat(this.#number(100)) });
    const id = this.#close(stream);
    if (this.#random() < 0.5) return frame(HEADERS, END_STREAM | END_HEADERS, id, block);
    const end = this.#random() < 0.1 ? Buffer.alloc(0) : frame(CONTINUATION, END_HEADERS, id, block);
    return Buffer.concat([frame(HEADERS, END_STREAM, id, block), end]);
  }

  #close(stream: { readonly id: number; readonly hasBody: boolean }): number {
    this.#open.splice(this.#open.indexOf(stream), 1);
    return stream.id;
  }

  #bytes(length: number): Buffer<ArrayBuffer> {
    return Buffer.from(Array.from({ length }, () => this.#number(256)));
  }

  /** Returns a random integer below a limit. */
  #number(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

describe('requests over HTTP/2', () => {
  it('serves requests with and without a body on one connection', async () => {
    const session = open();
    const [document, posted] = await Promise.all([get(session, '/document'), responseTo(send(session, POST, 'body'))]);
    expect(document).toMatchObject({ status: 200, body: 'ok', headers: { 'content-length': '2' } });
    expect(posted).toMatchObject({ status: 200, body: 'ok body' });
    expect(recorded).toHaveLength(2);
  });

  it('selects HTTP/1.1 for a client that does not offer HTTP/2', async () => {
    const socket = connectTls({ port, host: '127.0.0.1', ca: authority.certificate, ALPNProtocols: ['http/1.1'] });
    sockets.push(socket);
    await once(socket, 'secureConnect');
    expect(socket.alpnProtocol).toBe('http/1.1');
  });

  it('writes non-ASCII text in a Warning header as UTF-8', async () => {
    endpoint = async ({ warn }) => {
      warn('größer ✓');
      return OK;
    };
    const { headers } = await get(open(), '/things');
    expect(Buffer.from(String(headers['warning']), 'latin1').toString('utf8')).toBe('299 - "größer ✓"');
  });

  it('ends the stream of a response with the frame of its body', async () => {
    const head = headerBlock({ ...HEAD, ':method': 'GET', ':path': '/document' });
    const socket = await sendFrames(frame(HEADERS, END_STREAM | END_HEADERS, 1, head));
    let received = Buffer.alloc(0);
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk as Buffer]);
      if (framesOf(received, 1).some(({ flags }) => (flags & END_STREAM) !== 0)) break;
    }
    expect(framesOf(received, 1)).toEqual([
      { type: HEADERS, flags: END_HEADERS },
      { type: DATA, flags: END_STREAM },
    ]);
  });

  it('ends the stream of a response whose end waits for the window of the connection', async () => {
    endpoint = async () => ({ ...OK, body: '', write: async () => {} });
    const request = (id: number, path: string) =>
      frame(HEADERS, END_STREAM | END_HEADERS, id, headerBlock({ ...HEAD, ':method': 'GET', ':path': path }));
    const socket = await sendFrames(request(1, '/large'));
    let received = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => (received = Buffer.concat([received, chunk])));
    const until = async (isDone: () => boolean) => {
      while (!isDone()) await once(socket, 'data');
    };
    const countOf = (type: number, id: number) => framesOf(received, id).filter((each) => each.type === type).length;
    // The response fills the window, which is 65,535 bytes.
    await until(() => received.length > 65_535);
    socket.write(request(3, '/things'));
    await until(() => countOf(HEADERS, 3) === 1);
    for (const pings of [1, 2, 3]) {
      socket.write(frame(PING, 0, 0, Buffer.alloc(8)));
      await until(() => countOf(PING, 0) === pings);
    }
    socket.write(frame(WINDOW_UPDATE, 0, 0, Buffer.from([0, 1, 0, 0])));
    await until(() => countOf(DATA, 3) + countOf(RST_STREAM, 3) > 0);
    expect(framesOf(received, 3)).toEqual([
      { type: HEADERS, flags: END_HEADERS },
      { type: DATA, flags: END_STREAM },
    ]);
  });

  it('does not abort the signal of a request whose response has been sent', async () => {
    const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
    const signals: AbortSignal[] = [];
    endpoint = async ({ signal }) => {
      signals.push(signal);
      return { ...OK, onClosed };
    };
    await responseTo(send(open(), POST, 'body'));
    await closed;
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  });

  it('serves a HEAD request without a body', async () => {
    const { status, headers, body } = await responseTo(send(open(), { ':method': 'HEAD' }));
    expect([status, headers['content-length'], body]).toEqual([200, '3', '']);
  });

  it('aborts a HEAD request that its client resets', async () => {
    const { promise: started, resolve: start } = Promise.withResolvers<AbortSignal>();
    endpoint = ({ signal }) => {
      start(signal);
      return new Promise(() => {});
    };
    const stream = send(open(), { ':method': 'HEAD' });
    const signal = await started;
    stream.close(constants.NGHTTP2_CANCEL);
    await eventually(() => expect(signal.aborted).toBe(true));
  });

  it('sends 100 Continue before it reads a body', async () => {
    const stream = open().request({ ...POST, expect: '100-continue' }, { endStream: false });
    await once(stream, 'continue');
    stream.end('body');
    expect(await responseTo(stream)).toMatchObject({ status: 200, body: 'ok body' });
  });

  it.each([
    ['an unknown method', { ':method': 'BREW' }, 405],
    ['a different Host header than the authority', { ':authority': 'f', host: 'other.test' }, 400],
    ['a path with a fragment', { ':path': '/things#a' }, 400],
    ['an unsupported expectation', { expect: 'coffee' }, 417],
  ])('rejects a request with a Status: %s', async (_case, headers, status) => {
    expect(await responseTo(send(open(), headers))).toMatchObject({ status, body: expect.stringContaining('"kind":"Status"') });
  });

  it('closes the connection after a response with 401, as kube-apiserver does', async () => {
    const session = open();
    const closed = once(session, 'close');
    expect(await responseTo(send(session, { authorization: 'Bearer invalid' }))).toMatchObject({ status: 401 });
    await closed;
    await expectServed();
  });

  it('closes a connection whose client does not acknowledge a PING within 15 s, and keeps other connections', async () => {
    const clock = new FakeClock();
    await restart({ clock, keepAliveMs: 3_600_000 });
    const polite = open();
    await get(polite, '/document');
    const head = headerBlock({ ...HEAD, ':method': 'GET', ':path': '/document' });
    const deaf = await sendFrames(frame(HEADERS, END_STREAM | END_HEADERS, 1, head));
    deaf.resume();
    while (recorded.length < 2) await turn();
    const pinged = once(polite, 'ping');
    clock.advance(30_000);
    await pinged;
    // The acknowledgement arrives before the response to a later request.
    await get(polite, '/document');
    const closed = once(deaf, 'close');
    clock.advance(15_000);
    await closed;
    expect(await get(polite, '/document')).toMatchObject({ status: 200 });
  });

  it('closes the connection of a client that sends GOAWAY and keeps the connection open', async () => {
    const clock = new FakeClock();
    await restart({ clock, keepAliveMs: 3_600_000 });
    const head = headerBlock({ ...HEAD, ':method': 'GET', ':path': '/document' });
    const socket = await sendFrames(frame(HEADERS, END_STREAM | END_HEADERS, 1, head));
    socket.allowHalfOpen = true;
    socket.resume();
    while (recorded.length < 1) await turn();
    const ended = once(socket, 'end');
    socket.write(frame(GOAWAY, 0, 0, Buffer.alloc(8)));
    await ended;
    const closed = once(socket, 'close');
    clock.advance(30_000);
    socket.end();
    await closed;
    await expectServed();
  });

  it('selects HTTP/1.1 if HTTP/2 is disabled', async () => {
    await restart({ isHttp2Served: false });
    expect(await protocolFor('127.0.0.1')).toBe('http/1.1');
  });
});

describe('the limits on HTTP/2 connections', () => {
  const PER_ADDRESS = 32;
  const ADDRESSES = Array.from({ length: 8 }, (_, index) => `127.0.0.${index + 10}`);
  let clock: FakeClock;
  beforeEach(async () => {
    clock = new FakeClock();
    await restart({ clock });
  });

  /** Opens connections from an address, and sends one request on each. */
  async function fill(localAddress: string, path: string, length = PER_ADDRESS): Promise<ClientHttp2Session[]> {
    const filled = Array.from({ length }, () => open({ localAddress }));
    await Promise.all(filled.map((session) => get(session, path)));
    return filled;
  }

  onlyExhaustive(() => {
    it('selects HTTP/1.1 above 256 connections, and HTTP/2 again after a connection has closed', async () => {
      const filled = await Promise.all(ADDRESSES.map((address) => fill(address, '/things')));
      clock.advance(1_000);
      expect(await protocolFor('127.0.0.9')).toBe('http/1.1');
      filled[0]?.[0]?.close();
      while ((await protocolFor('127.0.0.9')) !== 'h2') await turn();
    });
  });

  it('selects HTTP/1.1 for an address with more than 32 connections, and HTTP/2 for other addresses', async () => {
    await fill('127.0.0.10', '/things');
    clock.advance(1_000);
    expect(await protocolFor('127.0.0.10')).toBe('http/1.1');
    expect(await protocolFor('127.0.0.11')).toBe('h2');
  });

  it('closes the oldest idle connection without an authenticated request above 32 connections of an address', async () => {
    const filled = await fill('127.0.0.10', '/document');
    clock.advance(1_000);
    const goaway = once(filled[0] as ClientHttp2Session, 'goaway');
    expect(await protocolFor('127.0.0.10')).toBe('h2');
    expect(await goaway).toEqual([constants.NGHTTP2_NO_ERROR, expect.any(Number), undefined]);
    expect(filled.filter(({ closed }) => closed)).toEqual([filled[0]]);
  });

  it('closes a connection above the limit whose last authenticated request ended long ago, even if it sends other requests', async () => {
    await restart({ clock, keepAliveMs: 20_000 });
    const filled = await fill('127.0.0.10', '/things');
    clock.advance(19_000);
    await Promise.all(filled.map((session) => get(session, '/document')));
    expect(await protocolFor('127.0.0.10')).toBe('http/1.1');
    clock.advance(1_000);
    expect(await protocolFor('127.0.0.10')).toBe('h2');
  });

  onlyExhaustive(() => {
    it('closes connections of the address with the most connections without an authenticated request above 256 connections', async () => {
      const silent = open({ localAddress: '127.0.0.9' });
      await get(silent, '/document');
      const [few = '', ...full] = ADDRESSES;
      const first = await fill(few, '/document', PER_ADDRESS - 1);
      await Promise.all(full.map((address) => fill(address, '/things')));
      clock.advance(1_000);
      const closed = once(first[0] as ClientHttp2Session, 'close');
      expect(await protocolFor('127.0.0.20')).toBe('h2');
      await closed;
      expect(silent.closed).toBe(false);
    });
  });

  it('closes a connection with an unread response to an unauthenticated request after the request timeout', async () => {
    await restart({ clock, arrivalMs: 9_000 });
    const deaf = open({ localAddress: '127.0.0.10', settings: { initialWindowSize: 0 } });
    await once(send(deaf, { ':path': '/large' }), 'response');
    await fill('127.0.0.10', '/things', PER_ADDRESS - 1);
    clock.advance(8_000);
    expect(await protocolFor('127.0.0.10')).toBe('http/1.1');
    clock.advance(1_000);
    expect(await protocolFor('127.0.0.10')).toBe('h2');
    const closed = once(deaf, 'close');
    await once(deaf, 'goaway');
    clock.advance(1_000);
    await closed;
  });

  it('closes no connection within a second after it opens, even above the limit', async () => {
    const filled = await fill('127.0.0.10', '/document');
    expect(await protocolFor('127.0.0.10')).toBe('http/1.1');
    expect(filled.some(({ closed }) => closed)).toBe(false);
  });
});

describe('bodies over HTTP/2', () => {
  it('rejects a body above the limit with 413, and ends the upload', async () => {
    const stream = open().request({ ...POST }, { endStream: false });
    stream.write(Buffer.alloc(LIMIT + 1));
    const response = once(stream, 'response');
    // An iterator would fail, because the client cannot end its side.
    let body = '';
    stream.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    await once(stream, 'close');
    expect((await response)[0]).toMatchObject({ ':status': 413 });
    expect(body).toContain('"code":413}');
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  });

  it('fails to read the body of an aborted request instead of returning the received bytes', async () => {
    const { promise: outcome, resolve } = Promise.withResolvers<string>();
    endpoint = async (request) => {
      await request.body(LIMIT).then(
        (body) => resolve(`read ${body.length}`),
        () => resolve('failed'),
      );
      return OK;
    };
    const head = headerBlock({ ...HEAD, ...POST });
    const socket = await sendFrames(frame(HEADERS, END_HEADERS, 1, head), frame(DATA, 0, 1, Buffer.from('{"half":')));
    await eventually(() => expect(begun).toBe(1));
    socket.write(frame(RST_STREAM, 0, 1, Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL])));
    expect(await outcome).toBe('failed');
  });

  it('closes the stream of a body that does not arrive in time, and serves other streams on the connection', async () => {
    await restart({ arrivalMs: 200 });
    const session = open();
    const stream = session.request({ ...POST }, { endStream: false });
    stream.on('error', () => {});
    stream.write('{');
    await once(stream, 'close');
    expect(await get(session, '/document')).toMatchObject({ status: 200 });
  });

  it('receives at most 64 KiB of the unread bodies of a connection', async () => {
    endpoint = () => new Promise(() => {});
    const session = open();
    const streams = Array.from({ length: 20 }, () => session.request({ ...POST }, { endStream: false }));
    for (const stream of streams) stream.on('error', () => {}).write(Buffer.alloc(100_000));
    await eventually(() => expect(begun).toBe(20));
    await expectServed();
    expect(session.state.remoteWindowSize).toBe(0);
  });
});

describe('streams over HTTP/2', () => {
  let written: (lines: string) => void;
  let ends: number;
  beforeEach(() => {
    ends = 0;
    endpoint = async () => ({
      status: 200,
      headers: { connection: 'close' },
      write: async (_response, takeOver) => {
        const { stream } = await takeOver(async () => {});
        stream.source = {
          pump: () => {},
          end: () => {
            ends += 1;
            stream.end();
          },
        };
        written = (lines) => stream.write(new Chunk([Buffer.from(lines)]));
        stream.writeLines([Buffer.from('first'), Buffer.from(' line\n')]);
      },
    });
  });

  async function openStream(session: ClientHttp2Session): Promise<ClientHttp2Stream> {
    const stream = send(session, {});
    stream.setEncoding('utf8');
    const [headers] = (await once(stream, 'response')) as [Readonly<Record<string, unknown>>];
    expect(headers).not.toHaveProperty('connection');
    return stream;
  }

  it('sends lines without chunked encoding, interleaved with other responses on the connection', async () => {
    const session = open();
    const stream = await openStream(session);
    expect(await once(stream, 'data')).toEqual(['first line\n']);
    expect(await get(session, '/document')).toMatchObject({ status: 200 });
    written('second line\n');
    expect(await once(stream, 'data')).toEqual(['second line\n']);
  });

  it('ends a stream ten seconds after its connection stops accepting requests', async () => {
    const clock = new FakeClock();
    await restart({ clock, keepAliveMs: 3_600_000 });
    const session = open();
    const stream = await openStream(session);
    expect(await once(stream, 'data')).toEqual(['first line\n']);
    expect(await responseTo(send(session, { authorization: 'Bearer invalid' }))).toMatchObject({ status: 401 });
    clock.advance(9_000);
    written('second line\n');
    expect(await once(stream, 'data')).toEqual(['second line\n']);
    clock.advance(1_000);
    await once(stream, 'close');
  });

  it('ends a stream that its client cancels, and records its response', async () => {
    const session = open();
    const stream = await openStream(session);
    stream.close(constants.NGHTTP2_CANCEL);
    await eventually(() => expect([ends, recorded]).toEqual([1, [{ route: '/things', code: 200, durationMs: undefined }]]));
    expect(await get(session, '/document')).toMatchObject({ status: 200 });
  });

  it('ends all streams of a client that disconnects', async () => {
    const session = open();
    await Promise.all([1, 2, 3].map(() => openStream(session)));
    session.destroy();
    await eventually(() => expect(ends).toBe(3));
  });

  it('ends streams and closes the connection when the server stops', async () => {
    const session = open();
    const [stream, closed] = [await openStream(session), once(session, 'close')];
    const received = text(stream);
    await server.close(10_000);
    expect(await received).toBe('first line\n');
    await closed;
  });

  it('announces the end of the connection, and completes responses in progress when the server stops', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    endpoint = async () => {
      await released;
      return OK;
    };
    const session = open();
    const [response, goaway, closed] = [get(session, '/things'), once(session, 'goaway'), once(session, 'close')];
    await eventually(() => expect(begun).toBe(1));
    const stopped = server.close(10_000);
    expect((await goaway)[0]).toBe(constants.NGHTTP2_NO_ERROR);
    release();
    expect(await response).toMatchObject({ status: 200, body: 'ok' });
    await closed;
    await stopped;
  });

  it('serves at most 100 streams of a connection', async () => {
    const session = open();
    await once(session, 'remoteSettings');
    expect(session.remoteSettings.maxConcurrentStreams).toBe(100);
    await Promise.all(Array.from({ length: 100 }, () => openStream(session)));
    send(session, {});
    await expectServed();
    expect(begun).toBe(100);
  });
});

describe('responses over HTTP/2 that are not read', () => {
  it('closes the oldest stream of an address with too many unread responses', async () => {
    const session = open({ settings: { initialWindowSize: 0 } });
    const streams = [1, 2].map(() => send(session, { ':path': '/large' }));
    await eventually(() => expect(recorded.filter(({ route }) => route === '/large')).toHaveLength(1));
    expect(streams[1]?.closed).toBe(false);
    await expectServed();
  });

  it('calls onClosed after the client has read the response, and not before', async () => {
    let isClosed = false;
    endpoint = async () => ({ ...OK, body: LARGE, onClosed: () => void (isClosed = true) });
    const session = open({ settings: { initialWindowSize: 100_000 } });
    const stream = send(session, {}).pause();
    await once(stream, 'response');
    await expectServed();
    expect(isClosed).toBe(false);
    stream.resume();
    await eventually(() => expect(isClosed).toBe(true));
  });
});

describe('attacks over HTTP/2', () => {
  it('closes a connection that opens and resets streams rapidly', async () => {
    endpoint = ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const resets = Array.from({ length: 5_000 }, (_, index) => [
      frame(HEADERS, END_STREAM | END_HEADERS, 2 * index + 1, headerBlock({ ...HEAD, ':method': 'GET', ':path': '/things' })),
      frame(RST_STREAM, 0, 2 * index + 1, Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL])),
    ]);
    const socket = await sendFrames(...resets.flat());
    socket.resume();
    await once(socket, 'close');
    expect(begun).toBeLessThan(1_000);
    await expectServed();
  });

  it.each(['NO_ERROR', 'PROTOCOL_ERROR', 'INTERNAL_ERROR', 'CANCEL'] as const)(
    'survives requests that are reset with %s while they wait',
    async (code) => {
      const streams = Array.from({ length: 60 }, (_, index) => 2 * index + 1);
      const head = headerBlock({ ...HEAD, ':method': 'GET', ':path': '/things' });
      await sendFrames(
        ...streams.map((stream) => frame(HEADERS, END_STREAM | END_HEADERS, stream, head)),
        ...streams.map((stream) => frame(RST_STREAM, 0, stream, Buffer.from([0, 0, 0, constants[`NGHTTP2_${code}`]]))),
      );
      await expectServed();
    },
  );

  it.each([
    [
      'a rejected request',
      () =>
        frame(HEADERS, END_HEADERS, 21, headerBlock({ ...HEAD, ':method': 'GET', ':path': '/things', authorization: 'Bearer invalid' })),
    ],
    ['a GOAWAY', () => frame(GOAWAY, 0, 0, Buffer.alloc(8))],
  ])('aborts the requests on a connection after %s', async (_, closing) => {
    const clock = new FakeClock();
    await restart({ clock });
    let inProgress = 0;
    endpoint = async ({ signal }) => {
      inProgress += 1;
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      inProgress -= 1;
      return OK;
    };
    const head = headerBlock({ ...HEAD, ':method': 'GET', ':path': '/things' });
    const ids = Array.from({ length: 10 }, (_each, index) => 2 * index + 1);
    const socket = await sendFrames(
      ...ids.map((id) => frame(HEADERS, END_STREAM | END_HEADERS, id, head)),
      closing(),
      frame(DATA, 0, 999, Buffer.alloc(10)),
    );
    await eventually(() => expect(inProgress).toBe(10));
    socket.destroy();
    await eventually(() => {
      clock.advance(10_000);
      expect(inProgress).toBe(0);
    });
  });

  it.each(scaled({ full: [1, 2, 3, 4], quick: [1] }))('survives random frames for seed %i', async (seed) => {
    const random = createRandom(seed);
    const clock = new FakeClock();
    await restart({ clock });
    const polite = open();
    let inProgress = 0;
    endpoint = async (request) => {
      const { signal } = request;
      if (random() < 0.3) return { ...OK, body: LARGE };
      if (random() < 0.5) await request.body(LIMIT);
      if (random() < 0.5) return OK;
      inProgress += 1;
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      inProgress -= 1;
      return OK;
    };
    for (let count = 0; count < Number(process.env['PROPERTY_RUNS'] ?? scaled({ full: 60, quick: 20 })); count += 1) {
      const frames = new RandomFrames(random);
      const socket = await sendFramesFrom(`127.0.1.${1 + (count % 250)}`, frames.next(1 + Math.floor(random() * 120)));
      const ending = pick(random, [() => socket.end(), () => socket.destroy(), () => socket.resume(), () => {}]);
      await turn();
      socket.write(frames.next(20));
      ending();
      for (const each of sockets.splice(0, sockets.length - 5)) each.destroy();
      expect(await get(polite, '/document')).toMatchObject({ status: 200 });
    }
    for (const each of sockets.splice(0)) each.destroy();
    await eventually(() => {
      clock.advance(10_000);
      expect(inProgress).toBe(0);
    });
    await expectServed();
    // The end of a connection during a write is found with its next PING.
    clock.advance(60_000);
  });

  it('survives a connection that is closed during a write, before the trailers of its request are complete', async () => {
    const program = join(import.meta.dirname, '../support/incomplete-trailers-process.ts');
    const child = spawn(process.execPath, ['--expose-gc', '--disable-warning=ExperimentalWarning', program], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('rejects headers above 16 KiB with 431 before the client has acknowledged the limit', async () => {
    const { status, body } = await responseTo(send(open(), { 'x-long': 'y'.repeat(17_000) }));
    expect([status, begun]).toEqual([431, 0]);
    expect(body).toContain('"kind":"Status"');
  });

  it('closes the stream of headers above 16 KiB after the client has acknowledged the limit', async () => {
    const session = open();
    await get(session, '/document');
    const stream = send(session, { 'x-long': 'y'.repeat(17_000) });
    await eventually(() => expect(stream.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM));
    expect(begun).toBe(0);
  });

  it('rejects a request with too many headers', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`x${index}`, '']));
    const stream = send(open(), many);
    await eventually(() => expect(stream.rstCode).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM));
    expect(begun).toBe(0);
    await expectServed();
  });

  it.each([
    ['bytes that are not frames', () => [Buffer.alloc(100_000, 'x')]],
    ['an endless header block', () => [frame(HEADERS, END_STREAM, 1), ...Array.from({ length: 5_000 }, () => frame(CONTINUATION, 0, 1))]],
    [
      'a request with invalid header compression',
      () => [frame(HEADERS, END_STREAM | END_HEADERS, 1, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]))],
    ],
    ['an invalid setting', () => [frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0xff, 0xff, 0xff, 0xff]))]],
    ['a frame on an idle stream', () => [frame(DATA, 0, 5, Buffer.alloc(10))]],
  ])('closes a connection with %s, and serves other connections', async (_case, frames) => {
    const socket = await sendFrames(...frames());
    socket.resume();
    await once(socket, 'close');
    await expectServed();
  });

  it.each(
    allOrFirst([
      ['SETTINGS', () => frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0xff, 0xff]))],
      ['PING', () => frame(PING, 0, 0, Buffer.alloc(8))],
    ]),
  )('closes the connection of a client that sends %s frames and reads no response', async (_type, flood) => {
    const socket = await sendFrames();
    socket.pause();
    const frames = Buffer.concat(Array.from({ length: 2_000 }, flood));
    const isOver = () => socket.destroyed || !socket.writable;
    const closed = once(socket, 'close').catch(() => {});
    for (let count = 0; count < 5_000 && !isOver(); count++) {
      if (!socket.write(frames)) await Promise.race([once(socket, 'drain').catch(() => {}), closed]);
    }
    expect(isOver()).toBe(true);
    await expectServed();
  });

  it('closes a connection without a request after the request timeout', async () => {
    await restart({ arrivalMs: 200 });
    const session = open();
    await once(session, 'close');
  });

  it('closes a connection with an incomplete header block after the request timeout', async () => {
    await restart({ arrivalMs: 200 });
    const socket = await sendFrames(frame(HEADERS, END_STREAM, 1));
    socket.resume();
    await once(socket, 'close');
  });

  it('closes an idle connection after the idle timeout', async () => {
    await restart({ keepAliveMs: 200 });
    const session = open();
    const closed = once(session, 'close');
    await get(session, '/document');
    await closed;
  });

  it('serves other clients after a client resets its connection during a response', async () => {
    endpoint = () => new Promise(() => {});
    const session = open();
    send(session, {});
    await eventually(() => expect(begun).toBe(1));
    session.socket.destroy();
    await eventually(() => expect(recorded).toMatchObject([{ code: 499 }]));
    await expectServed();
  });
});
