// Many readers of watches, who count what comes.

import { Agent, get } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { inParallel } from './in-parallel.ts';
import type { Served } from './registry-world.ts';

/** How long something may take before the bench gives up. */
export const PATIENCE_MS = 300_000;

/** Who watches, and from where on. */
export interface Watching {
  readonly watchers: number;
  readonly token: string;
  /** From all present objects on by default. */
  readonly resourceVersion?: string;
}

export class WatchCrowd {
  readonly #agent = new Agent({ keepAlive: false, rejectUnauthorized: false });
  #lines = 0;
  #look = () => {};

  /** Returns when all watches have begun. */
  async open({ url, path }: Served, { watchers, token, resourceVersion }: Watching): Promise<void> {
    const from = resourceVersion === undefined ? '' : `&resourceVersion=${resourceVersion}`;
    await inParallel(Array.from({ length: watchers }), async () => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const headers = { authorization: `Bearer ${token}` };
      get(`${url}${path}?watch=true&timeoutSeconds=3000${from}`, { agent: this.#agent, headers }, (answer) => {
        answer.on('data', (chunk: Buffer) => this.#count(chunk));
        answer.on('error', () => {});
        if (answer.statusCode === 200) resolve();
        else reject(new Error(`a watch was answered with ${answer.statusCode}`));
      }).on('error', reject);
      await promise;
    });
  }

  /** Returns when so many events have come to all of them together since they began. */
  async received(lines: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#look = () => this.#lines >= lines && resolve();
    this.#look();
    await Promise.race([promise, delay(PATIENCE_MS).then(() => Promise.reject(new Error(`${this.#lines} of ${lines} events came`)))]);
  }

  close(): void {
    this.#agent.destroy();
  }

  #count(chunk: Buffer): void {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) this.#lines += 1;
    this.#look();
  }
}
