// A watch under way: its events as they come.

import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import type { ContractServer } from './server.ts';

export interface WatchEvent {
  readonly type: string;
  readonly object: WatchedObject;
}

export interface WatchedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name?: string;
    readonly namespace?: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

const PATIENCE_MS = 20_000;

/** Starts a watch as administrator; resolves once the server has answered. */
export async function watch(server: ContractServer, path: string, headers: Readonly<Record<string, string>> = {}): Promise<Watching> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const authorization = `Bearer ${server.tokens.admin}`;
  const outgoing = request(`${server.url}${path}`, { ca: server.ca, agent: false, headers: { authorization, ...headers } }, resolve);
  outgoing.on('error', reject);
  outgoing.end();
  return new Watching(await promise);
}

export class Watching {
  readonly #answer: IncomingMessage;
  readonly #lines: string[] = [];
  readonly #news = new EventTarget();
  #ended = false;

  constructor(answer: IncomingMessage) {
    this.#answer = answer;
    const reader = createInterface({ input: answer });
    reader.on('line', (line) => {
      this.#lines.push(line);
      this.#news.dispatchEvent(new Event('news'));
    });
    reader.on('close', () => {
      this.#ended = true;
      this.#news.dispatchEvent(new Event('news'));
    });
    answer.on('error', () => {});
  }

  get status(): number {
    return this.#answer.statusCode ?? 0;
  }

  /** The first `count` lines, as they came. */
  async lines(count: number): Promise<readonly string[]> {
    await this.#until(() => this.#lines.length >= count || this.#ended, `${count} events`);
    return this.#lines.slice(0, count);
  }

  /** The first `count` events. */
  async events(count: number): Promise<readonly WatchEvent[]> {
    return (await this.lines(count)).map((line) => JSON.parse(line) as WatchEvent);
  }

  /** All events, once the server has ended the watch. */
  async all(): Promise<readonly WatchEvent[]> {
    await this.#until(() => this.#ended, 'the end');
    return this.events(this.#lines.length);
  }

  close(): void {
    this.#answer.destroy();
  }

  async #until(isSo: () => boolean, what: string): Promise<void> {
    const patience = AbortSignal.timeout(PATIENCE_MS);
    while (!isSo()) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const impatient = () => reject(new Error(`the watch did not bring ${what}, but ${JSON.stringify(this.#lines)}`));
      this.#news.addEventListener('news', () => resolve(), { once: true });
      patience.addEventListener('abort', impatient, { once: true });
      await promise;
      patience.removeEventListener('abort', impatient);
    }
  }
}
