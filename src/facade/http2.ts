// HTTP/2 connections of the façade. A Kubernetes client sends many requests at a time on one connection, so an additional watch usually
// needs only the memory of a stream, and not that of a TLS connection.

import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  constants,
  Http2ServerRequest,
  Http2ServerResponse,
  type Http2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../std/clock.ts';
import { Http2Limit, type LimitedConnection } from './limits/http2-limit.ts';
import { toAddressKey } from './limits/tenant.ts';
import type { ServingTurns } from './limits/turns.ts';
import { MAX_BODY_BYTES } from './request.ts';

/** Returns the HTTP/2 stream of a response, or undefined for HTTP/1.1. */
export function http2StreamOf(response: ServerResponse): ServerHttp2Stream | undefined {
  const { stream } = response as { readonly stream?: ServerHttp2Stream };
  return stream;
}

export function isHttp2(response: ServerResponse): boolean {
  return http2StreamOf(response) !== undefined;
}

/**
 * Stops accepting requests on the HTTP/2 connection of a response. Closes the connection when its requests in progress are complete, or
 * after 10 s.
 */
export function closeConnectionAfter(response: ServerResponse): void {
  const session = http2StreamOf(response)?.session;
  if (session !== undefined) connections.get(session)?.closeSoon();
}

/** Open connections by their sessions. */
const connections = new WeakMap<Http2Session, Http2Connection>();

/**
 * Records that a request was authenticated. Its HTTP/2 connection is not closed in favor of another one until `keepAliveMs` after the end
 * of the request.
 */
export function recordAuthenticated(response: ServerResponse): void {
  const stream = http2StreamOf(response);
  if (stream?.session !== undefined) connections.get(stream.session)?.recordAuthenticated(stream);
}

export interface Http2Options {
  readonly clock: Clock;
  /** Maximum time for the first request on a connection, and for the body of each request, in milliseconds. */
  readonly arrivalMs: number;
  /** Idle timeout of a connection, in milliseconds. */
  readonly keepAliveMs: number;
  readonly turns: ServingTurns;
  /** Serves a request. Node's compatibility API gives HTTP/2 requests and responses the interface of HTTP/1.1. */
  readonly serve: (message: IncomingMessage, response: ServerResponse) => void;
}

/**
 * Age at which a connection without a request in progress may be closed in favor of another one if no request on it was authenticated, in
 * milliseconds. A client needs this time to send its first request.
 */
const FIRST_REQUEST_MS = 1_000;
/** Interval of PING frames, and time for the client to acknowledge one, in milliseconds. Node does not notice every lost connection. */
const PING_MS = 30_000;
const ACKNOWLEDGE_MS = 15_000;
/** Maximum number of requests in progress on one connection, as in kube-apiserver. Clients open another connection for more. */
const MAX_STREAMS = 100;
/** Maximum number of bytes of a request body that a client may send before the façade reads them. */
const WINDOW_BYTES = 16_384;
/** Maximum size of the request headers, in bytes. Over HTTP/2, Node applies this limit only after the client has acknowledged it. */
export const MAX_HEADER_BYTES = 16_384;
/** Time after which `Http2Connection.close` ends the requests in progress, in milliseconds. */
const LINGER_MS = 1_000;
/** Time after which `Http2Connection.closeSoon` ends the requests in progress, in milliseconds. */
const CLOSING_MS = 10_000;

/** HTTP/2 settings, and limits above which Node closes a connection. */
const LIMITS = {
  settings: {
    maxConcurrentStreams: MAX_STREAMS,
    maxHeaderListSize: MAX_HEADER_BYTES,
    initialWindowSize: WINDOW_BYTES,
    enableConnectProtocol: false,
  },
  // In megabytes. Higher than the limit on unread responses per address, because that limit closes single streams instead of the
  // connection.
  maxSessionMemory: 16,
  maxSessionInvalidFrames: 32,
  maxSessionRejectedStreams: 32,
  maxSettings: 16,
  // Clients cancel a watch with a reset. More resets than this burst and this rate per second indicate an attack (CVE-2023-44487).
  streamResetBurst: 500,
  streamResetRate: 33,
};

/** An HTTP/2 connection and its streams. */
class Http2Connection implements LimitedConnection {
  readonly address: string;
  readonly session: ServerHttp2Session;
  readonly socket: TLSSocket;
  readonly #options: Http2Options;
  readonly #openedAt: number;
  /** Number of streams in progress. */
  streams = 0;
  /** Number of streams in progress whose requests were authenticated. */
  #authenticated = 0;
  /** Time when the last authenticated stream ended, on the monotonic clock; undefined if there was none. */
  #authenticatedAt: number | undefined;
  /** Maximum time until the connection is closed, in milliseconds; Infinity until it begins to close. */
  #closesWithinMs = Infinity;

  constructor(socket: TLSSocket, options: Http2Options) {
    this.address = toAddressKey(socket.remoteAddress);
    this.session = performServerHandshake(socket, LIMITS);
    this.socket = socket;
    this.#options = options;
    this.#openedAt = options.clock.monotonic();
  }

