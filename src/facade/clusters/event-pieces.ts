// What a watcher is sent next: a piece of the log, or of a replay of clusters that it comes to see or loses at once.
// Of several events that belong to one version only the last one carries it; nobody can go on from those before.

import { formatVersion, NOT_RESUMABLE } from '../../access/facade-version.ts';
import type { Visibility } from '../../access/visibility.ts';
import type { EventForm, EventType } from './event-form.ts';
import { type ClusterHistory, type Entry, leavesOut } from './history.ts';
import type { PublishedCluster } from './published.ts';

/** Which events are sent, and how. */
export interface Audience {
  readonly visibility: Visibility;
  /** Whether the caller's selectors match. */
  readonly selects: (cluster: PublishedCluster) => boolean;
  readonly form: EventForm;
}

/** Lines that are written together. */
export interface Piece {
  readonly lines: readonly Buffer[];
  /** The position in the log that they lead up to. */
  readonly next: number;
}

/** An event without a version. */
export interface Happening {
  readonly type: EventType;
  readonly cluster: PublishedCluster;
}

/**
 * Size from which on a piece ends, in bytes; each is written when the one before has left. The pages of a connection's TLS buffer
 * that its largest write fills stay in memory for as long as the connection is open. Most pieces fit into two pages.
 */
const PIECE_BYTES = 5 * 1024;

/** What follows in the log, or 'expired' when some of it is not known. Versions up to `ahead` are known to the watcher already. */
export function logPiece(history: ClusterHistory, from: number, audience: Audience, ahead: number): Piece | 'expired' {
  const lines = new Lines(audience);
  let held: (Happening & { readonly at: number; readonly revision: number }) | undefined;
  for (let at = from; at < history.end; at++) {
    const entry = history.entry(at);
    if (leavesOut(entry, ahead)) return 'expired';
    const happening = entry.revision > ahead ? happeningOf(entry, audience) : undefined;
    if (happening !== undefined) {
      if (held !== undefined) lines.add(held, formatVersion(held.revision, NOT_RESUMABLE));
      held = { ...happening, at, revision: entry.revision };
    }
    const isFull = lines.size >= PIECE_BYTES;
    if (isFull && held !== undefined && !entry.isLast) return { lines: lines.all, next: held.at };
    if (!entry.isLast) continue;
    if (held !== undefined) lines.add(held, formatVersion(held.revision, audience.visibility.fingerprint));
    held = undefined;
    if (lines.size >= PIECE_BYTES) return { lines: lines.all, next: at + 1 };
  }
  return { lines: lines.all, next: history.end };
}

/** Of a change that an audience saw before, sees now, both, or neither. */
function happeningOf({ before, after }: Entry, { visibility, selects }: Audience): Happening | undefined {
  const name = (after ?? before)?.name;
  if (name === undefined || !visibility.sees(name)) return undefined;
  const isSeen = after !== undefined && selects(after);
  const wasSeen = before !== undefined && selects(before);
  if (isSeen) return { type: wasSeen ? 'MODIFIED' : 'ADDED', cluster: after };
  return wasSeen ? { type: 'DELETED', cluster: before } : undefined;
}

export interface ReplayOptions {
  readonly happenings: Iterable<Happening>;
  /** The version that all of them together lead up to. */
  readonly revision: number;
  /** The bookmark behind them, if one is wanted. */
  readonly bookmark: 'initial' | 'plain' | undefined;
}

/** Many events that stand for one version, written at the pace of their reader. */
export class Replay {
  readonly #happenings: Iterator<Happening>;
  readonly #options: ReplayOptions;
  #held: Happening | undefined;

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#happenings = options.happenings[Symbol.iterator]();
  }

  /** The next lines, and whether they are the last ones. */
  piece(audience: Audience): { readonly lines: readonly Buffer[]; readonly isLast: boolean } {
    const lines = new Lines(audience);
    for (let next = this.#happenings.next(); next.done !== true; next = this.#happenings.next()) {
      if (audience.selects(next.value.cluster)) {
        if (this.#held !== undefined) lines.add(this.#held, this.#onTheWay(this.#held));
        this.#held = next.value;
      }
      if (lines.size >= PIECE_BYTES) return { lines: lines.all, isLast: false };
    }
    const { revision, bookmark } = this.#options;
    const version = formatVersion(revision, audience.visibility.fingerprint);
    if (this.#held !== undefined) lines.add(this.#held, version);
    if (bookmark !== undefined) lines.addBookmark(version, bookmark === 'initial');
    return { lines: lines.all, isLast: true };
  }

  #onTheWay({ type, cluster }: Happening): string {
    return formatVersion(type === 'DELETED' ? this.#options.revision : cluster.revision, NOT_RESUMABLE);
  }
}

class Lines {
  readonly all: Buffer[] = [];
  size = 0;
  readonly #form: EventForm;

  constructor({ form }: Audience) {
    this.#form = form;
  }

  add({ type, cluster }: Happening, version: string): void {
    for (const part of this.#form.event(type, cluster, version)) this.#push(part);
  }

  addBookmark(version: string, endsInitialEvents: boolean): void {
    this.#push(this.#form.bookmark(version, endsInitialEvents));
  }

  #push(part: Buffer): void {
    this.all.push(part);
    this.size += part.length;
  }
}
