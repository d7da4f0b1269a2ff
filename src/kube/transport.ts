// HTTP to one API server: credentials, connections, deadlines and size limits. Never follows redirects, so requests reach only the
// configured server.

import { type Dispatcher, WebSocket } from 'undici';
import type { Clock } from '../std/clock.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import { redactSecret, Sensitive } from '../std/sensitive.ts';
import { type BearerTokenSource, Credentials, hasSameCredential, type Identity } from './credentials.ts';
import { type Deadline, rejectOnAbort, startDeadline } from './deadline.ts';
import { type ConnectionPurpose, checkServer, Dialer, type DialOptions } from './dial.ts';
import type { Env } from './exec-credential.ts';
import type { KubeConfigSource } from './kube-config.ts';
import { OpenStreams } from './open-streams.ts';
import { type HttpResponse, readResponse, readText } from './response.ts';
import { codeOf, TransportError, toTransportError } from './transport-error.ts';

export interface TransportOptions extends Partial<DialOptions> {
  readonly clock: Clock;
  /** Timeout of requests without their own timeout, in milliseconds; 30 s by default. */
  readonly timeoutMs?: number;
  /** Maximum length of a response, in bytes; 16 MiB by default. Streams have no limit. */
  readonly maxBytes?: number;
  /** Interval after which credential files are read again, in milliseconds; 5 s by default. */
  readonly rereadMs?: number;
  /** Environment of credential plugins; undefined rejects users with a plugin. */
  readonly execEnv?: Env;
  /** Source of the bearer token that replaces the token in the configuration; undefined to send the configured one. */
  readonly bearer?: BearerTokenSource;
  /** Open streams of another transport to the same server, so that responses to either end interrupted streams; undefined for none. */
  readonly streams?: OpenStreams;
  /** Connections of another transport to the same server, from `handOver`; undefined for new ones. */
  readonly dialer?: Dialer;
}

/**
 * Creates a transport that connects at its first request. Throws if the configuration has no cluster, if the server or its proxy is not
 * allowed, or if the user's credential is not supported.
 */
export function createTransport(config: KubeConfigSource, options: TransportOptions): Transport {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('the kubeconfig has no current cluster');
  const { clock, connections = 16, mayDial, mayDialProxy, findAddresses, tunnel, rereadMs = 5_000, execEnv, bearer } = options;
  checkServer(cluster, options);
  const user = config.getCurrentUser() ?? { name: '' };
  const credentials = new Credentials(cluster, user, omitUndefined({ clock, rereadMs, execEnv, bearer }));
  const dialOptions = omitUndefined({ connections, mayDial, mayDialProxy, findAddresses, tunnel });
  const dialer = options.dialer ?? new Dialer(cluster, dialOptions, clock);
  return new Transport(cluster.server, { credentials, dialer }, options);
}

/** Requests and streams to one API server. Create it with `createTransport`. */
export class Transport {
  readonly server: string;
  readonly streams: OpenStreams;
  readonly #base: BaseUrl;
  readonly #credentials: Credentials;
  readonly #dialer: Dialer;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;
  #isHandedOver = false;

  constructor(server: string, parts: { readonly credentials: Credentials; readonly dialer: Dialer }, options: TransportOptions) {
    this.server = server;
    this.streams = options.streams ?? new OpenStreams();
    const { origin, pathname } = new URL(server);
    this.#base = { origin, path: pathname.replace(/\/+$/, '') };
    this.#credentials = parts.credentials;
    this.#dialer = parts.dialer;
    this.#clock = options.clock;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#maxBytes = options.maxBytes ?? MAX_BYTES;
  }

  /** PEM of the server's certificate authorities; undefined before the first request and for the root certificates that Node.js trusts. */
  get ca(): string | undefined {
    return this.#credentials.ca;
  }

  /** Returns the bearer token that requests send; undefined if they send no token or impersonate a user. */
  async bearerToken(): Promise<Sensitive<string> | undefined> {
    const { headers, secret } = await this.#credentials.identity();
    const isAlone = secret !== undefined && headers['authorization'] === `Bearer ${secret}` && Object.keys(headers).length === 1;
    return isAlone ? new Sensitive(secret) : undefined;
  }

