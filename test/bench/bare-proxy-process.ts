// Lower bound for a façade on Node's servers for HTTP/1.1 and HTTP/2: forwards a request over TLS to a given server, and returns the
// response, without authentication, parsing or checks. Its HTTP client supports only responses from that server. Sends its URL to its
// parent.

import { readFile } from 'node:fs/promises';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';

const [server = '', caPath = ''] = process.argv.slice(2);
const { hostname: host, port } = new URL(server);
const ca = await readFile(caPath, 'utf8');
const { certificate: cert, key } = issueServerCertificate(createAuthority(Date.now()), LOOPBACK_NAMES, Date.now());

/** Connection to the server, for one exchange at a time. */
class Connection {
  readonly #socket: TLSSocket = connect({ host, port: Number(port), ca });
  #read = '';
  #onResponse: (response: string) => void = () => {};

  constructor() {
    this.#socket.setNoDelay(true);
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#socket.on('close', () => process.exit(1));
  }

  /** Sends a complete request as latin1 text, and passes the response on in the same encoding. */
  exchange(request: string, onResponse: (response: string) => void): void {
    this.#onResponse = onResponse;
    this.#socket.write(request, 'latin1');
  }

  #take(chunk: Buffer): void {
    this.#read += chunk.toString('latin1');
    const headEnd = this.#read.indexOf(HEAD_END);
    const length = LENGTH.exec(this.#read)?.[1];
    if (headEnd < 0 || this.#read.length < headEnd + HEAD_END.length + Number(length)) return;
    const response = this.#read;
    this.#read = '';
    this.#onResponse(response);
  }
}

const HEAD_END = '\r\n\r\n';
const LENGTH = /\r\ncontent-length: (\d+)\r\n/i;
const STATUS = 'HTTP/1.1 '.length;

/** Idle connections; there are as many connections as callers. */
const idle: Connection[] = [];

/** Forwards a request. Requests and responses over HTTP/1.1 have other types, but the same methods. */
function forward(request: Http2ServerRequest, outgoing: Http2ServerResponse): void {
  const { url, headers } = request;
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')));
  request.on('end', () => {
    const connection = idle.pop() ?? new Connection();
    const forwarded = `authorization: ${headers.authorization}\r\ncontent-type: ${headers['content-type']}\r\n`;
    const head = `POST ${url} HTTP/1.1\r\nhost: ${host}\r\n${forwarded}content-length: ${body.length}${HEAD_END}`;
    connection.exchange(`${head}${body}`, (response) => {
      idle.push(connection);
      const content = response.slice(response.indexOf(HEAD_END) + HEAD_END.length);
      outgoing.writeHead(Number(response.slice(STATUS, STATUS + 3)), {
        'content-type': 'application/json',
        'content-length': content.length,
      });
      outgoing.end(content, 'latin1');
    });
  });
}

const proxy = createSecureServer({ cert, key, allowHTTP1: true }, forward);
// Node closes idle connections after 5 s by default, and a new handshake would count as a cost of the proxy.
Object.assign(proxy, { keepAliveTimeout: 60_000 });
proxy.listen(0, '127.0.0.1', () => process.send?.(`https://127.0.0.1:${(proxy.address() as AddressInfo).port}`));
