// The object store: all objects, one revision counter, recent history, and notifications of changes.
// Reads and writes are synchronous; a response must wait for `whenDurable`.

import type { KubeObject, ObjectMeta } from '../../src/kubernetes/object.ts';
import { EventLog } from './event-log.ts';
import type { Journal, JournalEntry } from './journal.ts';

/** An object in the store, with the metadata that the server has set. */
export interface StoredObject extends KubeObject {
  readonly metadata: ObjectMeta & Required<Pick<ObjectMeta, 'name' | 'uid' | 'resourceVersion' | 'creationTimestamp'>>;
}

/** A write to the store, kept for watches and for lists at old revisions. */
export interface Change {
  readonly revision: number;
  readonly resource: string;
  readonly key: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** New state; for a deletion the last state, with the revision of the deletion. */
  readonly object: StoredObject;
  /** State before the change; absent for a new object. */
  readonly previous?: StoredObject;
}

type Listener = (change: Change) => void;
type Report = (error: unknown) => void;

/** Argument of `subscribe` for all resources. */
export const ALL_RESOURCES = '*';

/** Maximum number of changes in the history. */
const HISTORY_CHANGES = 20_000;
/** Approximate maximum length of the JSON of the changes in the history, in characters. */
const HISTORY_LENGTH = 64 * 1024 * 1024;

export class ObjectStore {
  readonly #journal: Journal;
  readonly #report: Report;
  readonly #collections = new Map<string, Collection>();
  readonly #history: EventLog<Change>;
  readonly #listeners = new Map<string, Set<Listener>>();
  #revision: number;
  #durableRevision: number;
  /** Writes of this turn of the event loop, which are not on disk yet. */
  #batch: Change[] = [];
  /** Length of the JSON written since the revision `#mark`, in characters. */
  #written = 0;
  #mark: number;
  #commit: Promise<void> | undefined;
  /** True if the last commit failed. */
  #isFailing = false;
  readonly #undoListeners = new Set<() => void>();

  /** Loads all objects of the journal. `report` receives the first error of a series of failed commits, and errors of listeners. */
  constructor(journal: Journal, report: Report) {
    this.#journal = journal;
    this.#report = report;
    this.#revision = journal.revision;
    this.#durableRevision = journal.revision;
    this.#mark = journal.revision;
    this.#history = new EventLog<Change>({ start: journal.revision, capacity: HISTORY_CHANGES });
    for (const { resource, key, object } of journal.load()) this.#collection(resource).set(key, object as StoredObject);
  }

  /** Revision of the last write. */
  get revision(): number {
    return this.#revision;
  }

  /** Revision of the last write that is on disk and was sent to listeners. */
  get durableRevision(): number {
    return this.#durableRevision;
  }

  /** Oldest revision for `listAt` and `since`. */
  get oldest(): number {
    return this.#history.start;
  }

  get(resource: string, key: string): StoredObject | undefined {
    return this.#collection(resource).get(key);
  }

  /** Returns the objects of one namespace, or of all namespaces, in the order of their keys. */
  list(resource: string, namespace?: string): readonly StoredObject[] {
    const collection = this.#collection(resource);
    return collection.keys(namespace).map((key) => collection.get(key) as StoredObject);
  }

  /** Returns the objects at `revision`; undefined if the history starts later. */
  listAt(resource: string, revision: number, namespace?: string): readonly StoredObject[] | undefined {
    const changes = this.since(resource, revision);
    if (changes === undefined) return undefined;
    if (changes.length === 0) return this.list(resource, namespace);
    const past = new Collection();
    for (const [key, object] of this.#collection(resource).entries()) past.set(key, object);
    for (const { key, previous } of changes.toReversed()) {
      if (previous === undefined) past.delete(key);
      else past.set(key, previous);
    }
    return past.keys(namespace).map((key) => past.get(key) as StoredObject);
  }

  /** Returns the resources that were read or written, including resources without objects. */
  resources(): readonly string[] {
    return [...this.#collections.keys()];
  }

  /** Returns the changes to a resource after `revision`; undefined if the history starts later. */
  since(resource: string, revision: number): readonly Change[] | undefined {
    const changes = this.#history.since(revision);
    return changes === 'expired' ? undefined : changes.filter((change) => change.resource === resource);
  }

  /** Creates or replaces an object, which must have a name and a uid; returns it with its new resourceVersion. */
  put(resource: string, key: string, object: KubeObject): StoredObject {
    const previous = this.get(resource, key);
    const stored = this.#withNextRevision(object);
    this.#collection(resource).set(key, stored);
    this.#record({
      revision: this.#revision,
      resource,
      key,
      type: previous ? 'MODIFIED' : 'ADDED',
      object: stored,
      ...(previous && { previous }),
    });
    return stored;
  }

  /** Removes an object. Returns its last state with the revision of the removal; undefined if it does not exist. */
  remove(resource: string, key: string): StoredObject | undefined {
    const previous = this.get(resource, key);
    if (previous === undefined) return undefined;
    const last = this.#withNextRevision(previous);
    this.#collection(resource).delete(key);
    this.#record({ revision: this.#revision, resource, key, type: 'DELETED', object: last, previous });
    return last;
  }

