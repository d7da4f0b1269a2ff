// A caller that keeps an HTTP/2 connection. As other clients do, it opens a new connection after a GOAWAY, and repeats a request that the
// server has refused without processing it.

import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';

export interface Http2Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export class Http2Caller {
  readonly #url: string;
  readonly #tls: { readonly ca: string; readonly servername: string };
  #session: ClientHttp2Session | undefined;

  constructor(url: string, tls: { readonly ca: string; readonly servername: string }) {
    this.#url = url;
    this.#tls = tls;
  }

  /** Sends a request, and returns the status of the response. */
  async send(request: Http2Request): Promise<number> {
    for (;;) {
      const stream = this.#open(request);
      try {
        return await statusOf(stream);
      } catch (error) {
        if (stream.rstCode !== constants.NGHTTP2_REFUSED_STREAM) throw error;
      }
    }
  }

  destroy(): void {
    this.#session?.destroy();
  }

  #open({ method, path, headers, body }: Http2Request): ClientHttp2Stream {
    this.#session ??= this.#connect();
    const stream = this.#session.request({ ':method': method, ':path': path, ...headers }, { endStream: body === undefined });
    if (body !== undefined) stream.end(body);
    return stream;
  }

  #connect(): ClientHttp2Session {
    const session = connect(this.#url, this.#tls);
    const leave = () => {
      if (this.#session === session) this.#session = undefined;
    };
    // The requests of a session report its errors.
    return session.once('goaway', leave).once('close', leave).on('error', leave);
  }
}

async function statusOf(stream: ClientHttp2Stream): Promise<number> {
  return await new Promise((resolve, reject) => {
    let status = 0;
    stream.once('response', ({ ':status': received }) => (status = received ?? 0));
    stream.once('error', reject);
    stream.once('close', () => resolve(status));
    stream.resume();
  });
}
