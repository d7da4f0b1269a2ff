// Many watches, whose events are counted.

import type { IncomingMessage } from 'node:http';
import { Agent, get } from 'node:https';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { inParallel } from './in-parallel.ts';
import type { ListServer } from './registry-world.ts';

/** Maximum waiting time, in milliseconds. */
export const PATIENCE_MS = 300_000;

/** Number, user and start of watches. */
export interface WatchOptions {
  readonly watchers: number;
  readonly token: string;
  /** Start of the watches; default: all present objects. */
  readonly resourceVersion?: string;
}

export class WatchCrowd {
  readonly #agent = new Agent({ keepAlive: false, rejectUnauthorized: false });
  #lines = 0;
  #check = () => {};

  /** Returns the version of the list of a server. The versions of the façade are not those of the hub. */
  async currentVersion({ url, path }: ListServer, token: string): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = { authorization: `Bearer ${token}` };
    get(`${url}${path}?limit=1`, { agent: this.#agent, headers }, resolve).on('error', reject);
    const { metadata } = (await json(await promise)) as { readonly metadata: { readonly resourceVersion: string } };
    return metadata.resourceVersion;
  }

  /** Opens watches, and waits until all have started. */
  async open({ url, path }: ListServer, { watchers, token, resourceVersion }: WatchOptions): Promise<void> {
    const from = resourceVersion === undefined ? '' : `&resourceVersion=${resourceVersion}`;
    await inParallel(Array.from({ length: watchers }), async () => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const headers = { authorization: `Bearer ${token}` };
      get(`${url}${path}?watch=true&timeoutSeconds=3000${from}`, { agent: this.#agent, headers }, (response) => {
        response.on('data', (chunk: Buffer) => this.#count(chunk));
        response.on('error', () => {});
        if (response.statusCode === 200) resolve();
        else reject(new Error(`a watch returned ${response.statusCode}`));
      }).on('error', reject);
      await promise;
    });
  }

  /** Waits until all watches together have received `lines` events since their start. */
  async waitForEvents(lines: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#check = () => this.#lines >= lines && resolve();
    this.#check();
    await Promise.race([promise, delay(PATIENCE_MS).then(() => Promise.reject(new Error(`received ${this.#lines} of ${lines} events`)))]);
  }

  close(): void {
    this.#agent.destroy();
  }

  #count(chunk: Buffer): void {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) this.#lines += 1;
    this.#check();
  }
}
