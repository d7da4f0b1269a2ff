// Bytes to and from one API server: credentials, connections, deadlines and size limits. Knows no Kubernetes object.
// Redirects are never followed, so nothing that we send reaches a server that was not named.

import type { Dispatcher } from 'undici';
import type { Clock } from '../std/clock.ts';
import { withoutSecret } from '../std/sensitive.ts';
import { Credentials, type Identity } from './credentials.ts';
import { type Deadline, startDeadline, untilAborted } from './deadline.ts';
import { Dialer, type DialOptions, rejectServer } from './dial.ts';
import type { Env } from './exec-credential.ts';
import type { KubeConfigSource } from './kube-config.ts';
import { OpenStreams } from './open-streams.ts';
import { type Reply, readWhole, wholeReply } from './response.ts';
import { codeOf, TransportError, transportError } from './transport-error.ts';

export interface TransportOptions extends Partial<DialOptions> {
  readonly clock: Clock;
  /** Of requests that do not name their own. */
  readonly timeoutMs?: number;
  /** Longest answer that is read; streams have no end. */
  readonly maxBytes?: number;
  /** How long credential files are believed before they are read again. */
  readonly rereadMs?: number;
  /** Environment of credential plugins; without it, none is run. */
  readonly execEnv?: Env;
  /** Those of another transport to the same server: what either hears of the server is known to both. */
  readonly streams?: OpenStreams;
}

/** Opens nothing before the first request. Throws if the configuration names no cluster or one that cannot be used. */
export function createTransport(config: KubeConfigSource, options: TransportOptions): Transport {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('the kubeconfig names no cluster');
  const { clock, connections = 16, mayDial, findAddresses, rereadMs = 5_000, execEnv } = options;
  rejectServer(cluster, mayDial);
  const user = config.getCurrentUser() ?? { name: '' };
  const credentials = new Credentials(cluster, user, { clock, rereadMs, ...(execEnv && { execEnv }) });
  const dialer = new Dialer(cluster, { connections, ...(mayDial && { mayDial }), ...(findAddresses && { findAddresses }) });
  return new Transport(cluster.server, { credentials, dialer }, options);
}

/** Requests and streams to one API server. Made by `createTransport`. */
export class Transport {
  readonly server: string;
  readonly streams: OpenStreams;
  readonly #base: Base;
  readonly #credentials: Credentials;
  readonly #dialer: Dialer;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;

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

  /** PEM of the server's certificate authorities; undefined before the first request and where those of the system are used. */
  get ca(): string | undefined {
    return this.#credentials.ca;
  }

