// Bearer tokens that Purser sends to the clusters of the bench: its registered, renewed and hub credentials.

import { digestOf } from './digest.ts';
import type { History } from './history.ts';
import { findTokens } from './tenants/token-text.ts';

/** Records each token, and the cluster that received it first. */
export class Bearers {
  readonly #clusters = new Map<string, string>();
  readonly #history: History;

  constructor(history: History) {
    this.#history = history;
  }

  /** Names of clusters by token; tokens are never written to a file. */
  get clusters(): ReadonlyMap<string, string> {
    return this.#clusters;
  }

  /** Records a string that a request to a cluster contained as bearer token. */
  record(cluster: string, text: string): void {
    for (const token of findTokens(text)) {
      if (this.#clusters.has(token)) continue;
      this.#clusters.set(token, cluster);
      this.#history.add({ type: 'credential', cluster, digest: digestOf(token) });
    }
  }
}
