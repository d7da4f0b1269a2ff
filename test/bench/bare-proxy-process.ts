// The least that a façade in Node can cost: takes a request over TLS, sends it to the server that it is given, and passes the
// answer on. Nobody is authenticated, nothing is read or checked. Tells its parent where it listens.

import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Pool } from 'undici';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';

const [server = '', caPath = '', connections = ''] = process.argv.slice(2);
const pool = new Pool(server, { connections: Number(connections), connect: { ca: await readFile(caPath, 'utf8') } });
const { certificate: cert, key } = issueServerCertificate(createAuthority(Date.now()), LOOPBACK_NAMES, Date.now());

const proxy = createServer({ cert, key }, (request, response) => void pass(request, response));
proxy.listen(0, '127.0.0.1', () => process.send?.(`https://127.0.0.1:${(proxy.address() as AddressInfo).port}`));

async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url: path = '/', headers } = request;
  const passed = { authorization: headers.authorization ?? '', 'content-type': headers['content-type'] ?? '' };
  const reply = await pool.request({ method: 'POST', path, headers: passed, body: await buffer(request) });
  const body = Buffer.from(await reply.body.arrayBuffer());
  response.writeHead(reply.statusCode, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
}
