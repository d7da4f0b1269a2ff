// An open watch, and the events that it has received.

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

const TIMEOUT_MS = 20_000;

/** Starts a watch as the administrator; resolves when the headers of the response arrive. */
export async function watch(server: ContractServer, path: string, headers: Readonly<Record<string, string>> = {}): Promise<WatchStream> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const authorization = `Bearer ${server.tokens.admin}`;
  const outgoing = request(`${server.url}${path}`, { ca: server.ca, agent: false, headers: { authorization, ...headers } }, resolve);
  outgoing.on('error', reject);
  outgoing.end();
  return new WatchStream(await promise);
}

export class WatchStream {
  readonly #response: IncomingMessage;
  readonly #lines: string[] = [];
  readonly #changes = new EventTarget();
  #ended = false;

  constructor(response: IncomingMessage) {
    this.#response = response;
    const reader = createInterface({ input: response });
    reader.on('line', (line) => {
      this.#lines.push(line);
      this.#changes.dispatchEvent(new Event('change'));
    });
    reader.on('close', () => {
      this.#ended = true;
      this.#changes.dispatchEvent(new Event('change'));
    });
    response.on('error', () => {});
  }

  get status(): number {
    return this.#response.statusCode ?? 0;
  }

  /** Returns the first `count` lines, unparsed, as soon as they have arrived; fewer if the watch ends first. */
  async lines(count: number): Promise<readonly string[]> {
    await this.#waitUntil(() => this.#lines.length >= count || this.#ended, `${count} events`);
    return this.#lines.slice(0, count);
  }

  /** Returns the first `count` events as soon as they have arrived; fewer if the watch ends first. */
  async events(count: number): Promise<readonly WatchEvent[]> {
    return (await this.lines(count)).map((line) => JSON.parse(line) as WatchEvent);
  }

  /** Waits until the server ends the watch, and returns all events. */
  async all(): Promise<readonly WatchEvent[]> {
    await this.#waitUntil(() => this.#ended, 'the end');
    return this.events(this.#lines.length);
  }

  close(): void {
    this.#response.destroy();
  }

  async #waitUntil(isDone: () => boolean, expected: string): Promise<void> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    while (!isDone()) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const onTimeout = () => reject(new Error(`timeout: expected ${expected} of the watch, received ${JSON.stringify(this.#lines)}`));
      this.#changes.addEventListener('change', () => resolve(), { once: true });
      timeout.addEventListener('abort', onTimeout, { once: true });
      await promise;
      timeout.removeEventListener('abort', onTimeout);
    }
  }
}