  /**
   * True if the connection may be closed in favor of another one: no authenticated request is in progress or has ended recently, and the
   * time for the first request has passed.
   */
  get canGiveWay(): boolean {
    const { clock, arrivalMs, keepAliveMs } = this.#options;
    if (this.#authenticated > 0) return false;
    const now = clock.monotonic();
    if (this.#authenticatedAt !== undefined) return now - this.#authenticatedAt >= keepAliveMs;
    return now - this.#openedAt >= (this.streams === 0 ? FIRST_REQUEST_MS : arrivalMs);
  }

  recordAuthenticated(stream: ServerHttp2Stream): void {
    this.#authenticated += 1;
    stream.once('close', () => {
      this.#authenticated -= 1;
      this.#authenticatedAt = this.#options.clock.monotonic();
    });
  }

  /** Stops accepting requests, and closes the connection within a second, even if requests are in progress. */
  readonly close = (): void => this.#closeWithin(LINGER_MS);

  /**
   * Stops accepting requests, and closes the connection when those in progress are complete, or after CLOSING_MS. Without this limit,
   * requests could stay in progress forever: after a client error, Node stops reading from a closing connection and reports no event.
   */
  readonly closeSoon = (): void => this.#closeWithin(CLOSING_MS);

  #closeWithin(ms: number): void {
    this.session.close();
    if (ms >= this.#closesWithinMs) return;
    this.#closesWithinMs = ms;
    const cancel = this.#options.clock.wakeAfter(ms, () => {
      this.session.destroy();
      this.socket.destroy();
    });
    this.socket.once('close', cancel);
  }
}

/** Head of a request. */
interface RequestHead {
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  /** True if the end of the request, with its body and trailers, arrived together with the head. */
  readonly isReceived: boolean;
}

export class Http2Connections {
  readonly #options: Http2Options;
  readonly #limit = new Http2Limit();
  readonly #sessions = new Set<ServerHttp2Session>();
  #isStopping = false;

  constructor(options: Http2Options) {
    this.#options = options;
  }

  /** Returns true if a new connection may use HTTP/2. */
  hasRoom({ remoteAddress }: Socket): boolean {
    return !this.#isStopping && this.#limit.hasRoom(toAddressKey(remoteAddress));
  }

