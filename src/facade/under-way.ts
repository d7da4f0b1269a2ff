// The requests that are under way, from their heads to the end of their answers.

import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../std/clock.ts';
import type { Answer } from '../telemetry/metrics.ts';
import { Exchange } from './exchange.ts';

declare module 'fastify' {
  interface FastifyRequest {
    exchange: Exchange;
  }
}

export class UnderWay {
  readonly #clock: Clock;
  readonly #answered: (answer: Answer) => void;
  readonly #exchanges = new Set<Exchange>();
  /** What came last on each connection. */
  readonly #latest = new WeakMap<Socket, Exchange>();
  /** Connections on which a body still comes whose request has been answered. */
  readonly #ahead = new WeakSet<Socket>();
  /** Time at which each response was first seen ended and not sent, on the monotonic clock. */
  readonly #unread = new WeakMap<Exchange, number>();
  #isStopping = false;
  #cancelSweep: (() => void) | undefined;

  constructor(clock: Clock, answered: (answer: Answer) => void = () => {}) {
    this.#clock = clock;
    this.#answered = answered;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  begin(request: FastifyRequest, { raw: response }: FastifyReply): Exchange {
    const exchange = new Exchange(request.raw, response, this.#clock);
    request.exchange = exchange;
    this.#exchanges.add(exchange);
    this.#latest.set(request.raw.socket, exchange);
    if (this.#isStopping) exchange.stop();
    this.#sweepLater();
    const startedAt = this.#clock.monotonic();
    response.on('close', () => this.#end(request, startedAt));
    return exchange;
  }

  /** Whether what is written on a bare socket would be taken for a part of another answer, or for one. */
  isAnswering(socket: Socket): boolean {
    if (this.#ahead.has(socket)) return true;
    for (const { message, response } of this.#exchanges)
      if (message.socket === socket && (message.complete || response.headersSent)) return true;
    return false;
  }

  /** Whether the last answer on a connection has been decided on: Node would take what comes behind it for requests all the same. */
  isEnding(socket: Socket): boolean {
    return this.#latest.get(socket)?.response.getHeader('connection') === 'close';
  }

  #sweepLater(): void {
    if (this.#cancelSweep !== undefined || this.#isStopping) return;
    this.#cancelSweep = this.#clock.wakeAfter(SWEEP_MS, () => {
      this.#cancelSweep = undefined;
      this.#closeUnread();
      if (this.#exchanges.size > 0) this.#sweepLater();
    });
  }

  /** Closes the connections of clients who do not read a response that has ended. */
  #closeUnread(): void {
    const now = this.#clock.monotonic();
    for (const exchange of this.#exchanges) {
      if (!exchange.response.writableEnded) continue;
      const since = this.#unread.get(exchange);
      if (since === undefined) this.#unread.set(exchange, now);
      else if (now - since >= UNREAD_MS) exchange.message.socket.destroy();
    }
  }

  /** Ends streams, and has each connection end with the answer that is under way. */
  stop(): void {
    this.#isStopping = true;
    this.#cancelSweep?.();
    for (const exchange of this.#exchanges) exchange.stop();
  }

  #end(request: FastifyRequest, startedAt: number): void {
    const { exchange } = request;
    const { message } = exchange;
    exchange.close();
    this.#exchanges.delete(exchange);
    this.#answered(answerOf(request, this.#clock.monotonic() - startedAt));
    // The head of a stream has promised to keep the connection.
    if (this.#isStopping) message.socket.destroySoon();
    if (message.complete) return;
    this.#ahead.add(message.socket);
    message.once('end', () => this.#ahead.delete(message.socket));
  }
}

/** What was answered, by the pattern of the path: paths that callers make up are all the same. */
function answerOf({ exchange, routeOptions }: FastifyRequest, durationMs: number): Answer {
  const { url = OTHER_PATHS } = routeOptions;
  const { headersSent, statusCode } = exchange.response;
  return { route: url, code: headersSent ? statusCode : GONE, durationMs: exchange.isStreaming ? undefined : durationMs };
}

/** Time for a client to read a response that has ended, in milliseconds. */
const UNREAD_MS = 30_000;
const SWEEP_MS = 5_000;
const OTHER_PATHS = '*';
/** Whoever asked has left before there was an answer. */
const GONE = 499;
