// Bytes to and from one API server: credentials, connections, deadlines and size limits. Knows no Kubernetes object.
// Redirects are never followed, so nothing that we send reaches a server that was not named.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { Clock } from '../std/clock.ts';
import { Credentials, type Identity } from './credentials.ts';
import { type Deadline, startDeadline, untilAborted } from './deadline.ts';
import { Dialer, type DialOptions, type Purpose, rejectServer } from './dial.ts';
import type { Env } from './exec-credential.ts';
import type { KubeConfigSource } from './kube-config.ts';
import { codeOf, TransportError, transportError } from './transport-error.ts';

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

export type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface Reply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly body: string;
}

/** A successful stream, or a whole answer that says why there is none. */
export type StreamReply =
  | { readonly type: 'stream'; readonly chunks: AsyncIterable<Uint8Array> }
  | { readonly type: 'refused'; readonly reply: Reply };

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
  readonly #base: { readonly origin: string; readonly path: string };
  readonly #credentials: Credentials;
  readonly #dialer: Dialer;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;

  constructor(server: string, parts: { readonly credentials: Credentials; readonly dialer: Dialer }, options: TransportOptions) {
    this.server = server;
    const { origin, pathname } = new URL(server);
    this.#base = { origin, path: pathname.replace(/\/+$/, '') };
    this.#credentials = parts.credentials;
    this.#dialer = parts.dialer;
    this.#clock = options.clock;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#maxBytes = options.maxBytes ?? 64 << 20;
  }

  /** One answer, whatever its status. Throws `TransportError`, or the reason of `signal` when that aborts. */
  async request(request: TransportRequest): Promise<Reply> {
    const deadline = startDeadline(this.#clock, request.timeoutMs ?? this.#timeoutMs, request.signal);
    try {
      return await this.#whole(await this.#exchange('requests', request, deadline), request.maxBytes);
    } catch (error) {
      throw this.#explained(error, request, deadline);
    } finally {
      deadline.clear();
    }
  }

  /** Like `request`, but hands out a successful answer as it comes in. Ending the iteration closes the connection. */
  async stream(request: StreamRequest): Promise<StreamReply> {
    const deadline = startDeadline(this.#clock, request.timeoutMs ?? this.#timeoutMs, request.signal);
    try {
      const exchange = await this.#exchange('watches', request, deadline);
      if (exchange.answer.statusCode === 200) return { type: 'stream', chunks: this.#chunks(exchange.answer, request, deadline) };
      const reply = await this.#whole(exchange);
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
  async #exchange(kind: Purpose, request: TransportRequest, deadline: Deadline): Promise<Exchange> {
    const identity = await untilAborted(this.#credentials.identity(), deadline.signal);
    const answer = await this.#send(kind, request, identity, deadline);
    if (answer.statusCode !== 401) return { answer, identity };
    const renewed = await untilAborted(this.#credentials.identity(true), deadline.signal);
    if (renewed.secret === identity.secret && renewed.tlsDigest === identity.tlsDigest) return { answer, identity };
    // Nobody reads it, and its connection must not be kept waiting.
    await answer.body.dump();
    return { answer: await this.#send(kind, request, renewed, deadline), identity: renewed };
  }

  async #send(kind: Purpose, request: TransportRequest, identity: Identity, deadline: Deadline): Promise<Dispatcher.ResponseData> {
    const { origin, path } = this.#base;
    const options: Dispatcher.RequestOptions = {
      origin,
      method: request.method,
      path: `${path}${request.path}${queryText(request.query)}`,
      headers: { accept: 'application/json', 'user-agent': USER_AGENT, ...request.headers, ...identity.headers },
      body: request.body ?? null,
      signal: deadline.signal,
    };
    const dispatcher = this.#dialer.connections(identity, kind);
    // undici does not hear of an abort while it still connects, and a silent server can make that last.
    try {
      return await untilAborted(dispatcher.request(options), deadline.signal);
    } catch (error) {
      // The server may close a kept connection just as we write to it. Reading again is harmless; writing again is not ours to decide.
      if (request.method !== 'GET' || deadline.signal.aborted || !CUT.has(codeOf(error))) throw error;
      return await untilAborted(dispatcher.request(options), deadline.signal);
    }
  }

  async #whole({ answer, identity }: Exchange, maxBytes = this.#maxBytes): Promise<Reply> {
    const body = await readWhole(answer.body, maxBytes);
    // The connection is free one turn later: whoever asks the next question at once would open another one.
    await nextTurn();
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
    return transportError(what, error);
  }
}

/** An answer, and as whom we got it. */
interface Exchange {
  readonly answer: Dispatcher.ResponseData;
  readonly identity: Identity;
}

const USER_AGENT = 'purser';
const CUT = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

function queryText(query: TransportRequest['query']): string {
  if (query === undefined) return '';
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
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
