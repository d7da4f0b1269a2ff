// One request to the façade and its response.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { User } from '../access/user.ts';
import { rejectOnAbort } from '../kube/deadline.ts';
import { validateDns1123Label, validateDns1123Subdomain } from '../kubernetes/names.ts';
import { isStream, sendHead, toBytes } from '../kubernetes/reply.ts';
import { parseUrl } from '../kubernetes/request-url.ts';
import { badRequest, pathNotFound, statusError, unclassified } from '../kubernetes/status.ts';
import type { Preferences } from '../kubernetes/wire/negotiate.ts';
import { parseTimeoutMs } from '../kubernetes/wire/options.ts';
import { readFlag } from '../kubernetes/wire/query.ts';
import { readBody } from '../kubernetes/wire/read-body.ts';
import { toWarningHeaders } from '../kubernetes/wire/warning.ts';
import type { Clock } from '../std/clock.ts';
import type { Caller } from './authenticate.ts';
import type { BodyStream } from './body-stream.ts';
import { closeConnectionAfter, isHttp2, MAX_HEADER_BYTES, recordAuthenticated } from './http2.ts';
import { bufferBytesOf, recordBody, recordWrite } from './limits/connections.ts';
import { toAddressKey } from './limits/tenant.ts';
import type { FacadeReply, FacadeRequest } from './request.ts';

/** Abort reason of a request whose caller has disconnected, or whose response is streamed when the server begins to stop. */
export class AbandonedError extends Error {
  override readonly name = 'AbandonedError';
}

/** Maximum size of a body that is read to its end after the response, so that the connection can be reused, in bytes. */
const MAX_REST_BYTES = 256 << 10;
/** Limits on the part of a longer body that is discarded before the connection closes, in bytes and in milliseconds. */
const MAX_DISCARDED_BYTES = 1 << 20;
const MAX_DISCARD_MS = 1_000;

/** A request and its response, from the head of the request to the end of the response. */
export class Exchange implements FacadeRequest {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly clock: Clock;
  /** Key under which limits count the source address. */
  readonly address: string;
  readonly requestId: string;
  /** Target of the request line, undecoded. */
  readonly url: string;
  readonly query: URLSearchParams;
  readonly preferences: Preferences;
  readonly warnings: string[] = [];
  readonly #ending = new AbortController();
  readonly #detach: () => BodyStream;
  params: Readonly<Record<string, string>> = {};
  /** Pattern of the path; `*` for paths without a route. */
  route = '*';
  #isStreaming = false;
  #releaseSeat = () => {};
  #onClosed: (() => void) | undefined;
  /** Stream that continues the response; undefined unless the response is a watch that has started. */
  #stream: BodyStream | undefined;
  #caller: Caller | undefined;
  #cancelTimeout: (() => void) | undefined;

