// A target below HTTP that responds to every request with the bytes of a test.

import { createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { authority, selfSubjectReview } from './wire-target.ts';

export interface RawTarget {
  readonly url: string;
  close(): Promise<void>;
}

/** Responds to one request; `cut` closes the connection with RST. */
export type RawResponder = (socket: TLSSocket, cut: () => void) => void;

/** Starts a target that passes every token request to `respond`. */
export async function startRawTarget(respond: RawResponder): Promise<RawTarget> {
  const { certificate: cert, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
  const secureContext = createSecureContext({ cert, key });
  const sockets = new Set<Socket>();
  const server = createServer((raw) => {
    const socket = new TLSSocket(raw, { isServer: true, secureContext });
    sockets.add(raw);
    // Tests close connections on purpose.
    for (const end of [raw, socket]) end.on('error', () => undefined);
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (!isWhole(received)) return;
      const isReview = received.includes('/selfsubjectreviews');
      received = '';
      if (isReview) socket.write(http('201 Created', JSON.stringify(selfSubjectReview())));
      else respond(socket, () => raw.resetAndDestroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    url: `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Returns an HTTP response. */
export function http(status: string, body: string, headers: readonly string[] = []): string {
  const lines = [`HTTP/1.1 ${status}`, 'content-type: application/json', `content-length: ${Buffer.byteLength(body)}`, ...headers];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

function isWhole(received: string): boolean {
  const [head = '', body] = received.split('\r\n\r\n');
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
  return body !== undefined && body.length >= length;
}
