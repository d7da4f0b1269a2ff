// The listed objects as of the latest event from the hub, and a log of their recent changes. A watcher reads the log from its own position.
// A list of an old version restores the objects that have changed since that version.

import type { Subscription } from 'rxjs';
import type { Visibility } from '../../access/visibility.ts';
import type { ApiObject } from '../../api/resources.ts';
import type { Informer } from '../../kube/informer.ts';
import type { Batch } from '../../kube/store.ts';
import { versionTooLarge } from '../../kubernetes/list-revision.ts';
import { type StatusError, serviceUnavailable } from '../../kubernetes/status.ts';
import { BoundedCache } from '../../std/bounded-cache.ts';
import type { Clock } from '../../std/clock.ts';
import { Collection, type Item } from './collection.ts';
import { formatFacadeVersionAt, parseFacadeVersion } from './version.ts';

/** A change to one object at a revision. If the hub was listed again without changes, `before` and `after` are undefined. */
export interface Entry {
  readonly revision: number;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
  /** True for the last change of its revision. */
  readonly isLast: boolean;
  /** Time of the change, on the monotonic clock. */
  readonly at: number;
  /** Revision after which intermediate changes are unknown, because the hub was listed again; undefined for a watched change. */
  readonly gapSince: number | undefined;
}

export interface HistoryOptions {
  readonly clock: Clock;
  /**
   * Number of changes to which the log is cut when it contains more than this number plus a quarter. Old changes, and changes beyond
   * `maxWeight`, are dropped earlier.
   */
  readonly capacity: number;
  /** Maximum total size of the changes in the log, in bytes; 32 MB by default. Bounds the memory that users can fill with large labels. */
  readonly maxWeight?: number;
  /**
   * True if the objects come from several collections of the hub, whose changes this replica receives in its own order. Local revisions
   * number the changes in this order: they never decrease, and differ between replicas. False by default.
   */
  readonly isLocal?: boolean;
  /** Called after every event from the hub. */
  readonly onAdvance?: () => void;
}

/** Parameters of a request that waits for a version. */
export interface VersionWait {
  readonly signal: AbortSignal;
  /** Returns the visibility of the caller. */
  readonly findVisibility: () => Promise<Visibility>;
  /** Maximum time to wait in milliseconds; 3 s by default, and never more. */
  readonly timeoutMs?: number;
}

/** The part of an informer that lists use. */
export type ListSource<T extends ApiObject> = Pick<Informer<T>, 'store' | 'batches$' | 'parts'>;

/** A batch of changes on the hub, with objects in public form; `item` is undefined for a deleted object. */
interface ItemBatch extends Pick<Batch<never>, 'type' | 'resourceVersion'> {
  readonly changes: readonly { readonly key: string; readonly item: Item | undefined }[];
}

const MAX_WEIGHT = 32e6;
/**
 * Maximum age of a change in the log, in milliseconds: the default compaction interval of kube-apiserver. A new permission also covers the
 * log: a new owner of a namespace can list objects that were recently deleted from the namespace.
 */
const MAX_AGE_MS = 300_000;
const WAIT_MS = 3_000;
/** Maximum number of restored collections that are kept. Each shares unchanged objects and blocks with the current one. */
const MAX_RESTORED_COLLECTIONS = 4;

/** Returns the error for a list whose objects this replica has not received yet. */
export function notListedYet(plural: string): StatusError {
  const remedy = "Try again; if the error persists, check Purser's log.";
  return serviceUnavailable(`Purser has not listed the ${plural} on the hub yet. ${remedy}`, 1);
}

