// HTTP/2 connections of the façade. Clients of Kubernetes send all requests of a process on one connection, so that a further watch uses
// the memory of a stream instead of that of a TLS connection.

import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  constants,
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../std/clock.ts';
import { MAX_BODY_BYTES } from './request.ts';

/** Returns the HTTP/2 stream of a response; undefined for HTTP/1.1. */
export function http2StreamOf(response: ServerResponse): ServerHttp2Stream | undefined {
  const { stream } = response as { readonly stream?: ServerHttp2Stream };
  return stream;
}

export function isHttp2(response: ServerResponse): boolean {
  return http2StreamOf(response) !== undefined;
}

/** Accepts no further requests on the HTTP/2 connection of a response, and closes it after the responses in progress. */
export function closeConnectionAfter(response: ServerResponse): void {
  http2StreamOf(response)?.session?.close();
}

export interface Http2Options {
  readonly clock: Clock;
  /** Maximum time for the first request on a connection, and for the body of each request, in milliseconds. */
  readonly arrivalMs: number;
  /** Time for which an idle connection stays open, in milliseconds. */
  readonly keepAliveMs: number;
  /** Serves a request. Node's compatibility API represents HTTP/2 requests and responses as those of HTTP/1.1. */
  readonly serve: (message: IncomingMessage, response: ServerResponse) => void;
}

/**
 * Maximum number of HTTP/2 connections; further clients get HTTP/1.1. A connection uses 57 kB, so that the limit on watches needs no share
 * for the connections themselves.
 */
const MAX_CONNECTIONS = 256;
/** Interval of PING frames, and time for the client to acknowledge one, in milliseconds. Node does not notice every lost connection. */
const PING_MS = 30_000;
const ACKNOWLEDGE_MS = 15_000;
/** Maximum number of requests in progress on one connection, as for kube-apiserver. Clients open another connection for more. */
const MAX_STREAMS = 100;
/** Maximum number of bytes of a request body that a client may send before the façade reads them. */
const WINDOW_BYTES = 16_384;
/** Maximum size of the headers of a request, in bytes. Node applies it after the client has acknowledged the setting. */
export const MAX_HEADER_BYTES = 16_384;
/** Time for a client to close its side of a connection, in milliseconds. */
const LINGER_MS = 1_000;

/** Limits on frames. Node closes a connection that exceeds one of them. */
const LIMITS = {
  settings: {
    maxConcurrentStreams: MAX_STREAMS,
    maxHeaderListSize: MAX_HEADER_BYTES,
    initialWindowSize: WINDOW_BYTES,
    enableConnectProtocol: false,
  },
  // In megabytes; more than the limits on unread responses, which close single streams.
  maxSessionMemory: 16,
  maxSessionInvalidFrames: 32,
  maxSessionRejectedStreams: 32,
  maxSettings: 16,
  // Clients cancel a watch with a reset. More resets than these are an attack (CVE-2023-44487).
  streamResetBurst: 500,
  streamResetRate: 33,
};

export class Http2Connections {
  readonly #options: Http2Options;
  readonly #sessions = new Set<ServerHttp2Session>();
  #isStopping = false;

  constructor(options: Http2Options) {
    this.#options = options;
  }

  /** Returns true if a new connection may use HTTP/2. */
  get hasRoom(): boolean {
    return this.#sessions.size < MAX_CONNECTIONS && !this.#isStopping;
  }

