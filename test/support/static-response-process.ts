// Lower bound for the cost of a list: a bare HTTPS server with a static body, as a separate process. Its argument is the length of the
// body in bytes.

import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';

const body = Buffer.alloc(Number(process.argv[2]), 'x');
const { certificate: cert, key } = issueServerCertificate(createAuthority(Date.now()), LOOPBACK_NAMES, Date.now());
const server = createServer({ cert, key, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] }, (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => process.send?.({ url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` }));
process.on('disconnect', () => process.exit());
