// Requests in progress, from the arrival of the head to the end of the response.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../std/clock.ts';
import type { ServedRequest } from '../telemetry/metrics.ts';
import { BodyStream, detach } from './body-stream.ts';
import { Exchange } from './exchange.ts';
import { http2StreamOf, isHttp2 } from './http2.ts';

/** Maximum time for a client to read the rest of a response that Purser has written completely, in milliseconds. */
const UNREAD_MS = 30_000;
const SWEEP_MS = 5_000;
/** Status code in metrics for a caller that disconnected before the response began. */
const CLIENT_CLOSED_REQUEST = 499;

export class ActiveRequests {
  readonly #clock: Clock;
  readonly #onResponse: (response: ServedRequest) => void;
  readonly #exchanges = new Set<Exchange>();
  /** Streams that continue a response after its request has ended. */
  readonly #streams = new Set<BodyStream>();
  /** The last request that has begun on each connection. */
  readonly #latest = new WeakMap<Socket, Exchange>();
  /** Connections that still receive the body of a request whose response has been sent. */
  readonly #receiving = new WeakSet<Socket>();
  /** The last request that arrived on each HTTP/1.1 connection. It may still wait for its turn to begin. */
  readonly #arrived = new WeakMap<Socket, IncomingMessage>();
  /** HTTP/1.1 connections that a stream has taken over. */
  readonly #detached = new WeakSet<Socket>();
  /** Functions to call when an HTTP/1.1 connection closes: one for each request in progress on the connection. */
  readonly #endings = new WeakMap<Socket, Set<() => void>>();
  /** Actions to run when all responses in progress are complete, by connection. */
  readonly #afterResponses = new WeakMap<Socket, () => void>();
  /** Time at which a sweep first found that a response was completely written but not sent, on the monotonic clock. */
  readonly #unread = new WeakMap<Exchange, number>();
  #isDraining = false;
  #isStopping = false;
  #cancelSweep: (() => void) | undefined;

  constructor(clock: Clock, onResponse: (response: ServedRequest) => void = () => {}) {
    this.#clock = clock;
    this.#onResponse = onResponse;
  }

  /** True if additional requests are rejected. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Records the arrival of an HTTP/1.1 request that begins later. */
  recordArrival(message: IncomingMessage): void {
    this.#arrived.set(message.socket, message);
  }

  /** Returns true for a connection that serves no more requests. */
  isOver(socket: Socket): boolean {
    return socket.destroyed || this.#detached.has(socket);
  }

  /** Returns the exchange of a new request, and tracks the request until its response or its connection is closed. */
  begin(message: IncomingMessage, response: ServerResponse): Exchange {
    const startedAt = this.#clock.monotonic();
    const endings = isHttp2(response) ? undefined : this.#trackEndings(message.socket);
    const forget = () => {
      // Node keeps the response of an HTTP/2 stream in memory while the stream is open, and this listener would keep the exchange with it.
      response.off('close', onClose);
      endings?.delete(onClose);
    };
    const onClose = () => {
      forget();
      this.#end(exchange, startedAt);
    };
    const exchange: Exchange = new Exchange(message, response, this.#clock, () => {
      forget();
      return this.#detach(exchange);
    });
    this.#exchanges.add(exchange);
    this.#latest.set(message.socket, exchange);
    if (this.#isDraining) exchange.stop();
    this.#sweepLater();
    response.on('close', onClose);
    endings?.add(onClose);
    return exchange;
  }

