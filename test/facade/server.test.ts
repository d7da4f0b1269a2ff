// The server on the wire, byte for byte.

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect as connectPlain } from 'node:net';
import { text as wholeText } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type BodyStream, Chunk } from '../../src/facade/body-stream.ts';
import type { Endpoint, FacadeReply } from '../../src/facade/request.ts';
import { createFacadeServer, type FacadeServer, type ServerOptions } from '../../src/facade/server.ts';
import type { Reply } from '../../src/kubernetes/reply.ts';
import { systemClock } from '../../src/std/clock.ts';
import { type Certificate, createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import type { ServedRequest } from '../../src/telemetry/metrics.ts';
import { eventually, turn } from '../kube/eventually.ts';
import { createRandom, pick } from '../support/random.ts';
import { isWhole, RawConnection, responsesIn, statusOf } from './raw-connection.ts';

const OK: Reply = { status: 200, headers: { 'content-type': 'text/plain' }, body: 'ok' };
const LIMIT = 3 * 1024 * 1024;
/** Larger than the kernel's buffers for one connection, and than half the limit on unread responses of an address. */
const LARGE = Buffer.alloc(8_000_000);

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
let seen: (readonly string[])[];
let recorded: ServedRequest[];
let reported: unknown[];
let connections: RawConnection[];
beforeEach(async () => {
  [seen, recorded, reported, connections] = [[], [], [], []];
  endpoint = async (request) => {
    await request.body(LIMIT);
    return OK;
  };
  await startServer();
});
afterEach(async () => {
  connections.forEach((connection) => connection.destroy());
  await server.close(0);
});

async function startServer(options: Partial<Pick<ServerOptions, 'arrivalMs' | 'authenticate' | 'admit'>> = {}): Promise<void> {
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
      seen.push(rawHeaders);
      return { user: { username: 'alice', uid: '', groups: [], extra: {} }, tokenId: 'a', isStillValid: async () => true };
    },
    report: (error) => void reported.push(error),
    onResponse: (response) => void recorded.push(response),
    ...options,
  });
  ({ port } = await server.listen(0, '127.0.0.1'));
}

async function openConnection(): Promise<RawConnection> {
  const connection = await RawConnection.open({ port, ca: authority.certificate });
  connections.push(connection);
  return connection;
}

async function sendBytes(text: string | Buffer): Promise<RawConnection> {
  const connection = await openConnection();
  await connection.write(text);
  return connection;
}

const request = (first: string, ...lines: readonly string[]) => [`${first} HTTP/1.1`, 'Host: f', ...lines, '', ''].join('\r\n');
const GET = request('GET /document');
const POST = 'POST /things/a';
const count = (number: number) => (text: string) => responsesIn(text).length >= number;

it('rejects a request whose token is no longer valid after the wait for a seat', async () => {
  let isValid = true;
  await server.close(0);
  await startServer({
    authenticate: async () => ({
      user: { username: 'alice', uid: '', groups: [], extra: {} },
      tokenId: 'a',
      isStillValid: async () => isValid,
    }),
    admit: async () => {
      isValid = false;
      return () => {};
    },
  });
  expect(statusOf(await (await sendBytes(request('GET /things'))).read(count(1)))).toBe(401);
});

