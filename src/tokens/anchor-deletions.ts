// Deletions of anchors on several clusters. A run of a ManagedToken holds a slot of at most one cluster and requests deletions on the
// others; a run in the lane of each of those clusters sends them, and the next run of the ManagedToken acts on the results. Thus, no run
// waits for one cluster while it holds a slot of another.

import { IssueError } from '../targets/issue-error.ts';
import { type AnchorEntry, type AnchorLocation, locationKeyOf } from './policy/anchors.ts';

/** Maximum time for which a deletion waits for a slot, in milliseconds; the deletion is then treated as failed. */
export const SLOT_WAIT_MS = 60_000;

/** Thrown by a run if results of requested deletions are missing. The run that deletes the anchors triggers the ManagedToken again. */
export class AnchorsPendingError extends Error {
  override readonly name = 'AnchorsPendingError';
}

/** Key of a ManagedToken, and the lane in which its anchors are deleted. */
export interface DeletionKey {
  readonly tokenKey: string;
  readonly lane: string;
}

/** Returns the key of the runs that delete anchors of a ManagedToken in a lane. */
export function encodeDeletionKey({ tokenKey, lane }: DeletionKey): string {
  return `${tokenKey}#${lane}`;
}

/** Parses the key of a run; returns undefined for the key of a ManagedToken, which contains no `#`. */
export function parseDeletionKey(key: string): DeletionKey | undefined {
  const at = key.indexOf('#');
  return at < 0 ? undefined : { tokenKey: key.slice(0, at), lane: key.slice(at + 1) };
}

type Deletion =
  | { readonly type: 'waiting'; readonly entry: AnchorEntry; readonly lane: string; readonly requestedAt: number }
  | { readonly type: 'running'; readonly entry: AnchorEntry }
  | Result;

/** Result of a deletion; `error` is undefined if the deletion succeeded. */
interface Result {
  readonly type: 'done';
  readonly entry: AnchorEntry;
  readonly error: IssueError | undefined;
}

/** Requested deletions of one ManagedToken's anchors, and their results, by location. Times are monotonic. */
export class AnchorDeletions {
  readonly #deletions = new Map<string, Deletion>();

  /** True if a deletion waits for a slot. */
  get isWaiting(): boolean {
    return this.#deletions.values().some(({ type }) => type === 'waiting');
  }

  has(entry: AnchorLocation): boolean {
    return this.#deletions.has(locationKeyOf(entry));
  }

  /** Returns whether the deletion has neither started nor ended, so the caller may send it. */
  isFree(entry: AnchorLocation): boolean {
    const { type = 'waiting' } = this.#deletions.get(locationKeyOf(entry)) ?? {};
    return type === 'waiting';
  }

  /** Requests a deletion in a lane, unless the deletion already waits for that lane. */
  request(entry: AnchorEntry, lane: string, now: number): void {
    const known = this.#deletions.get(locationKeyOf(entry));
    if (known?.type !== 'waiting' || known.lane !== lane) this.#set({ type: 'waiting', entry, lane, requestedAt: now });
  }

  /**
   * Starts the deletions that wait for this lane and for which `isInLane` is true, and returns their entries. Drops the other deletions
   * that wait for this lane.
   */
  start(lane: string, isInLane: (entry: AnchorEntry) => boolean): readonly AnchorEntry[] {
    const waiting = [...this.#deletions.values()].filter((deletion) => deletion.type === 'waiting' && deletion.lane === lane);
    for (const { entry } of waiting) this.#deletions.delete(locationKeyOf(entry));
    const entries = waiting.map(({ entry }) => entry).filter(isInLane);
    for (const entry of entries) this.#set({ type: 'running', entry });
    return entries;
  }

  /** Starts deletions that the caller sends itself, so that no other run sends them. */
  begin(entries: readonly AnchorEntry[]): void {
    for (const entry of entries) this.#set({ type: 'running', entry });
  }

  /**
   * Records the result of a deletion; `error` is undefined if the deletion succeeded. Ignores a deletion that is not running: its result
   * could be taken for that of a later one.
   */
  finish(entry: AnchorEntry, error: IssueError | undefined): void {
    if (this.#deletions.get(locationKeyOf(entry))?.type === 'running') this.#set({ type: 'done', entry, error });
  }

  /** Drops the deletions of these entries that have started but have no result. */
  abandon(entries: readonly AnchorEntry[]): void {
    for (const entry of entries) {
      if (this.#deletions.get(locationKeyOf(entry))?.type === 'running') this.#deletions.delete(locationKeyOf(entry));
    }
  }

  /**
   * Returns the failed deletions at these locations, and forgets all results there. Throws AnchorsPendingError if a result is missing, also
   * for a deletion that was dropped: only a result proves that an anchor was deleted. A deletion that has waited for SLOT_WAIT_MS is
   * treated as failed.
   */
  takeFailures(entries: readonly AnchorEntry[], now: number): readonly { readonly entry: AnchorEntry; readonly error: IssueError }[] {
    const results = entries.map((entry) => this.#findResult(entry, now));
    for (const entry of entries) this.#deletions.delete(locationKeyOf(entry));
    return results.flatMap(({ entry, error }) => (error === undefined ? [] : [{ entry, error }]));
  }

  /** Forgets results for locations that are not in `entries`. */
  retain(entries: readonly AnchorEntry[]): void {
    const listed = new Set(entries.map(locationKeyOf));
    for (const [key, { type }] of this.#deletions) if (type === 'done' && !listed.has(key)) this.#deletions.delete(key);
  }

  #findResult(entry: AnchorEntry, now: number): Result {
    const deletion = this.#deletions.get(locationKeyOf(entry));
    if (deletion?.type === 'done') return deletion;
    if (deletion?.type !== 'waiting' || now - deletion.requestedAt < SLOT_WAIT_MS) throw new AnchorsPendingError();
    return {
      type: 'done',
      entry,
      error: new IssueError('ClusterTimeout', `no slot of the cluster was free for ${SLOT_WAIT_MS / 1_000} s`),
    };
  }

  #set(deletion: Deletion): void {
    this.#deletions.set(locationKeyOf(deletion.entry), deletion);
  }
}