  /** True if all writes are on disk. */
  get isDurable(): boolean {
    return this.#commit === undefined;
  }

  /** Resolves when all writes are on disk. Rejects if their commit failed and they were undone. */
  async whenDurable(): Promise<void> {
    await this.#commit;
  }

  /** Calls `listener` after a failed commit, when its writes have been undone. */
  onUndone(listener: () => void): () => void {
    this.#undoListeners.add(listener);
    return () => void this.#undoListeners.delete(listener);
  }

  /** Calls `listener` for every change to `resource` (to any resource for ALL_RESOURCES), in order and after the commit. */
  subscribe(resource: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(resource) ?? new Set();
    this.#listeners.set(resource, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  /** Closes the journal after the commit of all writes, including those of listeners. */
  async close(): Promise<void> {
    while (this.#commit !== undefined) await this.#commit.catch(() => {});
    this.#journal.close();
  }

  #collection(resource: string): Collection {
    let collection = this.#collections.get(resource);
    if (collection === undefined) this.#collections.set(resource, (collection = new Collection()));
    return collection;
  }

  #withNextRevision(object: KubeObject): StoredObject {
    this.#revision += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } } as StoredObject;
  }

  #record(change: Change): void {
    this.#batch.push(change);
    this.#history.append(change);
    this.#commit ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        this.#commit = undefined;
        try {
          this.#flush();
          resolve();
        } catch (error) {
          reject(error);
        }
      });
    });
    // Callers of `whenDurable` handle a failed commit; without callers, it must not become an unhandled rejection.
    this.#commit.catch(() => {});
  }

  /** Commits all writes of a turn in one transaction, then notifies listeners. */
  #flush(): void {
    const batch = this.#batch;
    this.#batch = [];
    try {
      this.#written += this.#journal.commit(this.#revision, batch.map(toJournalEntry));
    } catch (error) {
      this.#undo(batch);
      if (!this.#isFailing) this.#report(error);
      this.#isFailing = true;
      throw error;
    }
    this.#isFailing = false;
    for (const change of batch) {
      this.#durableRevision = change.revision;
      this.#notify(change.resource, change);
      this.#notify(ALL_RESOURCES, change);
    }
    if (this.#written > HISTORY_LENGTH / 2) this.#dropHistory();
  }

  /** Undoes writes that are not on disk. No response and no event contained them. */
  #undo(batch: readonly Change[]): void {
    for (const { resource, key, previous } of batch.toReversed()) {
      if (previous === undefined) this.#collection(resource).delete(key);
      else this.#collection(resource).set(key, previous);
    }
    this.#revision = this.#durableRevision;
    this.#history.undo(this.#durableRevision);
    this.#undoListeners.forEach((listener) => listener());
  }

  /** Drops the older half of the history. */
  #dropHistory(): void {
    this.#history.dropUntil(this.#mark);
    this.#mark = this.#durableRevision;
    this.#written = 0;
  }

  /** Calls listeners. An error in one must not affect the others or the commit. */
  #notify(resource: string, change: Change): void {
    for (const listener of this.#listeners.get(resource) ?? []) {
      try {
        listener(change);
      } catch (error) {
        this.#report(error);
      }
    }
  }
}

function toJournalEntry({ resource, key, type, object }: Change): JournalEntry {
  return type === 'DELETED' ? { resource, key } : { resource, key, object };
}

/** Objects by key: `namespace/name`, or `name` for cluster-scoped kinds. Lists have the byte order of keys, as in etcd. */
class Collection {
  readonly #objects = new Map<string, StoredObject>();
  /** Sorted keys; undefined if they must be sorted again. */
  #sorted: string[] | undefined = [];

  get(key: string): StoredObject | undefined {
    return this.#objects.get(key);
  }

  set(key: string, object: StoredObject): void {
    if (!this.#objects.has(key)) this.#sorted?.splice(findLowerBound(this.#sorted, key), 0, key);
    this.#objects.set(key, object);
  }

  delete(key: string): void {
    if (this.#objects.delete(key)) this.#sorted = undefined;
  }

  entries(): IterableIterator<[string, StoredObject]> {
    return this.#objects.entries();
  }

  /** Returns the sorted keys of one namespace, or of all namespaces. */
  keys(namespace?: string): readonly string[] {
    this.#sorted ??= [...this.#objects.keys()].sort(compareKeys);
    if (namespace === undefined) return this.#sorted;
    const prefix = `${namespace}/`;
    const from = findLowerBound(this.#sorted, prefix);
    // '0' is the character after '/': `namespace0` is greater than all keys of the namespace.
    return this.#sorted.slice(from, findLowerBound(this.#sorted, `${namespace}0`));
  }
}

/** Returns the index of the first element that is not less than `key`. */
function findLowerBound(sorted: readonly string[], key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(sorted[middle] as string, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Compares keys by UTF-16 code units: the same order as by UTF-8 bytes, unless a key contains surrogate pairs. */
function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
