// Lower bound for the memory of a watch on Node's HTTPS server: sends one event in response to each request, and keeps the response
// open. Sends its URL to its parent.

import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';

const { certificate: cert, key } = issueServerCertificate(createAuthority(Date.now()), LOOPBACK_NAMES, Date.now());
/** Line of the size of a Cluster. */
const EVENT = Buffer.alloc(2_000, 'x');

const server = createServer({ cert, key, ecdhCurve: 'X25519' }, (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write(EVENT);
});
server.listen(0, '127.0.0.1', () => process.send?.(`https://127.0.0.1:${(server.address() as AddressInfo).port}`));
