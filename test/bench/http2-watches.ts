// Watches of many callers over HTTP/2. As in client-go, up to 100 watches of a caller share a connection.

import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import type { Socket } from 'node:net';
import { connect } from 'node:tls';

/** Number of source addresses of the watches; the façade limits the watches of one address. */
const ADDRESSES = 4;
/** Maximum number of watches on one connection. */
const STREAMS = 100;
const NEWLINE = 0x0a;

export interface Watch {
  /** Bytes received so far. */
  readonly bytes: number;
  /** Resolves with the response status, or with 0 if the connection closes without one. */
  readonly status: Promise<number>;
}

export class Http2Watches {
  readonly #url: string;
  readonly #callers: number;
  readonly #tokenOf: (caller: number) => string;
  readonly #sessions = new Map<string, ClientHttp2Session>();
  #events = 0;
  #ended = 0;
  #check = () => {};

  /** `tokenOf` returns the token of a caller, from 0 to `callers` - 1. */
  constructor(url: string, callers: number, tokenOf: (caller: number) => string) {
    this.#url = url;
    this.#callers = callers;
    this.#tokenOf = tokenOf;
  }

  /** Number of events that all watches have received. */
  get events(): number {
    return this.#events;
  }

  /** Number of watches that have ended. */
  get ended(): number {
    return this.#ended;
  }

  /** Waits until all watches together have received `count` events. */
  async waitForEvents(count: number, patienceMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => reject(new Error(`received ${this.#events} of ${count} events`)), patienceMs);
    this.#check = () => this.#events >= count && resolve();
    this.#check();
    await promise.finally(() => clearTimeout(timer));
  }

  /** Opens the watch with a number, which selects its caller and connection. */
  open(index: number, target: string): Watch {
    const caller = index % this.#callers;
    const session = this.#session(`${caller} ${Math.floor(index / this.#callers / STREAMS)}`, addressOf(caller));
    const stream = session.request({ ':path': target, authorization: `Bearer ${this.#tokenOf(caller)}` });
    const { promise, resolve } = Promise.withResolvers<number>();
    const watch = { bytes: 0, status: promise };
    stream
      .on('response', (headers) => resolve(headers[':status'] ?? 0))
      .on('data', (chunk: Buffer) => {
        watch.bytes += chunk.length;
        for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) this.#events += 1;
        this.#check();
      })
      .on('error', () => {})
      .on('close', () => {
        this.#ended += 1;
        resolve(0);
      });
    return watch;
  }

  close(): void {
    for (const session of this.#sessions.values()) session.destroy();
  }

  #session(key: string, localAddress: string): ClientHttp2Session {
    const existing = this.#sessions.get(key);
    if (existing !== undefined) return existing;
    const session = connectHttp2(this.#url, { createConnection: () => connectFrom(this.#url, localAddress) }).on('error', () => {});
    this.#sessions.set(key, session);
    return session;
  }
}

/** Returns the local address of a watch. */
export function addressOf(index: number): string {
  return `127.0.1.${1 + (index % ADDRESSES)}`;
}

/** Connects from a local address. */
function connectFrom(url: string, localAddress: string): Socket {
  const port = Number(new URL(url).port);
  // The types of tls.connect lack `localAddress`.
  const from = { localAddress };
  return connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'], ...from });
}
