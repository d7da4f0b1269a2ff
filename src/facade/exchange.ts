// One request to the façade from its head to its answer.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { User } from '../access/user.ts';
import { dns1123LabelProblems, dns1123SubdomainProblems } from '../kubernetes/names.ts';
import { noRoute } from '../kubernetes/refusals.ts';
import { parseUrl } from '../kubernetes/request-url.ts';
import { badRequest, statusError, unclassified } from '../kubernetes/status.ts';
import type { Preferences } from '../kubernetes/wire/negotiate.ts';
import { requestTimeoutMs } from '../kubernetes/wire/options.ts';
import { flag } from '../kubernetes/wire/query.ts';
import { readBody } from '../kubernetes/wire/read-body.ts';
import type { Clock } from '../std/clock.ts';
import { toAddressKey } from './admission/source-address.ts';
import { firstHeader } from './first-header.ts';
import type { Caller, FacadeRequest } from './request.ts';

/** The reason of a signal when its caller has left, or when the server has no more time for them. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned';
}

/** A request as endpoints see it, once it is authenticated. */
export class Exchange implements FacadeRequest {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly clock: Clock;
  /** Key of the source address. */
  readonly address: string;
  readonly requestId: string;
  readonly query: URLSearchParams;
  readonly preferences: Preferences;
  readonly warnings: string[] = [];
  readonly #gone = new AbortController();
  params: Readonly<Record<string, string>> = {};
  #isStreaming = false;
  #endTurn = () => {};
  #caller: Caller | undefined;
  #cancelTimeout: (() => void) | undefined;

  constructor(message: IncomingMessage, response: ServerResponse, clock: Clock) {
    this.message = message;
    this.response = response;
    this.clock = clock;
    this.address = toAddressKey(message.socket.remoteAddress);
    this.requestId = this.header('audit-id') || randomUUID();
    this.query = parseUrl(message.url ?? '')?.query ?? new URLSearchParams();
    this.preferences = {
      accept: this.header('accept'),
      userAgent: this.userAgent,
      pretty: this.query.get('pretty') ?? undefined,
    };
  }

  get method(): string {
    return this.message.method ?? '';
  }

  get rawHeaders(): readonly string[] {
    return this.message.rawHeaders;
  }

  get contentType(): string | undefined {
    return this.header('content-type');
  }

  get userAgent(): string | undefined {
    return this.header('user-agent');
  }

  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  get caller(): Caller {
    if (this.#caller === undefined) throw new Error('nobody has authenticated this request');
    return this.#caller;
  }

  /** True for a response that lasts. It ends as soon as the server stops. */
  get isStreaming(): boolean {
    return this.#isStreaming;
  }

  /** Undefined as long as nobody is known. */
  get user(): User | undefined {
    return this.#caller?.user;
  }

  set caller(caller: Caller) {
    this.#caller = caller;
  }

  readonly warn = (text: string): void => void this.warnings.push(text);

  header(name: string): string | undefined {
    return firstHeader(this.message.rawHeaders, name);
  }

  body(): Promise<Buffer> {
    const { message, response, signal } = this;
    // A caller who leaves takes the message along: only a timeout has to be waited for.
    return readBody(message, {
      signal: this.#cancelTimeout && signal,
      expectant: message.headers.expect === undefined ? undefined : response,
    });
  }

  /** Refuses what HTTP allows and we do not. Throws 400, 404 or 417. */
  checkTarget(params: Readonly<Record<string, string>>): void {
    const { url = '', headers } = this.message;
    if (headers.host === undefined) throw badRequest('the request names no host');
    if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect))
      throw unclassified('what the request expects is not known', 417);
    // Node takes what ends in chunked for chunked; others may read it otherwise, and find another request in the body.
    if (headers['transfer-encoding'] !== undefined && !/^chunked$/i.test(headers['transfer-encoding']))
      throw badRequest('the body is in an unknown encoding');
    if (!url.startsWith('/') || url.includes('#')) throw badRequest('the target of the request is not a path');
    if (CONTROL.test(url) || Object.values(params).some((value) => CONTROL.test(value)))
      throw badRequest('the path has control characters');
    if (!Object.entries(params).every(([name, value]) => isName(name, value))) throw noRoute();
    this.params = params;
  }

  /** Lets the request take no longer than its `timeout` says. Throws 400 if that says nothing. */
  startTimeout(): void {
    if (!this.query.has('timeout') || (this.method === 'GET' && flag(this.query, 'watch'))) return;
    const expired = () =>
      statusError('Timeout', 'Timeout: request did not complete within requested timeout - context deadline exceeded', {});
    this.#cancelTimeout = this.clock.wakeAfter(requestTimeoutMs(this.query), () => this.#gone.abort(expired()));
  }

  /** Keeps a turn until the response has been sent or begins to stream. */
  holdTurn(end: () => void): void {
    if (this.signal.aborted) end();
    else this.#endTurn = end;
  }

  /** The response lasts: from here on, limits of its own apply. */
  startStreaming(): void {
    this.#isStreaming = true;
    this.#endTurn();
  }

  /** The server stops: ends an answer that lasts, and the connection with any other. */
  stop(): void {
    if (this.#isStreaming) this.#abandon();
    else if (!this.response.headersSent) this.response.setHeader('connection', 'close');
  }

  /** The answer has been sent, or never will be. */
  close(): void {
    this.#cancelTimeout?.();
    this.#endTurn();
    if (!this.response.writableFinished) this.#abandon();
  }

  /** Ends the work on the request: nobody will read what it leads to. */
  #abandon(): void {
    this.#gone.abort(new Abandoned('the caller has left'));
  }
}

const CONTROL = /\p{Cc}/u;

/** Wildcards are not names. */
function isName(param: string, value: string): boolean {
  if (param === '*') return true;
  return (param === 'namespace' ? dns1123LabelProblems(value) : dns1123SubdomainProblems(value)).length === 0;
}
