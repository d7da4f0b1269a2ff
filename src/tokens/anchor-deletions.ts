// Deletions of anchors on clusters other than the one whose slot a run holds. The run requests them, a run in the lane of each cluster
// sends them, and the next run of the ManagedToken acts on the results. So no run waits for a cluster while it holds a slot of another.

import { IssueError } from '../targets/issue-error.ts';
import { type AnchorLocation, type AnchorPlace, locationText } from './policy/anchors.ts';

/** Time after which a deletion that found no slot has failed, in milliseconds. */
export const SLOT_WAIT_MS = 60_000;

/** Thrown by a run that needs the results of requested deletions; a result triggers the ManagedToken. */
export class AnchorsPending extends Error {
  override readonly name = 'AnchorsPending';
}

/** `ManagedToken` key and lane of the runs that delete its anchors there. */
export interface DeletionKey {
  readonly tokenKey: string;
  readonly lane: string;
}

/** Returns the key of the runs that delete anchors of a ManagedToken in a lane. */
export function encodeDeletionKey({ tokenKey, lane }: DeletionKey): string {
  return `${tokenKey}#${lane}`;
}

/** Parses the key of a run; undefined for the key of a ManagedToken, whose name contains no `#`. */
export function parseDeletionKey(key: string): DeletionKey | undefined {
  const at = key.indexOf('#');
  return at < 0 ? undefined : { tokenKey: key.slice(0, at), lane: key.slice(at + 1) };
}

type Deletion =
  | { readonly type: 'waiting'; readonly place: AnchorPlace; readonly lane: string; readonly requestedAt: number }
  | { readonly type: 'running'; readonly place: AnchorPlace }
  /** `error` is undefined if the anchor was deleted. */
  | { readonly type: 'done'; readonly place: AnchorPlace; readonly error: IssueError | undefined };

/** Requested deletions of one ManagedToken and their results, by location. Times are monotonic. */
export class AnchorDeletions {
  readonly #deletions = new Map<string, Deletion>();

  /** True if a deletion waits for a slot. */
  get isWaiting(): boolean {
    return this.#deletions.values().some(({ type }) => type === 'waiting');
  }

  has(place: AnchorLocation): boolean {
    return this.#deletions.has(locationText(place));
  }

  /** Returns whether the deletion has neither started nor ended, so the caller may send it. */
  isFree(place: AnchorLocation): boolean {
    const { type = 'waiting' } = this.#deletions.get(locationText(place)) ?? {};
    return type === 'waiting';
  }

  /** Requests a deletion in a lane, unless it was requested there. */
  request(place: AnchorPlace, lane: string, now: number): void {
    const known = this.#deletions.get(locationText(place));
    if (known?.type !== 'waiting' || known.lane !== lane) this.#set({ type: 'waiting', place, lane, requestedAt: now });
  }

  /** Starts the deletions that wait for this lane and returns their locations. Those for which `isInLane` is false are dropped. */
  start(lane: string, isInLane: (place: AnchorPlace) => boolean): readonly AnchorPlace[] {
    const waiting = [...this.#deletions.values()].filter((deletion) => deletion.type === 'waiting' && deletion.lane === lane);
    for (const { place } of waiting) this.#deletions.delete(locationText(place));
    const places = waiting.map(({ place }) => place).filter(isInLane);
    for (const place of places) this.#set({ type: 'running', place });
    return places;
  }

  /** Records the result of a deletion; `error` is undefined if the anchor was deleted. */
  finish(place: AnchorPlace, error: IssueError | undefined): void {
    this.#set({ type: 'done', place, error });
  }

  /** Drops deletions that started and have no result. */
  abandon(places: readonly AnchorPlace[]): void {
    for (const place of places) {
      if (this.#deletions.get(locationText(place))?.type === 'running') this.#deletions.delete(locationText(place));
    }
  }

  /**
   * Returns and forgets the failures at these locations. Throws AnchorsPending if a result is missing; a deletion that has waited for
   * SLOT_WAIT_MS has failed.
   */
  takeFailures(places: readonly AnchorPlace[], now: number): readonly { readonly place: AnchorPlace; readonly error: IssueError }[] {
    const deletions = places.flatMap((place) => this.#deletions.get(locationText(place)) ?? []).map((each) => expired(each, now));
    if (deletions.some(({ type }) => type !== 'done')) throw new AnchorsPending();
    for (const place of places) this.#deletions.delete(locationText(place));
    return deletions.flatMap((each) =>
      each.type === 'done' && each.error !== undefined ? [{ place: each.place, error: each.error }] : [],
    );
  }

  /** Forgets results for locations that are no longer listed. */
  retain(places: readonly AnchorPlace[]): void {
    const listed = new Set(places.map(locationText));
    for (const [key, { type }] of this.#deletions) if (type === 'done' && !listed.has(key)) this.#deletions.delete(key);
  }

  #set(deletion: Deletion): void {
    this.#deletions.set(locationText(deletion.place), deletion);
  }
}

function expired(deletion: Deletion, now: number): Deletion {
  if (deletion.type !== 'waiting' || now - deletion.requestedAt < SLOT_WAIT_MS) return deletion;
  const error = new IssueError('ClusterTimeout', `no slot of the cluster was free for ${SLOT_WAIT_MS / 1_000} s`);
  return { type: 'done', place: deletion.place, error };
}
