// Bytes to and from one API server: credentials, connections, deadlines and size limits. Knows no Kubernetes object.
// Redirects are never followed, so nothing that we send reaches a server that was not named.

import type { Cluster } from '@kubernetes/client-node';
import type { Dispatcher } from 'undici';
import type { Clock } from '../std/clock.ts';
import { Credentials, type Identity } from './credentials.ts';
import { type Deadline, startDeadline, untilAborted } from './deadline.ts';
import { type Connections, createConnections, type DialOptions, rejectServer } from './dial.ts';
import type { Env } from './exec-credential.ts';
import type { KubeConfigSource } from './kube-config.ts';

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute path on the API server, encoded, without query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** From sending to the last byte of the answer; for streams, to the first. */
  readonly timeoutMs?: number | undefined;
  /** Longest answer that is read; for streams, longest error answer. */
  readonly maxBytes?: number | undefined;
}

export interface StreamRequest extends TransportRequest {
  /** A stream without a byte for this long is taken for dead. */
  readonly idleMs: number;
}

export type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface Reply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly body: string;
}

/** A successful stream, or a whole answer that says why there is none. */
export type StreamReply =
  | { readonly type: 'stream'; readonly headers: ReplyHeaders; readonly chunks: AsyncIterable<Uint8Array> }
  | { readonly type: 'refused'; readonly reply: Reply };

export interface TransportOptions extends Partial<DialOptions> {
  readonly clock: Clock;
  readonly userAgent?: string;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  readonly rereadMs?: number;
  /** Environment of credential plugins; without it, none is run. */
  readonly execEnv?: Env;
}

/** A request that got no usable answer: refused, reset, too late, too large. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  /** Such as `ECONNREFUSED`, `ETIMEDOUT` or `UND_ERR_SOCKET`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Opens nothing before the first request. Throws if the configuration names no cluster or one that cannot be used. */
export function createTransport(config: KubeConfigSource, options: TransportOptions): Transport {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('the kubeconfig names no cluster');
  const { clock, rereadMs = 5_000, execEnv } = options;
  rejectServer(cluster, options);
  const user = config.getCurrentUser() ?? { name: '' };
  const credentials = new Credentials(cluster, user, { clock, rereadMs, ...(execEnv && { execEnv }) });
  return new Transport(cluster, credentials, options);
}

/** Requests and streams to one API server. Made by `createTransport`. */
export class Transport {
  readonly server: string;
  readonly clock: Clock;
  readonly #cluster: Cluster;
  readonly #credentials: Credentials;
  readonly #options: Required<Pick<TransportOptions, 'timeoutMs' | 'maxBytes' | 'userAgent'>> & DialOptions;
  readonly #basePath: string;
  readonly #origin: string;
  #connections: { readonly of: Connections; readonly tlsDigest: string } | undefined;
  readonly #retired = new Set<Connections>();
  #isClosed = false;

  constructor(cluster: Cluster, credentials: Credentials, options: TransportOptions) {
    this.server = cluster.server;
    this.clock = options.clock;
    this.#cluster = cluster;
    this.#credentials = credentials;
    this.#options = { connections: 16, timeoutMs: 30_000, maxBytes: 64 << 20, userAgent: 'purser', ...options };
    const url = new URL(cluster.server);
    this.#origin = url.origin;
    this.#basePath = url.pathname.replace(/\/+$/, '');
  }