describe('CONNECT', () => {
  const CONNECT = request('CONNECT f:443');

  it('rejects CONNECT with 405 and closes the connection', async () => {
    const response = await (await sendBytes(CONNECT)).read(() => false);
    expect(responsesIn(response.text)).toMatchObject([
      { status: 405, headers: { allow: 'POST' }, body: expect.stringContaining('"Status"') },
    ]);
  });

  it.each([1, 5, 20, 32])('ends %i requests that precede a CONNECT', async (number) => {
    let [aborted, begun] = [0, 0];
    endpoint = async ({ signal }) => {
      begun += 1;
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      aborted += 1;
      return OK;
    };
    const connection = await sendBytes(request('GET /things').repeat(number) + CONNECT);
    await connection.closed;
    await eventually(() => expect(recorded).toHaveLength(number));
    await eventually(() => expect(aborted).toBe(begun));
    expect(statusOf(await (await sendBytes(GET)).read(isWhole))).toBe(200);
  });

  it('serves other clients after a client resets the connection of a CONNECT', async () => {
    const plain = connectPlain(port, '127.0.0.1');
    const secure = connect({ socket: plain, ca: authority.certificate });
    secure.on('error', () => {});
    await once(secure, 'secureConnect');
    secure.write(CONNECT, () => plain.resetAndDestroy());
    await once(secure, 'close');
    expect(statusOf(await (await sendBytes(GET)).read(isWhole))).toBe(200);
  });

  it('closes the connection after CONNECT if the client keeps it open', async () => {
    const plain = connectPlain({ port, host: '127.0.0.1', allowHalfOpen: true });
    const secure = connect({ socket: plain, ca: authority.certificate });
    secure.on('error', () => {}).resume();
    await once(secure, 'secureConnect');
    secure.write(CONNECT);
    await once(secure, 'end');
    await eventually(() => {
      secure.write('x');
      expect(secure.destroyed).toBe(true);
    });
  });
});

describe('random requests on one connection', () => {
  const PARTS = [
    GET,
    request('GET /things'),
    request('GET /things', 'Connection: close'),
    request('HEAD /document'),
    request(POST, 'Content-Length: 0'),
    `${request(POST, 'Content-Length: 4')}body`,
    `${request(POST, 'Transfer-Encoding: chunked')}4\r\nbody\r\n0\r\n\r\n`,
    request(POST, 'Content-Length: 4', 'Expect: 100-continue'),
    request(POST, 'Content-Length: 9'),
    request('GET /things', 'Connection: Upgrade', 'Upgrade: websocket'),
    request('CONNECT f:443'),
    'nonsense\r\n\r\n',
  ];

  it.each([1, 2, 3, 4])('ends every request for seed %i', async (seed) => {
    const random = createRandom(seed);
    let inProgress = 0;
    endpoint = async (each) => {
      if (random() < 0.5) await each.body(LIMIT).catch(() => {});
      if (random() < 0.5) return OK;
      inProgress += 1;
      if (!each.signal.aborted) await new Promise((resolve) => each.signal.addEventListener('abort', resolve, { once: true }));
      inProgress -= 1;
      return OK;
    };
    for (let run = 0; run < Number(process.env['PROPERTY_RUNS'] ?? 40); run += 1) {
      const parts = Array.from({ length: 1 + Math.floor(random() * 40) }, () =>
        pick(random, PARTS.slice(0, pick(random, [3, 8, Infinity]))),
      );
      const connection = await openConnection();
      const bytes = Buffer.from(parts.join(''));
      const half = Math.floor(random() * bytes.length);
      // The server may close the connection in the meantime.
      await connection.write(bytes.subarray(0, half)).catch(() => {});
      if (random() < 0.5) await connection.write(bytes.subarray(half)).catch(() => {});
      await turn();
      connection.destroy();
    }
    await eventually(() => expect(inProgress).toBe(0));
    expect(statusOf(await (await sendBytes(GET)).read(isWhole))).toBe(200);
  });
});

