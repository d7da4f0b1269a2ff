// The clusters of the hub, followed: their history, and who waits for what is to come.

import type { Subscription } from 'rxjs';
import type { Visibility } from '../../access/visibility.ts';
import type { Cluster } from '../../api/cluster.gen.ts';
import { versionTooLarge } from '../../kubernetes/list-revision.ts';
import { serviceUnavailable } from '../../kubernetes/status.ts';
import type { Clock } from '../../std/clock.ts';
import { ClusterHistory, type HistoryOptions } from '../listwatch/history.ts';
import { formatVersion, parseVersion } from '../listwatch/version.ts';
import type { Followed } from './cluster-access.ts';

export interface StateOptions extends HistoryOptions {
  readonly clusters: Followed<Cluster>;
  readonly clock: Clock;
  /** Called after every event of the hub. */
  readonly onAdvance: () => void;
}

/** A caller who waits for a version. */
export interface Wait {
  readonly signal: AbortSignal;
  /** Returns what the caller may see. */
  readonly visibility: () => Promise<Visibility>;
  /** Maximum time to wait in milliseconds; 3 s by default. */
  readonly timeoutMs?: number;
}

/** How long a version that is to come is waited for. */
const WAIT_MS = 3_000;

export class ClusterState {
  readonly history: ClusterHistory;
  readonly #options: StateOptions;
  readonly #waiting = new Set<() => void>();

  constructor(options: StateOptions) {
    this.#options = options;
    this.history = new ClusterHistory(options);
  }

  /** Follows the hub until unsubscribed. */
  run(): Subscription {
    const { store, batches$ } = this.#options.clusters;
    if (store.resourceVersion !== undefined) this.history.load(store.list(), Number(store.resourceVersion));
    return batches$.subscribe((batch) => {
      this.history.apply(batch);
      for (const look of this.#waiting) look();
      this.#options.onAdvance();
    });
  }

  /** Throws 503 before the clusters of the hub are known. */
  checkKnown(): void {
    if (this.history.revision === 0) throw serviceUnavailable('the clusters of the hub are not known yet', 1);
  }

  /** Waits for the hub's part of a version; 504 with the version that the caller is shown when it does not come soon. */
  async reached(version: bigint, { signal, visibility, timeoutMs = WAIT_MS }: Wait): Promise<void> {
    const { revision, fingerprint } = parseVersion(version);
    if (revision <= this.history.revision) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => revision <= this.history.revision && resolve();
    const cancel = this.#options.clock.wakeAfter(Math.min(timeoutMs, WAIT_MS), resolve);
    signal.addEventListener('abort', () => resolve());
    this.#waiting.add(look);
    await promise;
    this.#waiting.delete(look);
    cancel();
    if (revision <= this.history.revision) return;
    throw versionTooLarge(version, formatVersion(this.history.revisionFor(await visibility()), fingerprint));
  }
}