  /** One answer, whatever its status. Throws `TransportError`, or the reason of `signal` when that aborts. */
  async request(request: TransportRequest): Promise<Reply> {
    const deadline = startDeadline(this.clock, request.timeoutMs ?? this.#options.timeoutMs, request.signal);
    try {
      return await this.#withFreshCredentials(deadline, async (identity) => {
        const answer = await this.#send('requests', request, identity, deadline);
        return this.#whole(answer, request, identity);
      });
    } catch (error) {
      throw this.#explained(error, request, deadline);
    } finally {
      deadline.clear();
    }
  }

  /** Like `request`, but hands out a successful answer as it comes in. Ending the iteration closes the connection. */
  async stream(request: StreamRequest): Promise<StreamReply> {
    const deadline = startDeadline(this.clock, request.timeoutMs ?? this.#options.timeoutMs, request.signal);
    try {
      let stream: Dispatcher.ResponseData | undefined;
      const reply = await this.#withFreshCredentials(deadline, async (identity) => {
        const answer = await this.#send('watches', request, identity, deadline);
        if (answer.statusCode === 200) stream = answer;
        else return this.#whole(answer, request, identity);
        return { status: 200, headers: answer.headers, body: '' };
      });
      if (stream !== undefined) return { type: 'stream', headers: stream.headers, chunks: this.#chunks(stream, request, deadline) };
      deadline.clear();
      return { type: 'refused', reply };
    } catch (error) {
      deadline.clear();
      throw this.#explained(error, request, deadline);
    }
  }

  /** Ends every connection; requests under way fail, later ones too. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const open = this.#connections === undefined ? [] : [this.#connections.of];
    await Promise.all([...open, ...this.#retired].map((connections) => connections.destroy()));
  }

  /** A 401 may mean that our credentials were replaced since they were read: looks, and asks once more if so. */
  async #withFreshCredentials({ signal }: Deadline, send: (identity: Identity) => Promise<Reply>): Promise<Reply> {
    const identity = await untilAborted(this.#credentials.identity(), signal);
    const reply = await send(identity);
    if (reply.status !== 401) return reply;
    const renewed = await untilAborted(this.#credentials.identity(true), signal);
    const isSame = renewed.secret === identity.secret && renewed.tlsDigest === identity.tlsDigest;
    return isSame ? reply : send(renewed);
  }

  async #send(
    kind: 'requests' | 'watches',
    request: TransportRequest,
    identity: Identity,
    deadline: Deadline,
  ): Promise<Dispatcher.ResponseData> {
    const options: Dispatcher.RequestOptions = {
      origin: this.#origin,
      method: request.method,
      path: `${this.#basePath}${request.path}${queryText(request.query)}`,
      headers: { accept: 'application/json', 'user-agent': this.#options.userAgent, ...request.headers, ...identity.headers },
      body: request.body ?? null,
      signal: deadline.signal,
    };
    const dispatcher = this.#connectionsFor(identity)[kind];
    // undici does not hear of an abort while it still connects, and a silent server can make that last.
    try {
      return await untilAborted(dispatcher.request(options), deadline.signal);
    } catch (error) {
      // The server may close a kept connection just as we write to it. Reading again is harmless; writing again is not ours to decide.
      if (request.method !== 'GET' || deadline.signal.aborted || !CUT.has(codeOf(error))) throw error;
      return await untilAborted(dispatcher.request(options), deadline.signal);
    }
  }

  #connectionsFor(identity: Identity): Connections {
    if (this.#isClosed) throw new TransportError('ECANCELED', 'the transport is closed');
    if (this.#connections?.tlsDigest !== identity.tlsDigest) {
      if (this.#connections !== undefined) this.#retire(this.#connections.of);
      this.#connections = { of: createConnections(this.#cluster, identity.tls, this.#options), tlsDigest: identity.tlsDigest };
    }
    return this.#connections.of;
  }

  #retire(connections: Connections): void {
    this.#retired.add(connections);
    const forget = () => this.#retired.delete(connections);
    connections.retire().then(forget, forget);
  }

  async #whole(answer: Dispatcher.ResponseData, request: TransportRequest, identity: Identity): Promise<Reply> {
    const body = await readWhole(answer.body, request.maxBytes ?? this.#options.maxBytes);
    const { statusCode: status, headers } = answer;
    // Answers to failed requests end up in messages and logs; a server might echo what we sent.
    const isSafe = status < 400 || identity.secret === undefined;
    return { status, headers, body: isSafe ? body : body.replaceAll(identity.secret, '[redacted]') };
  }

  async *#chunks(answer: Dispatcher.ResponseData, request: StreamRequest, deadline: Deadline): AsyncGenerator<Uint8Array> {
    deadline.reset(request.idleMs);
    try {
      const chunks: AsyncIterable<Uint8Array> = answer.body;
      for await (const chunk of chunks) {
        deadline.reset(request.idleMs);
        yield chunk;
      }
    } catch (error) {
      throw this.#explained(error, request, deadline);
    } finally {
      deadline.clear();
    }
  }

  #explained(error: unknown, request: TransportRequest, deadline: Deadline): unknown {
    if (request.signal?.aborted) return request.signal.reason;
    const what = `${request.method} ${this.server}${request.path}`;
    if (deadline.hasPassed) return new TransportError('ETIMEDOUT', `${what}: the server fell silent`);
    if (error instanceof TransportError) return new TransportError(error.code, `${what}: ${error.message}`);
    return new TransportError(codeOf(error), `${what}: ${messageOf(error)}`, { cause: error });
  }
}

const CUT = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

function codeOf(error: unknown): string {
  const isCoded = typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string';
  return isCoded ? String(error.code) : 'UNKNOWN';
}

function messageOf(error: unknown): string {
  const text = typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
  // Several failed addresses come as one error without a message.
  return text === '' ? codeOf(error) : text;
}

function queryText(query: TransportRequest['query']): string {
  const given = Object.entries(query ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

async function readWhole(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new TransportError('EMSGSIZE', `the answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes).toString('utf8');
}