describe('HEAD', () => {
  const pieces = {
    status: 200,
    headers: { 'content-type': 'text/plain', 'content-length': '4' },
    write: async (response: ServerResponse) => void (response.write('o') && response.write('kay')),
  };

  it.each([
    ['a body sent at once', OK, '2'],
    ['a body sent in pieces', pieces, '4'],
  ])('returns the headers of GET for HEAD without the body: %s', async (_, reply, length) => {
    endpoint = async () => reply;
    const { text } = await (await sendBytes(`${request('HEAD /things')}${request('HEAD /things')}`)).read(
      (so) => so.split('\r\n\r\n').length > 2,
    );
    const [first = '', second = '', rest] = text.split('\r\n\r\n');
    for (const head of [first, second]) {
      expect(head).toMatch(/^HTTP\/1.1 200 /);
      expect(head).toContain(`content-length: ${length}`);
    }
    expect(rest).toBe('');
  });

  it('rejects other methods than GET and HEAD with 405, and names both', async () => {
    const response = await (await sendBytes(request('PUT /things'))).read((so) => so.includes('\r\n\r\n'));
    expect(statusOf(response)).toBe(405);
    expect(response.text).toMatch(/\r\nallow: GET, HEAD\r\n/i);
  });

  it('rejects HEAD with 405 if GET would be a watch', async () => {
    const response = await (await sendBytes(request('HEAD /things?watch=true'))).read((so) => so.endsWith('\r\n\r\n'));
    expect(statusOf(response)).toBe(405);
    expect(response.text).toMatch(/\r\nallow: GET\r\n/i);
  });
});

describe('WebSocket', () => {
  it('responds to a watch over WebSocket with a plain stream', async () => {
    endpoint = async () => ({ status: 200, headers: { 'content-length': '5' }, write: async (response) => void response.write('event') });
    const upgrade = [
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ];
    const { text } = await (await sendBytes(request('GET /things?watch=true', 'Origin: https://f', ...upgrade))).read(isWhole);
    expect(responsesIn(text)).toMatchObject([{ status: 200, body: 'event' }]);
  });
});

describe('Warning header', () => {
  const head = (text: string) => text.includes('\r\n\r\n');
  const streamed: FacadeReply = { status: 200, headers: {}, write: async (response) => void response.write('ü') };

  it.each<readonly [string, string, FacadeReply]>([
    ['a body', request(POST, 'Content-Length: 0'), { ...OK, body: 'ü' }],
    ['no body', request('HEAD /things'), { ...OK, body: 'ü' }],
    ['a stream', request(POST, 'Content-Length: 0'), streamed],
    ['a stream without a body', request('HEAD /things'), streamed],
    ['a body before the end of the request', request(POST, 'Content-Length: 500000'), { ...OK, body: 'ü' }],
  ])('writes non-ASCII text in a Warning header as UTF-8: %s', async (_case, bytes, reply) => {
    endpoint = async ({ warn }) => {
      warn('größer ✓');
      return reply;
    };
    const { text } = await (await sendBytes(bytes)).read(head);
    expect(Buffer.from(text, 'latin1').toString('utf8')).toContain('\r\nwarning: 299 - "größer ✓"\r\n');
  });
});

describe('more than 1,000 headers', () => {
  const many = Array.from({ length: 1_100 }, () => 'a: b');

  it.each([
    ['a second Authorization', 'Authorization: Bearer other'],
    ['Impersonate-User', 'Impersonate-User: admin'],
    ['Impersonate-Group', 'Impersonate-Group: system:masters'],
  ])('passes headers after the thousandth to the authentication: %s', async (_case, line) => {
    await (await sendBytes(request(POST, ...many, line, 'Content-Length: 0'))).read(isWhole);
    expect(seen[0]?.join(': ')).toContain(line);
  });

  it('rejects Transfer-Encoding: identity, chunked after the thousandth header', async () => {
    const bytes = `${request(POST, ...many, 'Transfer-Encoding: identity, chunked')}0\r\n\r\n`;
    expect(statusOf(await (await sendBytes(bytes)).read(isWhole))).toBe(400);
  });
});