export class History {
  readonly #options: HistoryOptions;
  readonly #waiting = new Set<() => void>();
  #collection = Collection.empty;
  #revision = 0;
  /** Oldest revision that can be restored. */
  #oldest = Number.POSITIVE_INFINITY;
  #entries: Entry[] = [];
  /** Recently restored collections by position. All pages of one list need the same position. */
  readonly #restored = new BoundedCache<Collection, number>(MAX_RESTORED_COLLECTIONS);
  /** Sum of the weights of the entries. */
  #weight = 0;
  /** Position of the first entry that is kept. */
  #start = 0;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** Follows the objects of a kind on the hub until unsubscribed. */
  follow<T extends ApiObject>({ store, batches$ }: ListSource<T>, toItem: (object: T) => Item): Subscription {
    if (store.resourceVersion !== undefined) this.load(store.list().map(toItem), Number(store.resourceVersion));
    return batches$.subscribe(({ type, resourceVersion, changes }) => {
      const items = changes.map((change) => ({ key: change.key, item: change.type === 'deleted' ? undefined : toItem(change.object) }));
      this.apply({ type, resourceVersion, changes: items });
      for (const check of this.#waiting) check();
      this.#options.onAdvance?.();
    });
  }

  /** Current objects. */
  get collection(): Collection {
    return this.#collection;
  }

  /** Revision of the collection: the hub's resourceVersion, or a local revision; 0 before the first list. */
  get revision(): number {
    return this.#revision;
  }

  /** True if revisions of this log have no meaning on other replicas. */
  get isLocal(): boolean {
    return this.#options.isLocal ?? false;
  }

  get oldest(): number {
    return Math.min(this.#oldest, this.#revision);
  }

  /** Position of the first entry that is kept. */
  get start(): number {
    return this.#start;
  }

  /** Position after the last entry. */
  get end(): number {
    return this.#start + this.#entries.length;
  }

  getEntry(position: number): Entry {
    return this.#entries[position - this.#start] as Entry;
  }

  /** Throws 503 before the first list of the hub. */
  checkSynced(plural: string): void {
    if (this.#revision === 0) throw notListedYet(plural);
  }

  /** Waits until the log reaches the revision of a version. Throws 504 with the current version after the timeout or an abort. */
  async waitFor(version: bigint, { signal, findVisibility, timeoutMs = WAIT_MS }: VersionWait): Promise<void> {
    const { revision } = parseFacadeVersion(version);
    if (revision <= this.#revision) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = () => revision <= this.#revision && resolve();
    const cancel = this.#options.clock.wakeAfter(Math.min(timeoutMs, WAIT_MS), resolve);
    signal.addEventListener('abort', () => resolve());
    this.#waiting.add(check);
    await promise;
    this.#waiting.delete(check);
    cancel();
    if (revision <= this.#revision) return;
    const visibility = await findVisibility();
    throw versionTooLarge(version, formatFacadeVersionAt(visibility.isNothing ? 1 : this.#revision, visibility));
  }

  /** Sets the objects of the hub at a revision. The log starts after this revision. */
  load(items: readonly Item[], revision: number): void {
    this.#collection = Collection.of(items);
    this.#revision = revision;
    this.#oldest = revision;
  }

  /** Applies one batch of changes. */
  apply({ type, resourceVersion, changes }: ItemBatch): void {
    const revision = this.isLocal ? this.#localRevision(Number(resourceVersion), changes.length > 0) : Number(resourceVersion);
    if (this.#oldest === Number.POSITIVE_INFINITY)
      return this.load(
        changes.flatMap(({ item }) => item ?? []),
        revision,
      );
    const gapSince = type === 'listed' ? this.#revision : undefined;
    const isOlder = revision < this.#revision;
    const at = this.#options.clock.monotonic();
    this.#revision = revision;
    const entries = changes.map(({ key, item: after }, index) => {
      const before = this.#collection.get(key);
      this.#collection = after === undefined ? this.#collection.without(key) : this.#collection.with(after);
      return { revision, at, before, after, gapSince, isLast: index === changes.length - 1 };
    });
    if (isOlder) this.#clear();
    else if (entries.length > 0) this.#append(entries);
    else if (type === 'listed') this.#append([{ revision, at, before: undefined, after: undefined, isLast: true, gapSince }]);
  }

  /** Returns a revision that is not less than the current one, and greater than it if there are changes. */
  #localRevision(revision: number, hasChanges: boolean): number {
    return Math.max(revision, this.#revision + (hasChanges ? 1 : 0));
  }

  /**
   * Returns the position of the first entry after a revision, or undefined if the log does not contain all changes after it. The revision
   * may be in the future.
   */
  findPositionAfter(revision: number): number | undefined {
    this.#expire();
    if (revision < this.oldest) return undefined;
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#entries[middle]!.revision > revision) high = middle;
      else low = middle + 1;
    }
    const next = this.#entries[low];
    return next !== undefined && hasGap(next, revision) ? undefined : this.#start + low;
  }

  /** Returns all objects as they were before the entry at a position that `findPositionAfter` returned. */
  at(position: number): Collection {
    if (position === this.end) return this.#collection;
    const restored = this.#restored.get(position) ?? this.#collection.withAll(this.#objectsBefore(position));
    this.#restored.set(position, restored);
    return restored;
  }

  /** Returns the previous state of all objects that have changed since a position, by key; undefined for an object that did not exist. */
  #objectsBefore(position: number): ReadonlyMap<string, Item | undefined> {
    const objects = new Map<string, Item | undefined>();
    for (let index = position; index < this.end; index++) {
      const { before, after } = this.getEntry(index);
      const key = (before ?? after)?.key;
      if (key !== undefined && !objects.has(key)) objects.set(key, before);
    }
    return objects;
  }

  #append(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#entries.push(entry);
      this.#weight += weightOf(entry);
    }
    const { capacity, maxWeight = MAX_WEIGHT } = this.#options;
    const isOld = entries[0]!.at - this.#entries[0]!.at > MAX_AGE_MS * 1.25;
    // Drops many entries at once, to keep the cost per entry small.
    if (this.#entries.length <= capacity * 1.25 && this.#weight <= maxWeight && !isOld) return;
    this.#expire();
    this.#drop(Math.max(this.#entries.length - capacity, 0));
    let [count, weight] = [0, this.#weight];
    while (weight > maxWeight * 0.75 && count < this.#entries.length) weight -= weightOf(this.#entries[count++]);
    this.#drop(count);
  }

  /** Drops changes that are too old. */
  #expire(): void {
    const limit = this.#options.clock.monotonic() - MAX_AGE_MS;
    const count = this.#entries.findIndex(({ at }) => at >= limit);
    this.#drop(count === -1 ? this.#entries.length : count);
  }

  /** Drops the oldest changes. */
  #drop(count: number): void {
    if (count === 0) return;
    const dropped = this.#entries.splice(0, count);
    this.#weight = dropped.reduce((sum, entry) => sum - weightOf(entry), this.#weight);
    this.#start += dropped.length;
    this.#oldest = dropped.at(-1)!.revision;
    for (const position of this.#restored.keys()) if (position < this.#start) this.#restored.delete(position);
  }

  /** Drops all entries, so that no caller can resume from an earlier revision. */
  #clear(): void {
    this.#start = this.end + 1;
    this.#entries = [];
    for (const position of this.#restored.keys()) this.#restored.delete(position);
    this.#weight = 0;
    this.#oldest = this.#revision;
  }
}

/** Returns true if changes between `since` and the revision of an entry may be missing in the log. */
export function hasGap({ gapSince, revision }: Entry, since: number): boolean {
  return gapSince !== undefined && gapSince < since && since < revision;
}

/** Returns the size of the object after a change, in bytes; 0 for a deletion. The state before the change is usually in an older entry. */
function weightOf(entry: Entry | undefined): number {
  return entry?.after?.weight ?? 0;
}