  /** Returns the response, with any status code. Throws TransportError, or the reason of `signal` after an abort. */
  async request(request: TransportRequest): Promise<HttpResponse> {
    const sentAt = this.#clock.monotonic();
    const deadline = startDeadline(this.#clock, request.timeoutMs ?? this.#timeoutMs, request.signal);
    const limits = { maxBytes: request.maxBytes ?? this.#maxBytes, deadline };
    const send = async (identity: Identity) => {
      const pool = this.#connections(identity, 'requests');
      return redactErrors(await readResponse(pool, toDispatchOptions(request, this.#base, identity), limits), identity);
    };
    try {
      const response = await this.#exchange(request, send, deadline);
      this.streams.recordResponse(this.#clock.monotonic());
      return response;
    } catch (error) {
      if (this.#isWithoutResponse(error, request, sentAt)) this.streams.recordFailure(sentAt);
      throw this.#toError(error, request, deadline);
    } finally {
      deadline.clear();
    }
  }

  /**
   * Sends a request and returns the chunks of a successful response as they arrive, or the error response. Ending the iteration closes the
   * connection. Throws the same errors as `request`, also during the iteration.
   */
  async stream(request: StreamRequest): Promise<StreamResult> {
    const deadline = startDeadline(this.#clock, request.timeoutMs ?? this.#timeoutMs, request.signal);
    try {
      const { body, response } = await this.#exchange(request, (identity) => this.#open(request, identity, deadline), deadline);
      if (response === undefined) return { type: 'stream', chunks: this.#chunks(body, request, deadline) };
      deadline.clear();
      return { type: 'rejected', response };
    } catch (error) {
      deadline.clear();
      throw this.#toError(error, request, deadline);
    }
  }

  /** Starts to open a WebSocket, and returns it before the handshake ends. The caller must handle `open`, `error` and `close` events. */
  async openWebSocket(path: string, query: Readonly<Record<string, string>>, protocol: string): Promise<WebSocket> {
    const identity = this.#credentials.fresh ?? (await this.#credentials.identity());
    const { origin, path: prefix } = this.#base;
    return new WebSocket(`${origin.replace(/^http/, 'ws')}${prefix}${path}${encodeQuery(query)}`, {
      protocols: protocol,
      dispatcher: this.#connections(identity, 'watches'),
      headers: { 'user-agent': USER_AGENT, ...identity.headers },
    });
  }

  /**
   * Returns the connections, for another transport with another credential. That transport then closes them instead of this one. Both
   * transports must have the same server, proxy, certificate authorities and dial policy.
   */
  handOver(): Pick<TransportOptions, 'dialer' | 'streams'> {
    this.#isHandedOver = true;
    return { dialer: this.#dialer, streams: this.streams };
  }

  /** Closes all connections; requests in progress and later requests fail. Has no effect after `handOver`. */
  async close(): Promise<void> {
    if (!this.#isHandedOver) await this.#dialer.close();
  }

  #connections(identity: Identity, purpose: ConnectionPurpose): Dispatcher {
    return this.#dialer.connections(identity, purpose, this.streams.failedAt);
  }

  /** Sends a request. After a 401, reads the credentials again, and sends the request once more if the credentials have changed. */
  async #exchange<A extends { readonly status: number }>(request: TransportRequest, send: Send<A>, deadline: Deadline): Promise<A> {
    const identity = this.#credentials.fresh ?? (await rejectOnAbort(this.#credentials.identity(), deadline.signal));
    const response = await retryIfClosed(request, () => send(identity), deadline);
    if (response.status !== 401) return response;
    const renewed = await rejectOnAbort(this.#credentials.identity(identity), deadline.signal);
    if (hasSameCredential(renewed, identity)) return response;
    return await retryIfClosed(request, () => send(renewed), deadline);
  }

  async #open(request: StreamRequest, identity: Identity, { signal }: Deadline): Promise<OpenedStream> {
    const opening = this.#connections(identity, 'watches').request({ ...toDispatchOptions(request, this.#base, identity), signal });
    // undici ignores an abort while it connects, and a silent server can delay the connection.
    const { statusCode: status, headers, body } = await rejectOnAbort(opening, signal);
    if (status === 200) return { status, body };
    return { status, body, response: redactErrors({ status, headers, body: await readText(body, this.#maxBytes) }, identity) };
  }

  async *#chunks(body: AsyncIterable<Uint8Array>, request: StreamRequest, deadline: Deadline): AsyncGenerator<Uint8Array> {
    const stream = { deadline, receivedAt: this.#clock.monotonic() };
    this.streams.add(stream);
    deadline.reset(request.idleMs);
    try {
      for await (const chunk of body) {
        stream.receivedAt = this.#clock.monotonic();
        deadline.reset(request.idleMs);
        yield chunk;
      }
    } catch (error) {
      throw this.#toError(error, request, deadline);
    } finally {
      this.streams.delete(stream);
      deadline.clear();
    }
  }

  /** Returns whether the server may be unreachable; a caller that aborts early has not waited for a response. */
  #isWithoutResponse(error: unknown, { signal }: TransportRequest, sentAt: number): boolean {
    if (signal?.aborted) return this.#clock.monotonic() - sentAt >= MIN_WAIT_MS;
    return codeOf(error) !== 'EMSGSIZE';
  }

  #toError(error: unknown, request: TransportRequest, deadline: Deadline): unknown {
    if (request.signal?.aborted) return request.signal.reason;
    const description = `${request.method} ${this.server}${request.path}`;
    if (deadline.hasPassed) return new TransportError('ETIMEDOUT', `${description}: timed out waiting for the server`);
    return toTransportError(description, error);
  }
}

/** Sends a request with an identity. */
type Send<A> = (identity: Identity) => Promise<A>;

/** An opened stream, or the complete response if the server rejected the request. */
interface OpenedStream {
  readonly status: number;
  readonly body: AsyncIterable<Uint8Array>;
  readonly response?: HttpResponse;
}

/** Minimum wait after which an aborted request is treated as a request without a response, in milliseconds. */
const MIN_WAIT_MS = 2_000;
/**
 * Default of `maxBytes`: about ten times the maximum size of an object in etcd. Parsing takes several times as much memory, so clients read
 * lists in smaller pages.
 */
const MAX_BYTES = 16 << 20;
/** Codes of errors on a connection that the server closed. */
const CLOSED_CODES = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** Repeats a GET if the server closed the kept-alive connection. A write is not repeated: the server may have executed it. */
async function retryIfClosed<A>({ method }: TransportRequest, send: () => Promise<A>, deadline: Deadline): Promise<A> {
  try {
    return await send();
  } catch (error) {
    if (method !== 'GET' || deadline.isAborted || !CLOSED_CODES.has(codeOf(error))) throw error;
    return await send();
  }
}

/** Redacts the credential in an error response: a server may return it, and Purser logs the response. */
function redactErrors(response: HttpResponse, { secret }: Identity): HttpResponse {
  return response.status < 400 ? response : { ...response, body: redactSecret(response.body, secret) };
}

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute path on the API server, encoded, without a query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Maximum time until the end of the response (of its headers for a stream), in milliseconds; undefined for the transport's timeout. */
  readonly timeoutMs?: number | undefined;
  /** Maximum length of the response, in bytes; undefined for the transport's limit. */
  readonly maxBytes?: number;
}

export interface StreamRequest extends TransportRequest {
  /** Maximum time without a byte from the server, in milliseconds; the stream fails after it. */
  readonly idleMs: number;
}

/** A successful stream, or the error response. */
export type StreamResult =
  | { readonly type: 'stream'; readonly chunks: AsyncIterable<Uint8Array> }
  | { readonly type: 'rejected'; readonly response: HttpResponse };

/** Base URL of an API server; the path is a prefix that a reverse proxy requires. */
export interface BaseUrl {
  readonly origin: string;
  readonly path: string;
}

const USER_AGENT = 'purser';

/** Converts a request to undici's options. */
function toDispatchOptions(request: TransportRequest, { origin, path }: BaseUrl, { headers }: Identity): Dispatcher.RequestOptions {
  return {
    origin,
    method: request.method,
    path: `${path}${request.path}${encodeQuery(request.query)}`,
    headers: { accept: 'application/json', 'user-agent': USER_AGENT, ...request.headers, ...headers },
    body: request.body ?? null,
  };
}

function encodeQuery(query: TransportRequest['query']): string {
  if (query === undefined) return '';
  const entries = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries).toString()}`;
}