describe('onClosed', () => {
  it('calls onClosed after the client has read the response, and not before', async () => {
    let isClosed = false;
    const body = Buffer.alloc(20_000_000);
    endpoint = async () => ({ ...OK, body, onClosed: () => void (isClosed = true) });
    const socket = connect({ port, host: '127.0.0.1', ca: authority.certificate }).pause();
    await once(socket, 'secureConnect');
    socket.write(request('GET /things'));
    await eventually(() => expect(seen).toHaveLength(1));
    expect(statusOf(await (await sendBytes(GET)).read(isWhole))).toBe(200);
    expect(isClosed).toBe(false);
    socket.resume();
    await eventually(() => expect(isClosed).toBe(true));
    socket.destroy();
  });
});

describe('public documents', () => {
  it('closes the oldest connection of a client that does not read public documents', async () => {
    const sockets = [1, 2].map(() => connect({ port, host: '127.0.0.1', ca: authority.certificate }).pause());
    for (const socket of sockets) {
      socket.on('error', () => {});
      await once(socket, 'secureConnect');
      socket.write(request('GET /large'));
    }
    await eventually(() => expect(recorded).toMatchObject([{ route: '/large' }]));
    expect(statusOf(await (await sendBytes(GET)).read(isWhole))).toBe(200);
    for (const socket of sockets) socket.destroy();
  });
});