  /** `detach` takes the connection or the HTTP/2 stream from the HTTP server, and returns a body stream on it. */
  constructor(message: IncomingMessage, response: ServerResponse, clock: Clock, detach: () => BodyStream) {
    this.#detach = detach;
    this.message = message;
    this.response = response;
    this.clock = clock;
    // Without this listener, the body of an aborted HTTP/2 stream would end as if it were complete.
    if (this.isMultiplexed) message.once('aborted', this.#abandon);
    this.address = toAddressKey(message.socket.remoteAddress);
    recordBody(message.socket, parseBodyLength(message));
    this.requestId = this.header('audit-id') || randomUUID();
    this.url = message.url ?? '';
    this.query = parseUrl(this.url)?.query ?? new URLSearchParams();
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

  get isMultiplexed(): boolean {
    return isHttp2(this.response);
  }

  get bufferBytes(): number {
    return bufferBytesOf(this.message.socket);
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  get caller(): Caller {
    if (this.#caller === undefined) throw new Error('the request is not authenticated');
    return this.#caller;
  }

  /** True once a streamed response has begun: a watch, or a list that is written in slices. */
  get isStreaming(): boolean {
    return this.#isStreaming;
  }

  /** User of the caller; undefined until the request is authenticated. */
  get user(): User | undefined {
    return this.#caller?.user;
  }

  set caller(caller: Caller) {
    this.#caller = caller;
    recordAuthenticated(this.response);
  }

  readonly warn = (text: string): void => void this.warnings.push(text);

  /**
   * Returns the value of the first header with this lowercase name, as Kubernetes does for repeated headers; undefined if there is none.
   */
  header(name: string): string | undefined {
    const { rawHeaders } = this.message;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      if (isNamed(rawHeaders[index], name)) return rawHeaders[index + 1];
    }
    return undefined;
  }

  body(maxBytes: number): Promise<Buffer> {
    const { message, response, signal } = this;
    // If the caller disconnects, reading an HTTP/1.1 body fails even without the signal, so HTTP/1.1 needs the signal only for a timeout.
    return readBody(message, {
      maxBytes,
      signal: this.isMultiplexed || this.#cancelTimeout !== undefined ? signal : undefined,
      continueResponse: message.headers.expect ? response : undefined,
    });
  }

  /** Checks the request line and the headers, in addition to Node's own checks, and sets `params`. Throws 400, 404, 417 or 431. */
  checkHead(params: Readonly<Record<string, string>>): void {
    if (this.isMultiplexed) checkHeaderBytes(this.rawHeaders);
    checkHeaders(this.message);
    const { url } = this;
    if (!url.startsWith('/') || url.includes('#')) throw badRequest('the request target must start with / and must not contain #');
    if (CONTROL_CHARACTER.test(url) || Object.values(params).some((value) => CONTROL_CHARACTER.test(value)))
      throw badRequest('the path contains control characters');
    if (!Object.entries(params).every(([name, value]) => isName(name, value))) throw pathNotFound();
    this.params = params;
  }

  /**
   * Limits the request to the duration in its `timeout` parameter, and to at most one minute, unless the parameter is absent or the request
   * is a watch. Throws 400 for a value that is not a duration.
   */
  startTimeout(): void {
    if (!this.query.has('timeout') || (this.method === 'GET' && readFlag(this.query, 'watch'))) return;
    const expired = () =>
      statusError('Timeout', 'Timeout: request did not complete within requested timeout - context deadline exceeded', {});
    this.#cancelTimeout = this.clock.wakeAfter(parseTimeoutMs(this.query), () => this.#ending.abort(expired()));
  }

  /** Holds a seat until the response has been sent or begins to stream, or the connection is closed. */
  holdSeat(release: () => void): void {
    if (this.signal.aborted) release();
    else this.#releaseSeat = release;
  }

  /**
   * Sends the response, unless another one has been sent or the connection is closed. Never rejects: a failure closes the connection or the
   * HTTP/2 stream.
   */
  async send(reply: FacadeReply): Promise<void> {
    const { response } = this;
    if (response.destroyed || response.headersSent) return;
    this.#onClosed = reply.onClosed;
    const isLast = this.#hasLongRest();
    if (isLast || reply.headers['connection'] === 'close') this.#closeAfterResponse();
    try {
      await this.#write(reply, isLast);
      // Closes an HTTP/2 connection, as kube-apiserver does, so that a client without valid credentials needs a TLS handshake for each
      // request.
      if (reply.status === 401) closeConnectionAfter(response);
      if (!isLast || this.#stream !== undefined) return;
      await this.#discardBody();
      response.end();
    } catch {
      response.destroy();
      this.#stream?.destroy();
    }
  }

  /**
   * Called when the server begins to stop. Aborts the signal of a streamed response, so that no watch starts. Closes an HTTP/1.1 connection
   * after a response that has not begun yet.
   */
  stop(): void {
    if (this.#isStreaming) this.#abandon();
    else if (!this.response.headersSent) this.#closeAfterResponse();
  }

  /** Ends all work on the request. Called when the response has been sent or the connection is closed. */
  close(): void {
    this.#cancelTimeout?.();
    this.#releaseSeat();
    this.#onClosed?.();
    // No work is left after the end of a response. The check uses `writableEnded`, because Node may close an HTTP/2 stream before it sets
    // `writableFinished`.
    if (!this.response.writableEnded) this.#abandon();
  }

  /** Returns true if the rest of the body may be too long to reuse the HTTP/1.1 connection. */
  #hasLongRest(): boolean {
    return !this.isMultiplexed && !this.message.complete && !isShort(this.message);
  }

  /** Announces the end of an HTTP/1.1 connection. An HTTP/2 connection ends separately from its responses. */
  #closeAfterResponse(): void {
    if (!this.isMultiplexed) this.response.setHeader('connection', 'close');
  }

  readonly #abandon = (): void => {
    this.#ending.abort(new AbandonedError('the caller has disconnected, or the server is stopping'));
  };

  /** Writes the response, and ends it unless a stream continues it or the rest of the body has to be discarded first. */
  async #write(reply: FacadeReply, isLast: boolean): Promise<void> {
    const { response, message } = this;
    if ('write' in reply || isStream(reply.body)) {
      this.#isStreaming = true;
      // Streams have their own limits.
      this.#releaseSeat();
      response.writeHead(reply.status, this.#createHeaders(reply));
      if (!this.isMultiplexed) sendHead(response);
      await ('write' in reply
        ? reply.write(response, (prepare) => this.#takeOver(prepare))
        : pipeline(reply.body as AsyncIterable<string>, response));
      if (!isLast && this.#stream === undefined) response.end();
    } else {
      const body = toBytes(reply.body);
      response.writeHead(reply.status, this.#createHeaders(reply, body.length));
      const sent = message.method === 'HEAD' ? undefined : body;
      if (sent !== undefined) recordWrite(message.socket, sent.length);
      if (!isLast) response.end(sent);
      else if (sent !== undefined) response.write(sent);
    }
  }

  /** Calls `prepare`, during which a disconnection of the client aborts the signal, and then detaches the connection or the HTTP/2 stream. */
  async #takeOver<T>(prepare: () => Promise<T>): Promise<{ readonly stream: BodyStream; readonly result: T }> {
    const { response, signal } = this;
    if (response.socket === null) await once(response, 'socket', { signal });
    const result = await rejectOnAbort(prepare(), signal);
    signal.throwIfAborted();
    // Node keeps the request of an HTTP/2 stream in memory while the stream is open; the exchange must not stay in memory with it.
    this.message.off('aborted', this.#abandon);
    const stream = this.#detach();
    this.#stream = stream;
    return { stream, result };
  }

  /** Returns the headers of a response. `length` is the size of the body, in bytes; undefined for a streamed body. */
  #createHeaders({ headers }: FacadeReply, length?: number): OutgoingHttpHeaders {
    const all: Record<string, string | number | readonly string[]> = {
      'audit-id': this.requestId,
      'cache-control': 'no-cache, private',
      ...headers,
    };
    if (length !== undefined) all['content-length'] = length;
    if (this.warnings.length > 0) all['warning'] = toWarningHeaders(this.warnings);
    if (this.isMultiplexed) delete all['connection'];
    // Node's type allows only one Warning header.
    return all as OutgoingHttpHeaders;
  }

  /**
   * Discards up to 1 MiB of the body, for up to a second. Otherwise, the kernel would reset the connection because of the unread bytes, and
   * the client would lose the response.
   */
  #discardBody(): Promise<void> {
    const { message, clock } = this;
    return new Promise((resolve) => {
      const cancel = clock.wakeAfter(MAX_DISCARD_MS, resolve);
      let bytes = 0;
      message.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_DISCARDED_BYTES) message.pause();
      });
      message.on('error', () => {});
      message.on('close', () => {
        cancel();
        resolve();
      });
      message.resume();
    });
  }
}