  /** Serves a connection whose TLS handshake has selected HTTP/2. */
  open(socket: TLSSocket): void {
    const connection = new Http2Connection(socket, this.#options);
    const { session } = connection;
    // The session closes itself after an error.
    session.on('error', ignore);
    session.on('goaway', connection.closeSoon);
    // Other connections may have used the room since the handshake. The client connects again.
    if (this.#isStopping || !this.#limit.add(connection)) return connection.close();
    this.#sessions.add(session);
    connections.set(session, connection);
    const cancels = [this.#serveUntilIdle(connection), this.#closeLost(connection)];
    session.once('close', () => {
      for (const cancel of cancels) cancel();
      this.#limit.remove(connection);
      this.#sessions.delete(session);
    });
  }

  /** Stops accepting requests, and closes each connection when its responses in progress are complete. */
  stop(): void {
    this.#isStopping = true;
    for (const session of this.#sessions) session.close();
  }

  /** Serves the streams of a connection, and closes an idle connection. Returns a function that cancels the idle timer. */
  #serveUntilIdle(connection: Http2Connection): () => void {
    const { clock, arrivalMs, keepAliveMs } = this.#options;
    const { session, close } = connection;
    let isOver = false;
    let cancel = clock.wakeAfter(arrivalMs, close);
    session.on('stream', (stream, headers, _flags, rawHeaders) => {
      cancel();
      connection.streams += 1;
      // A client may reset a request that waits for its turn. Without this listener, Node would throw the error.
      stream.on('error', ignore);
      // A short body has usually arrived together with the headers.
      const isReceived = stream.endAfterHeaders || stream.state.remoteClose === 1;
      if (!isReceived) keepSessionOf(stream);
      stream.once('close', () => {
        connection.streams -= 1;
        if (connection.streams === 0 && !isOver) cancel = clock.wakeAfter(session.closed ? 0 : keepAliveMs, close);
      });
      this.#options.turns.start(connection.address, () => this.#serve(stream, { headers, rawHeaders, isReceived }));
    });
    return () => {
      isOver = true;
      cancel();
    };
  }

  /** Closes a connection whose client does not acknowledge a PING. Returns a function that stops the PINGs. */
  #closeLost({ session, socket }: Http2Connection): () => void {
    const { clock } = this.#options;
    let cancel = () => {};
    const pingLater = () => {
      cancel = clock.wakeAfter(PING_MS, () => {
        // `ping` throws if the session is destroyed, even while its socket is open, and Node sends no PING after GOAWAY.
        if (session.destroyed) return socket.destroy();
        if (session.closed) return pingLater();
        // If a write never completes, the session ends only when its socket is destroyed.
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

  #serve(stream: ServerHttp2Stream, { headers, rawHeaders, isReceived }: RequestHead): void {
    if (stream.destroyed) return;
    const message = new Http2Request(stream, headers, {}, rawHeaders);
    const response = new Http2Response(stream);
    // Node emits no close event for the response to a HEAD request if the stream closes before the response has ended.
    if (message.method === 'HEAD') stream.once('close', () => !response.writableEnded && response.emit('close'));
    // Without a reader, Node resets the stream after the response, even if the end of the response still has to be sent.
    if (stream.endAfterHeaders) stream.resume();
    else {
      message.receive(stream);
      if (!isReceived) this.#limitBody(stream);
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
    // Node sends the end of the response after this event. A reset before that end would make the client lose the response.
    stream.once('finish', () => closeAfterEnd(stream, MAX_TURNS));
  }
}

/** Maximum number of turns of the event loop to wait until Node has sent the end of a response; enough for a client that reads. */
const MAX_TURNS = 10;

/** Stops the upload of a body as soon as the end of the response has been sent. Gives up after `turns` turns of the event loop. */
function closeAfterEnd(stream: ServerHttp2Stream, turns: number): void {
  const { localClose, remoteClose } = stream.state;
  if (remoteClose !== 0) return;
  if (localClose === 1) stream.close(constants.NGHTTP2_NO_ERROR);
  else if (turns > 0) setImmediate(() => closeAfterEnd(stream, turns - 1));
}

/**
 * A request that copies its body into one buffer as it arrives. Node would keep the whole TLS record of each chunk that has not been read.
 */
class Http2Request extends Http2ServerRequest {
  /** Received bytes, and room for more. One buffer per chunk would take much memory if a client sends single bytes. */
  #buffer = EMPTY;
  #length = 0;
  #isPushed = false;

  /** Does nothing: `receive` pushes the body when it is complete, or longer than any endpoint accepts. */
  override _read(): void {}

  /** Receives the body. Discards the rest of a body that is too long. */
  receive(stream: ServerHttp2Stream): void {
    stream.on('data', (chunk: Buffer) => {
      if (this.#isPushed) return;
      this.#append(chunk);
      if (this.#length > MAX_BODY_BYTES) this.#push();
    });
    // Must run before Node's own listener, which ends the body.
    stream.prependListener('end', () => this.#push());
  }

  #append(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(length, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = length;
  }

  #push(): void {
    if (this.#isPushed) return;
    this.#isPushed = true;
    // A body that arrives in one chunk fills its buffer, and `subarray` is expensive.
    const body = this.#length === this.#buffer.length ? this.#buffer : this.#buffer.subarray(0, this.#length);
    if (this.#length > 0) this.push(body);
    // Releases the buffer: Node keeps the request in memory while its stream is open.
    this.#buffer = EMPTY;
  }
}

const EMPTY = Buffer.alloc(0);

/** Native sessions by their native streams. A session stays in memory until all of its streams have been garbage-collected. */
const nativeSessions = new FinalizationRegistry<object>(ignore);

/**
 * Keeps the native session of a stream in memory as long as the stream. This is necessary if the request may have further trailers: a
 * stream that is closed during a write stays in memory with the trailers that have arrived so far, and Node aborts the process if it
 * collects the session before the stream. Expensive, because garbage collection has to visit each registered stream.
 */
function keepSessionOf(stream: ServerHttp2Stream): void {
  const [native, session] = [findNative(stream), findNative(stream.session)];
  if (native !== undefined && session !== undefined) nativeSessions.register(native, session);
}

/**
 * Returns the native object of a session or a stream, which Node does not expose. Returns undefined after the session or the stream has
 * ended.
 */
function findNative(owner: object = {}): object | undefined {
  handle ??= Object.getOwnPropertySymbols(owner).find(({ description }) => description === 'kHandle');
  return handle && (owner as Readonly<Record<symbol, object | undefined>>)[handle];
}

/** Symbol of the property that contains the native object, the same in sessions and streams; undefined until `findNative` finds it. */
let handle: symbol | undefined;

/** A response without trailers. Node's class waits for trailers after each body, and sends the end of the stream in an additional frame. */
class Http2Response extends Http2ServerResponse {
  override writeHead(statusCode: number, headers?: OutgoingHttpHeaders | readonly string[] | string): this {
    const { stream } = this;
    if (stream.destroyed || stream.closed) return this;
    this.statusCode = statusCode;
    stream.respond({ ...(headers as OutgoingHttpHeaders), [constants.HTTP2_HEADER_STATUS]: statusCode });
    return this;
  }
}

// Node's types declare the property `destroyed`, but Node's class does not have it.
Object.defineProperty(Http2Response.prototype, 'destroyed', {
  get(this: Http2Response): boolean {
    return this.stream.destroyed;
  },
});

function ignore(): void {}