describe('pipelined requests', () => {
  it.each([
    ['400', 'nonsense\r\n\r\n'],
    ['431', request('GET /document', `x: ${'y'.repeat(17_000)}`)],
  ])('rejects an invalid second request on a connection with a Status: %s', async (code, bytes) => {
    const connection = await sendBytes(GET);
    await connection.read(isWhole);
    await connection.write(bytes);
    const [, response] = responsesIn((await connection.read(() => false)).text);
    expect(response).toMatchObject({ status: Number(code), body: expect.stringContaining('"kind":"Status"') });
  });

  const invalid = { status: 400, headers: { connection: 'close' }, body: expect.stringContaining('"kind":"Status"') };

  it('rejects a malformed pipelined request after the stream of an earlier request', async () => {
    const { promise: isEnd, resolve: end } = Promise.withResolvers<void>();
    endpoint = async () => ({
      status: 200,
      headers: { 'content-length': '11' },
      write: async (response) => {
        response.write('first');
        await isEnd;
        response.write(' and ');
        response.write('l');
      },
    });
    const connection = await sendBytes(request(POST, 'Content-Length: 0'));
    await connection.read((text) => text.includes('first'));
    await connection.write('nonsense\r\n\r\n');
    await connection.write('nonsense\r\n\r\n');
    end();
    const { text } = await connection.read(() => false);
    expect(responsesIn(text)).toMatchObject([{ status: 200, body: 'first and l' }, invalid]);
  });

  it('responds to all earlier pipelined requests before it rejects a malformed one', async () => {
    const { promise: isEnd, resolve: end } = Promise.withResolvers<void>();
    endpoint = () => isEnd.then(() => OK);
    const connection = await sendBytes(`${request(POST, 'Content-Length: 0')}${GET}`);
    await eventually(() => expect(seen).toHaveLength(1));
    await connection.write('nonsense\r\n\r\n');
    await connection.write('nonsense\r\n\r\n');
    end();
    const { text } = await connection.read(() => false);
    expect(responsesIn(text)).toMatchObject([{ status: 200, body: 'ok' }, { status: 200, body: 'ok' }, invalid]);
  });

  it('responds to 30 pipelined requests before it rejects a malformed one', async () => {
    const connection = await sendBytes(`${GET.repeat(30)}nonsense\r\n\r\n`);
    const { text } = await connection.read(() => false);
    expect(responsesIn(text).map(({ status }) => status)).toEqual([...Array.from({ length: 30 }, () => 200), 400]);
  });

  it('serves 32 of 40 pipelined requests, then closes the connection', async () => {
    const connection = await sendBytes(request(POST, 'Content-Length: 0').repeat(40));
    const { text, isClosed } = await connection.read(() => false);
    expect([responsesIn(text).length, isClosed, seen.length]).toEqual([32, true, 32]);
  });

  it('closes a connection on which a client sends hundreds of requests at once', async () => {
    const connection = await sendBytes(GET.repeat(400));
    await connection.closed;
    expect(recorded.length).toBeLessThanOrEqual(32);
  });

  it.each([
    ['a GET', GET, 1],
    ['a POST', request(POST, 'Content-Length: 0'), 1],
    ['two GETs', `${GET}${GET}`, 2],
  ])('responds to %s before it rejects the malformed body of the next request', async (_, earlier, responses) => {
    const connection = await sendBytes(`${earlier}${request(POST, 'Transfer-Encoding: chunked')}zz\r\n`);
    const { text } = await connection.read(() => false);
    const served = Array.from({ length: responses }, () => ({ status: 200, body: 'ok' }));
    expect(responsesIn(text)).toMatchObject([...served, invalid]);
  });

  it('sends no 408 if a late body arrives before the response to the earlier request', async () => {
    await server.close(0);
    await startServer({ arrivalMs: 200 });
    const { promise: isEnd, resolve: end } = Promise.withResolvers<void>();
    let received = 0;
    endpoint = async (message) => {
      await message.body(LIMIT);
      received += 1;
      await isEnd;
      return OK;
    };
    const connection = await sendBytes(`${request(POST, 'Content-Length: 0')}${request(POST, 'Content-Length: 2')}`);
    await eventually(() => expect([seen.length, received]).toEqual([2, 1]));
    // Its timeout is later than that of the body.
    const later = await sendBytes('GET /document HTTP/1.1\r\n');
    expect(statusOf(await later.read(isWhole))).toBe(408);
    await connection.write('{}');
    await eventually(() => expect(received).toBe(2));
    end();
    const { text } = await connection.read(() => false);
    expect(responsesIn(text).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('sends one response to a malformed request that was rejected before its body arrived', async () => {
    const connection = await sendBytes(`${GET}${request('POST /unknown', 'Transfer-Encoding: chunked')}zz\r\n`);
    const { text } = await connection.read(() => false);
    expect(responsesIn(text).map(({ status }) => status)).toEqual([200, 404]);
  });

  it('responds to a request that arrives together with malformed bytes', async () => {
    const connection = await sendBytes(`${request(POST, 'Content-Length: 0')}nonsense\r\n\r\n`);
    const { text } = await connection.read(() => false);
    expect(responsesIn(text)).toMatchObject([{ status: 200, body: 'ok' }, invalid]);
  });

  it('stops all work for a caller that disconnects after malformed bytes', async () => {
    const { promise: isAborted, resolve: abort } = Promise.withResolvers<void>();
    endpoint = async ({ signal }) => {
      signal.addEventListener('abort', () => abort());
      await isAborted;
      return OK;
    };
    const connection = await sendBytes(`${request(POST, 'Content-Length: 0')}nonsense\r\n\r\n`);
    await eventually(() => expect(seen).toHaveLength(1));
    connection.destroy();
    await isAborted;
    await eventually(() => expect(recorded).toMatchObject([{ code: 499 }]));
  });
});

describe('streams that take over their connection', () => {
  let streams: BodyStream[];
  let ended: number;
  beforeEach(() => {
    [streams, ended] = [[], 0];
    endpoint = async () => ({
      status: 200,
      headers: { connection: 'close' },
      async write(_response, takeOver) {
        const { stream } = await takeOver(async () => {});
        const end = () => {
          ended += 1;
          stream.end();
        };
        stream.source = { pump: () => {}, end };
        stream.writeLines([Buffer.from('first ')]);
        streams.push(stream);
      },
    });
  });
  const STREAM = request('GET /things');
  const bodyOf = ({ text }: { readonly text: string }) => text.slice(text.lastIndexOf('\r\n\r\n', text.length - 5) + 4);

  it('ends the body with the last chunk, closes the connection and records the response', async () => {
    const connection = await sendBytes(STREAM);
    await connection.read((text) => text.includes('first'));
    expect(recorded).toEqual([]);
    streams[0]?.write(new Chunk([Buffer.from('second')]));
    streams[0]?.end();
    const response = await connection.read(() => false);
    expect(response.text).toMatch(/^HTTP\/1.1 200 OK\r\n(.*\r\n)*connection: close\r\n/i);
    expect(response.text).toContain('6\r\nfirst \r\n6\r\nsecond\r\n0\r\n\r\n');
    await eventually(() => expect(recorded).toEqual([{ route: '/things', code: 200, durationMs: undefined }]));
  });

  it.each<readonly [string, (connection: RawConnection) => unknown]>([
    ['its client disconnects', (connection) => connection.destroy()],
    ['the server stops', () => server.close(60_000)],
  ])('does not start a stream, and closes the connection, if %s during the preparation of the stream', async (_, end) => {
    const { promise: isPreparing, resolve: onPrepare } = Promise.withResolvers<void>();
    const { promise: failure, resolve: onFailure } = Promise.withResolvers<unknown>();
    endpoint = async () => ({
      status: 200,
      headers: { connection: 'close' },
      async write(_response, takeOver) {
        await takeOver(() => {
          onPrepare();
          return Promise.withResolvers<never>().promise;
        }).catch((error: unknown) => {
          onFailure(error);
          throw error;
        });
      },
    });
    const connection = await sendBytes(STREAM);
    await isPreparing;
    void end(connection);
    expect(await failure).toBeInstanceOf(Error);
    await connection.closed;
  });

  it('sends a stream to an HTTP/1.0 client without chunks', async () => {
    const connection = await sendBytes(STREAM.replace('HTTP/1.1', 'HTTP/1.0'));
    await connection.read((text) => text.includes('first'));
    streams[0]?.write(new Chunk([Buffer.from('second')]));
    streams[0]?.end();
    expect(bodyOf(await connection.read(() => false))).toBe('first second');
  });

  it('starts a stream after the earlier responses on its connection', async () => {
    const { promise: isEnd, resolve: end } = Promise.withResolvers<void>();
    const stream = endpoint;
    endpoint = (received) => (received.method === 'POST' ? isEnd.then(() => OK) : stream(received));
    const connection = await sendBytes(`${request(POST, 'Content-Length: 0')}${STREAM}`);
    await eventually(() => expect(seen).toHaveLength(2));
    end();
    const { text } = await connection.read((received) => received.includes('first'));
    expect(responsesIn(text)).toMatchObject([{ status: 200, body: 'ok' }]);
  });

  it.each([1, 14, 15, 16, 20, 30])('sends no response to %i requests after a stream', async (number) => {
    const connection = await sendBytes(`${STREAM}${request(POST, 'Content-Length: 0').repeat(number)}`);
    await connection.read((text) => text.includes('first'));
    await connection.write(GET);
    // The server has read the request when it responds to a later one.
    await (await sendBytes(GET)).read(isWhole);
    await connection.write(`${GET}nonsense`);
    streams[0]?.end();
    const { text } = await connection.read(() => false);
    expect(text.match(/HTTP\/1.1/g)).toHaveLength(1);
    expect(text.endsWith('0\r\n\r\n')).toBe(true);
    expect(reported).toEqual([]);
  });

  it('ends a stream whose client disconnects', async () => {
    const connection = await sendBytes(STREAM);
    await connection.read((text) => text.includes('first'));
    connection.destroy();
    await eventually(() => expect([ended, recorded.length]).toEqual([1, 1]));
  });

  it('sends the last chunk when the server stops', async () => {
    const connection = await sendBytes(STREAM);
    await connection.read((text) => text.includes('first'));
    await server.close(3_600_000);
    expect((await connection.read(() => false)).text.endsWith('0\r\n\r\n')).toBe(true);
  });

  it('serves a request for a protocol upgrade like any other request', async () => {
    const connection = await sendBytes(request('GET /document', 'Connection: Upgrade', 'Upgrade: websocket'));
    expect(responsesIn((await connection.read(isWhole)).text)).toMatchObject([{ status: 200, body: 'ok' }]);
  });
});

describe('requests that Node does not reject with a Status', () => {
  it.each([
    ['no host', 'GET /document HTTP/1.1\r\n\r\n', 400],
    ['no host, in HTTP/1.0', 'GET /document HTTP/1.0\r\n\r\n', 400],
    ['two hosts', request('GET /document', 'Host: f'), 400],
    ['two hosts, far apart', request('GET /document', ...Array.from({ length: 1_100 }, () => 'a: b'), 'host: g'), 400],
    ['a malformed host', 'GET /document HTTP/1.1\r\nHost: a b\r\n\r\n', 400],
    ['a host with a path', 'GET /document HTTP/1.1\r\nHost: a/b\r\n\r\n', 400],
    ['an unknown expectation', request('GET /document', 'Expect: x'), 417],
  ])('returns a Status for a request that Node would accept or reject without a Status: %s', async (_what, bytes, code) => {
    const [response] = responsesIn((await (await sendBytes(bytes)).read(isWhole)).text);
    expect(response?.status).toBe(code);
    expect(JSON.parse(response?.body ?? '')).toMatchObject({ kind: 'Status', code });
  });
});

it.each(['Host: [::1%25lo]:443', 'Host: a_b.example:1', 'Host:'])('serves a request with %s', async (host) => {
  const bytes = `GET /document HTTP/1.1\r\n${host}\r\n\r\n`;
  expect(statusOf(await (await sendBytes(bytes)).read(isWhole))).toBe(200);
});

it('serves a request with an empty Expect header', async () => {
  const connection = await sendBytes(`${request(POST, 'Expect:', 'Content-Length: 2')}{}`);
  expect(responsesIn((await connection.read(isWhole)).text)).toMatchObject([{ status: 200, body: 'ok' }]);
});

describe('bodies above the limit', () => {
  it.each([
    ['with a Content-Length', [`Content-Length: ${64 << 20}`]],
    ['chunked', ['Transfer-Encoding: chunked']],
  ])('responds to an excessive body while the caller still sends it: %s', async (_what, lines) => {
    const connection = await sendBytes(request(POST, ...lines));
    const piece = lines[0]?.startsWith('T') ? `100000\r\n${' '.repeat(1 << 20)}\r\n` : ' '.repeat(1 << 20);
    const read = connection.read(() => false);
    for (let left = 64; left > 0 && !connection.isClosed; left--) await connection.write(piece);
    expect(responsesIn((await read).text)).toMatchObject([{ status: 413, headers: { connection: 'close' } }]);
  });

  it('delivers the response to an excessive body to a caller who reads after sending all of it', async () => {
    const secure = connect({ port, host: '127.0.0.1', ca: authority.certificate });
    await once(secure, 'secureConnect');
    secure.write(request(POST, 'Transfer-Encoding: chunked'));
    const piece = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    for (let left = 60; left > 0; left--) await new Promise((resolve) => secure.write(piece, resolve));
    expect(statusOf({ text: await wholeText(secure) })).toBe(413);
  });

  it('sends one response to an excessive body that does not arrive, and closes the connection', async () => {
    const connection = await sendBytes(request(POST, `Content-Length: ${64 << 20}`));
    await connection.read(() => false);
    expect(responsesIn(connection.text)).toHaveLength(1);
  });

  it('accepts a body of exactly the maximum length', async () => {
    const connection = await sendBytes(Buffer.from(request(POST, `Content-Length: ${LIMIT}`) + ' '.repeat(LIMIT)));
    expect(statusOf(await connection.read(isWhole))).toBe(200);
  });
});

describe('bodies that do not arrive', () => {
  beforeEach(async () => {
    await server.close(0);
    await startServer({ arrivalMs: 3_000 });
  });

  it.each(['timeout=1s', 'timeout=1s&watch=true'])('responds with 504 if the body of a request with ?%s does not arrive', async (query) => {
    const connection = await sendBytes(request(`${POST}?${query}`, 'Content-Length: 5'));
    const [response] = responsesIn((await connection.read(isWhole)).text);
    expect(response).toMatchObject({ status: 504, body: expect.stringContaining('"Timeout"') });
  });

  it('returns a Status with 408 for a second request on a connection if its body does not arrive', async () => {
    const connection = await sendBytes(GET);
    await connection.read(isWhole);
    await connection.write(request(POST, 'Content-Length: 5'));
    const [, response] = responsesIn((await connection.read(() => false)).text);
    expect(response).toMatchObject({ status: 408, body: expect.stringContaining('"kind":"Status"') });
  });

  it('sends one response for a body that does not arrive', async () => {
    const connection = await sendBytes(request(`${POST}?timeout=1s`, 'Content-Length: 5'));
    const { text } = await connection.read(() => false);
    expect(responsesIn(text).map(({ status }) => status)).toEqual([504]);
  });
});

describe('rejections', () => {
  it.each([
    ['an invalid name', request('GET /things/Bad_Name')],
    ['a path that cannot be decoded', request('GET /%zz')],
    ['control characters', request('GET /things/%00')],
  ])('keeps the connection open after a rejection: %s', async (_what, bytes) => {
    const connection = await sendBytes(bytes);
    await connection.read(isWhole);
    await connection.write(GET);
    const responses = responsesIn((await connection.read(count(2))).text);
    expect(responses[1]?.status).toBe(200);
  });

  it('records a request whose path cannot be decoded, under the route *', async () => {
    await (await sendBytes(request('GET /%zz'))).read(isWhole);
    await eventually(() => expect(recorded).toMatchObject([{ route: '*', code: 400 }]));
  });
});

describe('close', () => {
  /** Longer than any test may take. */
  const GRACE_MS = 3_600_000;

  it('completes a request in progress, and then closes its connection and the server', async () => {
    const { promise: isEnd, resolve: end } = Promise.withResolvers<void>();
    endpoint = () => isEnd.then(() => OK);
    const connection = await sendBytes(request(POST, 'Content-Length: 0'));
    await eventually(() => expect(seen).toHaveLength(1));
    const stopped = server.close(GRACE_MS);
    end();
    const [response] = responsesIn((await connection.read(() => false)).text);
    expect(response).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await stopped;
  });

  it('serves a request that arrives on an idle connection while the server stops, and announces the end of the connection', async () => {
    const connection = await sendBytes(request('GET /things'));
    await connection.read(isWhole);
    const stopped = server.close(GRACE_MS);
    await turn();
    await connection.write(request('GET /things'));
    const responses = responsesIn((await connection.read(() => false)).text);
    expect(responses).toMatchObject([{ status: 200 }, { status: 200, headers: { connection: 'close' } }]);
    await stopped;
  });

  it('closes idle connections after a few seconds', async () => {
    const connection = await sendBytes(request('GET /things'));
    await connection.read(isWhole);
    await server.close(GRACE_MS);
    await connection.closed;
  });

  it('ends streams as soon as the server stops', async () => {
    endpoint = async ({ signal }) => ({
      status: 200,
      headers: {},
      write: async (response) => {
        response.write('first');
        await once(signal, 'abort');
      },
    });
    const connection = await sendBytes(request(POST, 'Content-Length: 0'));
    await connection.read((text) => text.includes('first'));
    await server.close(GRACE_MS);
  });

  it('closes the remaining connections at the end of the grace period', async () => {
    endpoint = () => new Promise(() => {});
    await sendBytes(request(POST, 'Content-Length: 0'));
    await eventually(() => expect(seen).toHaveLength(1));
    await server.close(100);
    expect(reported).toEqual([]);
  });
});
