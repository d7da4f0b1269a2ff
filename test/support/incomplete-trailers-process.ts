// Closes HTTP/2 connections of the façade's server during a write, while trailers of the request have not arrived completely, and then
// collects garbage: `node --expose-gc incomplete-trailers-process.ts`. Exits with 0 if Node does not abort.

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { connect } from 'node:tls';
import { createFacadeServer } from '../../src/facade/server.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { END_HEADERS, END_STREAM, frame, GOAWAY, HEADERS, headerBlock, PREFACE, SETTINGS, WINDOW_UPDATE } from '../facade/frames.ts';
import { FakeClock } from './clock.ts';

/** More than the kernel accepts for a client that does not read, and less than the limit on unread responses of an address. */
const LARGE = Buffer.alloc(7_500_000);
const WINDOW = 0x7fff0000;
const TURNS = 20;
const REQUEST = { ':method': 'GET', ':scheme': 'https', ':authority': 'f', ':path': '/large' };
const TRAILERS = { 'x-first': 'a'.repeat(100), 'x-second': 'b'.repeat(100) };

const clock = new FakeClock();
const requests = new EventEmitter();
let ended = 0;
const { certificate: cert, key } = issueServerCertificate(createAuthority(Date.now()), LOOPBACK_NAMES, Date.now());
const server = createFacadeServer({
  clock,
  certificate: { cert, key },
  routes: [],
  documents: [
    {
      path: '/large',
      reply: () => {
        requests.emit('begin');
        return { status: 200, headers: {}, body: LARGE };
      },
    },
  ],
  authenticate: () => Promise.reject(new Error('the document is public')),
  report: (error) => assert.fail(String(error)),
  onResponse: () => void (ended += 1),
});
const { port } = await server.listen(0, '127.0.0.1');

for (const earlier of [0, 1, 2]) {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  socket.pause();
  const begun = once(requests, 'begin');
  socket.write(
    Buffer.concat([
      PREFACE,
      frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(WINDOW)])),
      frame(WINDOW_UPDATE, 0, 0, uint32(WINDOW - 65_535)),
      frame(HEADERS, END_HEADERS, 1, headerBlock(REQUEST)),
      // The server closes the connection ten seconds later.
      frame(GOAWAY, 0, 0, Buffer.alloc(8)),
      frame(HEADERS, END_STREAM, 1, headerBlock(TRAILERS)),
    ]),
  );
  await begun;
  await turns();
  assert.equal(ended, earlier, 'the kernel accepted the whole response');
  // As from a timer, after which Node frees closed streams that have no write in progress.
  await setTimeout(0);
  clock.advance(10_000);
  socket.resume();
  await once(socket, 'close');
  await turns();
  globalThis.gc?.();
  await turns();
  globalThis.gc?.();
}
await server.close(0);

async function turns(): Promise<void> {
  for (let count = 0; count < TURNS; count++) await setImmediate();
}

function uint32(value: number): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