  /** One answer, whatever its status. Throws `TransportError`, or the reason of `signal` when that aborts. */
  async request(request: TransportRequest): Promise<Reply> {
    const sentAt = this.#clock.monotonic();
    const deadline = startDeadline(this.#clock, request.timeoutMs ?? this.#timeoutMs, request.signal);
    const limits = { maxBytes: request.maxBytes ?? this.#maxBytes, signal: deadline.signal };
    const send = async (identity: Identity) => {
      const reply = await wholeReply(
        this.#dialer.connections(identity, 'requests'),
        dispatchOptions(request, this.#base, identity),
        limits,
      );
      return cleaned(reply, identity);
    };
    try {
      const reply = await this.#exchange(request, send, deadline);
      this.streams.answered(this.#clock.monotonic());
      return reply;
    } catch (error) {
      if (this.#isUnanswered(error, request, sentAt)) this.streams.unanswered(sentAt);
      throw this.#explained(error, request, deadline);
    } finally {
      deadline.clear();
    }
  }

  /** Like `request`, but hands out a successful answer as it comes in. Ending the iteration closes the connection. */
  async stream(request: StreamRequest): Promise<StreamReply> {
    const deadline = startDeadline(this.#clock, request.timeoutMs ?? this.#timeoutMs, request.signal);
    try {
      const { body, reply } = await this.#exchange(request, (identity) => this.#open(request, identity, deadline), deadline);
      if (reply === undefined) return { type: 'stream', chunks: this.#chunks(body, request, deadline) };
      deadline.clear();
      return { type: 'refused', reply };
    } catch (error) {
      deadline.clear();
      throw this.#explained(error, request, deadline);
    }
  }

  /** Ends every connection; requests under way fail, later ones too. */
  close(): Promise<void> {
    return this.#dialer.close();
  }

  /** A 401 may mean that our credentials were replaced since they were read: looks, and asks once more if so. */
  async #exchange<A extends { readonly status: number }>(request: TransportRequest, send: Send<A>, { signal }: Deadline): Promise<A> {
    const identity = this.#credentials.fresh ?? (await untilAborted(this.#credentials.identity(), signal));
    const answer = await sendAgainIfCut(request, () => send(identity), signal);
    if (answer.status !== 401) return answer;
    const renewed = await untilAborted(this.#credentials.identity(true), signal);
    if (renewed.secret === identity.secret && renewed.tlsDigest === identity.tlsDigest) return answer;
    return await sendAgainIfCut(request, () => send(renewed), signal);
  }

  async #open(request: StreamRequest, identity: Identity, { signal }: Deadline): Promise<Opened> {
    const opening = this.#dialer.connections(identity, 'watches').request({ ...dispatchOptions(request, this.#base, identity), signal });
    // undici does not hear of an abort while it still connects, and a silent server can make that last.
    const { statusCode: status, headers, body } = await untilAborted(opening, signal);
    if (status === 200) return { status, body };
    return { status, body, reply: cleaned({ status, headers, body: await readWhole(body, this.#maxBytes) }, identity) };
  }

  async *#chunks(body: AsyncIterable<Uint8Array>, request: StreamRequest, deadline: Deadline): AsyncGenerator<Uint8Array> {
    const stream = { deadline, heardAt: this.#clock.monotonic() };
    this.streams.add(stream);
    deadline.reset(request.idleMs);
    try {
      for await (const chunk of body) {
        stream.heardAt = this.#clock.monotonic();
        deadline.reset(request.idleMs);
        yield chunk;
      }
    } catch (error) {
      throw this.#explained(error, request, deadline);
    } finally {
      this.streams.delete(stream);
      deadline.clear();
    }
  }

  /** Whether the server may not have been there; a caller who leaves at once has not waited for it. */
  #isUnanswered(error: unknown, { signal }: TransportRequest, sentAt: number): boolean {
    if (signal?.aborted) return this.#clock.monotonic() - sentAt >= PATIENCE_MS;
    return codeOf(error) !== 'EMSGSIZE';
  }

  #explained(error: unknown, request: TransportRequest, deadline: Deadline): unknown {
    if (request.signal?.aborted) return request.signal.reason;
    const what = `${request.method} ${this.server}${request.path}`;
    if (deadline.hasPassed) return new TransportError('ETIMEDOUT', `${what}: the server fell silent`);
    return transportError(what, error);
  }
}

/** Sends a request as somebody. */
type Send<A> = (identity: Identity) => Promise<A>;

/** A stream that has begun, or the whole answer that came instead. */
interface Opened {
  readonly status: number;
  readonly body: AsyncIterable<Uint8Array>;
  readonly reply?: Reply;
}

const PATIENCE_MS = 2_000;
/** Parsing takes several times as much memory. Ten times what etcd stores; lists are requested in smaller pages. */
const MAX_BYTES = 16 << 20;
const CUT = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** The server may close a kept connection just as we write to it. Reading again is harmless; writing again is not ours to decide. */
async function sendAgainIfCut<A>({ method }: TransportRequest, send: () => Promise<A>, signal: AbortSignal): Promise<A> {
  try {
    return await send();
  } catch (error) {
    if (method !== 'GET' || signal.aborted || !CUT.has(codeOf(error))) throw error;
    return await send();
  }
}

/** Answers to failed requests end up in messages and logs; a server might echo what we sent. */
function cleaned(reply: Reply, { secret }: Identity): Reply {
  return reply.status < 400 ? reply : { ...reply, body: withoutSecret(reply.body, secret) };
}

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
  /** How long the answer may be, where that is not what the transport allows. */
  readonly maxBytes?: number;
}

export interface StreamRequest extends TransportRequest {
  /** A stream without a byte for this long is taken for dead. */
  readonly idleMs: number;
}

/** A successful stream, or a whole answer that says why there is none. */
export type StreamReply =
  | { readonly type: 'stream'; readonly chunks: AsyncIterable<Uint8Array> }
  | { readonly type: 'refused'; readonly reply: Reply };

/** Where an API server is; behind a proxy, all its paths may begin with one of the proxy's. */
export interface Base {
  readonly origin: string;
  readonly path: string;
}

const USER_AGENT = 'purser';

/** The request as somebody. */
export function dispatchOptions(request: TransportRequest, { origin, path }: Base, { headers }: Identity): Dispatcher.RequestOptions {
  return {
    origin,
    method: request.method,
    path: `${path}${request.path}${queryText(request.query)}`,
    headers: { accept: 'application/json', 'user-agent': USER_AGENT, ...request.headers, ...headers },
    body: request.body ?? null,
  };
}

function queryText(query: TransportRequest['query']): string {
  if (query === undefined) return '';
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