  /** Serves a connection whose TLS handshake has selected HTTP/2. */
  open(socket: TLSSocket): void {
    const session = performServerHandshake(socket, LIMITS);
    // The session closes itself after an error.
    session.on('error', ignore);
    const close = () => this.#close(session, socket);
    // Other connections may have used the room since the handshake. The client connects again.
    if (!this.hasRoom) return close();
    this.#sessions.add(session);
    const cancels = [this.#closeIdle(session, close), this.#closeLost(session, socket)];
    session.once('close', () => {
      for (const cancel of cancels) cancel();
      this.#sessions.delete(session);
    });
  }

  /** Accepts no further requests, and closes each connection after its responses in progress. */
  stop(): void {
    this.#isStopping = true;
    for (const session of this.#sessions) session.close();
  }

  /** Serves the streams of a session, and calls `close` when it has none for too long. Returns a function that cancels this. */
  #closeIdle(session: ServerHttp2Session, close: () => void): () => void {
    const { clock, arrivalMs, keepAliveMs } = this.#options;
    let streams = 0;
    let isOver = false;
    let cancel = clock.wakeAfter(arrivalMs, close);
    session.on('stream', (stream, headers, _flags, rawHeaders) => {
      cancel();
      streams += 1;
      stream.once('close', () => {
        streams -= 1;
        if (streams === 0 && !isOver) cancel = clock.wakeAfter(session.closed ? 0 : keepAliveMs, close);
      });
      this.#serve(stream, headers, rawHeaders);
    });
    return () => {
      isOver = true;
      cancel();
    };
  }

  /** Closes a connection whose client does not acknowledge a PING. Returns a function that cancels this. */
  #closeLost(session: ServerHttp2Session, socket: TLSSocket): () => void {
    const { clock } = this.#options;
    let cancel = () => {};
    const pingLater = () => {
      cancel = clock.wakeAfter(PING_MS, () => {
        // Only the socket ends a session with a write that never completes.
        cancel = clock.wakeAfter(ACKNOWLEDGE_MS, () => socket.destroy());
        const isSent = session.ping((error) => {
          if (error !== null) return;
          cancel();
          pingLater();
        });
        if (!isSent) socket.destroy();
      });
    };
    pingLater();
    return () => cancel();
  }

  #serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
    const message = new Http2Request(stream, headers, {}, rawHeaders);
    const response = new Http2Response(stream);
    if (!stream.endAfterHeaders) {
      message.receive(stream);
      this.#limitBody(stream);
    }
    this.#options.serve(message as unknown as IncomingMessage, response as unknown as ServerResponse);
  }

  /** Closes a stream whose body does not arrive in time, or has not arrived when its response has been sent. */
  #limitBody(stream: ServerHttp2Stream): void {
    const { clock, arrivalMs } = this.#options;
    const cancel = clock.wakeAfter(arrivalMs, () => {
      if (stream.state.remoteClose !== 1) stream.close(constants.NGHTTP2_CANCEL);
    });
    stream.once('close', cancel);
    // Node sends the end of the response after this event. A reset before it would make the client lose the response.
    stream.once('finish', () => closeAfterEnd(stream, TURNS));
  }

  /** Closes a connection after its responses in progress, and even if the client does not close its side. */
  #close(session: ServerHttp2Session, socket: TLSSocket): void {
    session.close();
    const cancel = this.#options.clock.wakeAfter(LINGER_MS, () => socket.destroy());
    socket.once('close', cancel);
  }
}

/** Number of turns of the event loop within which Node sends the end of a response, unless the client does not read. */
const TURNS = 10;

/** Stops the upload of a body as soon as the end of the response has been sent. */
function closeAfterEnd(stream: ServerHttp2Stream, turns: number): void {
  const { localClose, remoteClose } = stream.state;
  if (remoteClose !== 0) return;
  if (localClose === 1) stream.close(constants.NGHTTP2_NO_ERROR);
  else if (turns > 0) setImmediate(() => closeAfterEnd(stream, turns - 1));
}

/** A request whose body is received as it arrives. Node would keep the whole TLS record of each byte that is not read. */
class Http2Request extends Http2ServerRequest {
  #body: Buffer = Buffer.alloc(0);
  #isPushed = false;

  /** The body is pushed when it is complete, or longer than any endpoint accepts. */
  override _read(): void {}

  /** Receives the body. The rest of one that is too long is discarded. */
  receive(stream: ServerHttp2Stream): void {
    stream.on('data', (chunk: Buffer) => {
      if (this.#isPushed) return;
      this.#body = Buffer.concat([this.#body, chunk]);
      if (this.#body.length > MAX_BODY_BYTES) this.#push();
    });
    // Before the listener of Node, which ends the body.
    stream.prependListener('end', () => this.#push());
  }

  #push(): void {
    if (this.#isPushed) return;
    this.#isPushed = true;
    if (this.#body.length > 0) this.push(this.#body);
  }
}

class Http2Response extends Http2ServerResponse {}

// Node's class has this property only in its type.
Object.defineProperty(Http2Response.prototype, 'destroyed', {
  get(this: Http2Response): boolean {
    return this.stream.destroyed;
  },
});

function ignore(): void {}