/** Throws 431 for HTTP/2 headers above the limit. Node enforces the limit only after the client has acknowledged it. */
function checkHeaderBytes(rawHeaders: readonly string[]): void {
  const bytes = rawHeaders.reduce((sum, text) => sum + text.length, 0);
  if (bytes > MAX_HEADER_BYTES) throw unclassified('the request headers are larger than 16 KiB', 431);
}

/** Checks the headers of a request, in addition to Node's own checks. Throws 400 or 417. */
function checkHeaders({ headers, rawHeaders }: IncomingMessage): void {
  const hosts = findHeaders(rawHeaders, 'host');
  const [authority = hosts[0]] = findHeaders(rawHeaders, ':authority');
  if (authority === undefined) throw badRequest('the request has no Host header');
  // Node uses the first Host header; a proxy may use another one.
  if (hosts.length > 1 || (hosts[0] ?? authority) !== authority)
    throw badRequest('the request has more than one Host header, or a Host header that differs from :authority');
  if (!VALID_HOST.test(authority)) throw badRequest('the Host header is malformed');
  if (headers.expect && !/^100-continue$/i.test(headers.expect)) throw unclassified('the value of the Expect header is not supported', 417);
  // Node accepts any list that ends in `chunked`; a proxy may parse such a list differently, and find another request in the body.
  if (headers['transfer-encoding'] !== undefined && !/^chunked$/i.test(headers['transfer-encoding']))
    throw badRequest('the value of the Transfer-Encoding header is not supported');
}

/** Returns the values of all headers with this lowercase name. */
function findHeaders(rawHeaders: readonly string[], name: string): readonly string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && isNamed(rawHeaders[index - 1], name));
}

/** Compares a raw header name, in any case, with a lowercase name. Compares lengths first, because conversion to lower case is slow. */
function isNamed(raw: string | undefined, name: string): boolean {
  return raw?.length === name.length && raw.toLowerCase() === name;
}

const CONTROL_CHARACTER = /\p{Cc}/u;
/** Characters that Go's HTTP server accepts in a Host header. */
const VALID_HOST = /^[\w!$%&'()*+,.:;=[\]~-]*$/;

/** Returns true if the value of a path parameter is a valid name. The value of a wildcard is not checked. */
function isName(param: string, value: string): boolean {
  if (param === '*') return true;
  return (param === 'namespace' ? validateDns1123Label(value) : validateDns1123Subdomain(value)).length === 0;
}

/** Returns the length of the body of a request in bytes, or Infinity if the length is unknown. */
function parseBodyLength({ headers }: IncomingMessage): number {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return length === undefined && encoding !== undefined ? Infinity : Number(length ?? 0);
}

/** Returns true if the body is short enough to be read to its end, so that the connection can be reused. */
function isShort(message: IncomingMessage): boolean {
  // A client that waits for `100 Continue` may send its next request instead of the body.
  if (message.headers.expect) return false;
  return parseBodyLength(message) <= MAX_REST_BYTES;
}