  /**
   * Returns the set of functions that are called when a connection closes. The close events of responses are not sufficient: Node does not
   * close the responses of a detached connection, such as one with a CONNECT request.
   */
  #trackEndings(socket: Socket): Set<() => void> {
    const known = this.#endings.get(socket);
    if (known !== undefined) return known;
    const endings = new Set<() => void>();
    this.#endings.set(socket, endings);
    socket.once('close', () => {
      for (const end of endings) end();
    });
    return endings;
  }

  /** Returns true if bytes written directly to the socket could become part of another response. */
  isResponding(socket: Socket): boolean {
    return this.#receiving.has(socket) || this.#isServing(socket);
  }

  /**
   * Calls `act` as soon as a connection has neither a request in progress that has arrived completely nor a response that has begun.
   * `isCurrent` is false if the connection has received another request, or the rest of the last one, in the meantime. Returns false, and
   * never calls `act`, if no request in progress on the connection has arrived completely. After a call has returned true, later calls
   * return true as well, and ignore `act`.
   */
  runAfterResponses(socket: Socket, act: (isCurrent: boolean) => void): boolean {
    // Each further chunk of a malformed request leads to another call.
    if (this.#afterResponses.has(socket)) return true;
    if (!this.#findExchanges(socket).some(({ message }) => message.complete)) return false;
    const last = this.#arrived.get(socket);
    const wasComplete = last?.complete;
    this.#afterResponses.set(socket, () => act(this.#arrived.get(socket) === last && last?.complete === wasComplete));
    return true;
  }

  /** Returns true if the latest response on a connection closes the connection. */
  isEnding(socket: Socket): boolean {
    return this.#latest.get(socket)?.response.getHeader('connection') === 'close';
  }

  /** Ends watches, and closes each HTTP/1.1 connection after the next response that begins on the connection. */
  drain(): void {
    this.#isDraining = true;
    this.#cancelSweep?.();
    for (const exchange of this.#exchanges) exchange.stop();
    for (const stream of this.#streams) stream.stop();
  }

  /** Drains, and rejects additional requests. */
  stop(): void {
    this.drain();
    this.#isStopping = true;
  }

  /** Ends a request, and returns a stream that continues its response. Drops later requests on an HTTP/1.1 connection. */
  #detach(exchange: Exchange): BodyStream {
    const { message, response, route } = exchange;
    const { socket } = message;
    const { statusCode: code, chunkedEncoding } = response;
    const http2Stream = http2StreamOf(response);
    const latest = this.#arrived.get(socket) ?? message;
    this.#latest.delete(socket);
    if (http2Stream === undefined) this.#detached.add(socket);
    for (const each of this.#findExchanges(socket)) {
      this.#exchanges.delete(each);
      if (each !== exchange) each.close();
    }
    const stream: BodyStream = new BodyStream(http2Stream ?? detach(latest, response), {
      isChunked: http2Stream === undefined && chunkedEncoding,
      clock: this.#clock,
      onClose: () => {
        this.#streams.delete(stream);
        this.#onResponse({ route, code, durationMs: undefined });
      },
    });
    this.#streams.add(stream);
    if (this.#isDraining) stream.stop();
    return stream;
  }

  /** Returns true if a request on a connection has arrived completely, or its response has begun. */
  #isServing(socket: Socket): boolean {
    return this.#findExchanges(socket).some(({ message, response }) => message.complete || response.headersSent);
  }

  #findExchanges(socket: Socket): readonly Exchange[] {
    return [...this.#exchanges].filter(({ message }) => message.socket === socket);
  }

  #sweepLater(): void {
    if (this.#cancelSweep !== undefined || this.#isDraining) return;
    this.#cancelSweep = this.#clock.wakeAfter(SWEEP_MS, () => {
      this.#cancelSweep = undefined;
      this.#closeUnread();
      if (this.#exchanges.size > 0) this.#sweepLater();
    });
  }

  /** Closes the connection, or only the HTTP/2 stream, of each client that does not read a completely written response. */
  #closeUnread(): void {
    const now = this.#clock.monotonic();
    for (const exchange of this.#exchanges) {
      if (!exchange.response.writableEnded) continue;
      const since = this.#unread.get(exchange);
      if (since === undefined) this.#unread.set(exchange, now);
      else if (now - since >= UNREAD_MS) exchange.message.socket.destroy();
    }
  }

  #end(exchange: Exchange, startedAt: number): void {
    const { message, response } = exchange;
    exchange.close();
    this.#exchanges.delete(exchange);
    this.#onResponse(toServedRequest(exchange, this.#clock.monotonic() - startedAt));
    // The headers of a streamed response did not announce that the connection closes, so it is closed here. After another response without
    // this announcement, the connection stays open until the server stops: the client may already have sent its next request.
    const isLast = this.#isStopping || (this.#isDraining && exchange.isStreaming);
    if (isLast && !isHttp2(response)) message.socket.destroySoon();
    if (!message.complete) {
      this.#receiving.add(message.socket);
      message.once('end', () => this.#receiving.delete(message.socket));
    }
    const act = this.#afterResponses.get(message.socket);
    if (act !== undefined && !this.#detached.has(message.socket) && !this.#isServing(message.socket)) act();
  }
}

/**
 * Returns the record of a request for metrics. The record contains the path pattern instead of the path, because callers can invent any
 * number of paths.
 */
function toServedRequest({ route, response, isStreaming }: Exchange, durationMs: number): ServedRequest {
  const { headersSent, statusCode } = response;
  return { route, code: headersSent ? statusCode : CLIENT_CLOSED_REQUEST, durationMs: isStreaming ? undefined : durationMs };
}
