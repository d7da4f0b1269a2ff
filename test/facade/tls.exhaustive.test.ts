// TLS handshakes of slow and hostile clients.

import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createFacadeServer, type FacadeServer } from '../../src/facade/server.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { createRandom, pick } from '../support/random.ts';
import { allOrFirst } from '../support/scaled.ts';
import { END_HEADERS, END_STREAM, frame, GOAWAY, HEADERS, headerBlock, PING, PREFACE, SETTINGS } from './frames.ts';
import { SlowConnection } from './slow-connection.ts';

/** Time for a handshake and for a request, in milliseconds. */
const ARRIVAL_MS = 50;

const authority = createAuthority(Date.now());
const { certificate, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());

let server: FacadeServer;
let port: number;
let sockets: TLSSocket[];
beforeEach(async () => {
  sockets = [];
  server = createFacadeServer({
    clock: systemClock,
    certificate: { cert: certificate, key },
    routes: [],
    documents: [{ path: '/document', reply: () => ({ status: 200, headers: {}, body: 'ok' }) }],
    authenticate: () => Promise.reject(new Error('no request needs a caller')),
    report: (error) => {
      throw error;
    },
    arrivalMs: ARRIVAL_MS,
    keepAliveMs: ARRIVAL_MS,
  });
  ({ port } = await server.listen(0, '127.0.0.1'));
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await server.close(0);
});

/** Starts a handshake, each of whose chunks is sent when `untilSent` resolves. */
function openSlowly(untilSent: () => Promise<unknown>, options: ConnectionOptions): TLSSocket {
  const socket = connectTls({ socket: new SlowConnection(connect(port, '127.0.0.1'), untilSent), ca: authority.certificate, ...options });
  sockets.push(socket);
  socket.on('error', () => {});
  return socket.resume();
}

const SETUP = [PREFACE, frame(SETTINGS, 0, 0)];
const GET_DOCUMENT = headerBlock({ ':method': 'GET', ':path': '/document', ':scheme': 'https', ':authority': 'f' });

it('closes a connection whose handshake is completed too late', async () => {
  let chunks = 0;
  const late = Promise.withResolvers<void>();
  const socket = openSlowly(async () => void (chunks++ > 0 && (await late.promise)), { ALPNProtocols: ['h2'] });
  await once(socket, 'secureConnect');
  socket.write(Buffer.concat(SETUP));
  const closed = once(socket, 'close');
  // The server closes the connection first.
  await Promise.race([closed, setTimeout(4 * ARRIVAL_MS)]);
  late.resolve();
  await closed;
});

it.each(allOrFirst([1, 2]))('survives slow handshakes and requests for seed %i', async (seed) => {
  const random = createRandom(seed);
  const delays = [0, 0, 0, 1, ARRIVAL_MS / 2, ARRIVAL_MS, ARRIVAL_MS + 5, 2 * ARRIVAL_MS];
  const messages = [
    frame(HEADERS, END_STREAM | END_HEADERS, 1, GET_DOCUMENT),
    frame(HEADERS, END_HEADERS, 1, GET_DOCUMENT),
    frame(PING, 0, 0, Buffer.alloc(8)),
    frame(GOAWAY, 0, 0, Buffer.alloc(8)),
    Buffer.from([0xff]),
  ];
  const actOnce = async (): Promise<void> => {
    const protocols = pick(random, [['h2'], ['h2', 'http/1.1'], ['http/1.1']]);
    const maxVersion = pick(random, ['TLSv1.2', 'TLSv1.3'] as const);
    const socket = openSlowly(() => setTimeout(pick(random, delays)), { ALPNProtocols: protocols, maxVersion });
    const closed = once(socket, 'close');
    const end = pick(random, [() => socket.end(), () => socket.destroy(), () => {}]);
    socket.once('secureConnect', () => {
      const bytes =
        socket.alpnProtocol === 'h2' ? [...SETUP, pick(random, messages)] : [Buffer.from('GET /document HTTP/1.1\r\nHost: f\r\n\r\n')];
      socket.write(Buffer.concat(bytes), end);
    });
    await closed;
  };
  const runs = Number(process.env['PROPERTY_RUNS'] ?? 10);
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      for (let run = 0; run < runs; run += 1) await actOnce();
    }),
  );
  expect(sockets).toHaveLength(20 * runs);
});
