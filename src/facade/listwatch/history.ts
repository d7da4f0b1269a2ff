// The clusters of the hub as this replica knows them, and what happened to them lately. One log serves watchers, who are
// positions in it, and old versions, which are the present with the log undone.

import type { Visibility } from '../../access/visibility.ts';
import type { Cluster } from '../../api/cluster.gen.ts';
import type { Batch, Change } from '../../kube/store.ts';
import { ClusterCollection } from './collection.ts';
import { PublishedCluster } from './item.ts';

/** What happened to one cluster at a revision. */
export interface Entry {
  readonly revision: number;
  readonly before: PublishedCluster | undefined;
  readonly after: PublishedCluster | undefined;
  /** Whether the revision is complete with this entry. */
  readonly isLast: boolean;
  /** Set where what happened between that revision and this one is not known, only what came of it. */
  readonly unknownSince: number | undefined;
}

export interface HistoryOptions {
  readonly annotationPrefixes: readonly string[];
  /** How many changes are remembered. */
  readonly capacity: number;
  /** Maximum size of the remembered changes, in bytes; 64 MB by default. A user who may label Clusters can make them large. */
  readonly maxWeight?: number;
}

const MAX_WEIGHT = 64e6;

/** Size of the version that an entry adds; the version before belongs to an earlier entry. */
function weightOf(entry: Entry | undefined): number {
  return entry?.after?.weight ?? 0;
}

export class ClusterHistory {
  readonly #options: HistoryOptions;
  #collection = ClusterCollection.empty;
  #revision = 0;
  /** The revision at which this replica began to follow the hub. */
  #loadedRevision = 0;
  /** The oldest revision that can be gone back to. */
  #oldest = Number.POSITIVE_INFINITY;
  #entries: Entry[] = [];
  /** Sum of the weights of the entries. */
  #weight = 0;
  /** Position of the first entry that is still there. */
  #start = 0;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** The present. */
  get collection(): ClusterCollection {
    return this.#collection;
  }

  /** The hub's resourceVersion of the present. */
  get revision(): number {
    return this.#revision;
  }

  /**
   * The revision that a caller is shown. To a caller who sees no cluster it never moves: nothing that happens concerns the caller,
   * and its number would report how often hidden clusters change.
   */
  revisionFor(visibility: Visibility): number {
    return visibility.isNothing ? this.#loadedRevision : this.#revision;
  }

  get oldest(): number {
    return Math.min(this.#oldest, this.#revision);
  }

  /** Position of the first entry that is still there. */
  get start(): number {
    return this.#start;
  }

  /** Position behind the last entry. */
  get end(): number {
    return this.#start + this.#entries.length;
  }

  entry(position: number): Entry {
    return this.#entries[position - this.#start] as Entry;
  }

  /** Starts with what is there already. */
  load(clusters: readonly Cluster[], revision: number): void {
    this.#collection = ClusterCollection.of(clusters.map((cluster) => this.#published(cluster)));
    this.#revision = revision;
    this.#loadedRevision = revision;
    this.#oldest = revision;
  }

  /** Takes what an event of the hub has done. */
  apply({ type, resourceVersion, changes }: Batch<Cluster>): void {
    const revision = Number(resourceVersion);
    if (this.#oldest === Number.POSITIVE_INFINITY)
      return this.load(
        changes.map(({ object }) => object),
        revision,
      );
    const unknownSince = type === 'listed' ? this.#revision : undefined;
    const goesBack = revision < this.#revision;
    this.#revision = revision;
    const entries = changes.map((change, index) => this.#change(change, { revision, unknownSince, isLast: index === changes.length - 1 }));
    if (goesBack) this.#forget();
    else if (entries.length > 0) this.#append(entries);
    else if (type === 'listed') this.#append([{ revision, before: undefined, after: undefined, isLast: true, unknownSince }]);
  }

  /** Position of the first entry after a revision, which may be to come; undefined when it is no longer, or was never, known. */
  positionAfter(revision: number): number | undefined {
    if (revision < this.oldest) return undefined;
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#entries[middle]!.revision > revision) high = middle;
      else low = middle + 1;
    }
    const next = this.#entries[low];
    return next !== undefined && leavesOut(next, revision) ? undefined : this.#start + low;
  }

  /** All clusters at a revision of the past; undefined when it is no longer known. */
  at(revision: number): ClusterCollection | undefined {
    const position = this.positionAfter(revision);
    if (position === undefined) return undefined;
    let collection = this.#collection;
    for (let index = this.end - 1; index >= position; index--) {
      const { before, after } = this.entry(index);
      if (before !== undefined) collection = collection.with(before);
      else if (after !== undefined) collection = collection.without(after.name);
    }
    return collection;
  }

  #change({ type, key, object }: Change<Cluster>, place: Omit<Entry, 'before' | 'after'>): Entry {
    const before = this.#collection.get(key);
    const after = type === 'deleted' ? undefined : this.#published(object);
    this.#collection = after === undefined ? this.#collection.without(key) : this.#collection.with(after);
    return { ...place, before, after };
  }

  #published(cluster: Cluster): PublishedCluster {
    return new PublishedCluster(cluster, this.#options.annotationPrefixes);
  }

  #append(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#entries.push(entry);
      this.#weight += weightOf(entry);
    }
    const { capacity, maxWeight = MAX_WEIGHT } = this.#options;
    // Dropped by the quarter, so that each costs little.
    if (this.#entries.length <= capacity * 1.25 && this.#weight <= maxWeight) return;
    let count = Math.max(this.#entries.length - capacity, 0);
    let weight = this.#entries.slice(0, count).reduce((sum, entry) => sum - weightOf(entry), this.#weight);
    while (weight > maxWeight * 0.75 && count < this.#entries.length) weight -= weightOf(this.#entries[count++]);
    if (count === 0) return;
    const dropped = this.#entries.splice(0, count);
    this.#weight = weight;
    this.#start += dropped.length;
    this.#oldest = dropped.at(-1)!.revision;
  }

  /** Nobody can go on from before now. */
  #forget(): void {
    this.#start = this.end + 1;
    this.#entries = [];
    this.#weight = 0;
    this.#oldest = this.#revision;
    this.#loadedRevision = this.#revision;
  }
}

/** Whether an entry may leave out something that happened after a revision before it. */
export function leavesOut({ unknownSince, revision }: Entry, since: number): boolean {
  return unknownSince !== undefined && unknownSince < since && since < revision;
}
