// One watch: a position in the log, what its caller may see and selects, and where its lines go.

import { formatVersion } from '../../access/facade-version.ts';
import type { Visibility } from '../../access/visibility.ts';
import { expired, type Status } from '../../kubernetes/status.ts';
import type { ClusterCollection } from './cluster-collection.ts';
import { type EventForm, errorLine } from './event-form.ts';
import { type Audience, type Happening, logPiece, type Piece, Replay } from './event-pieces.ts';
import type { ClusterHistory } from './history.ts';
import type { PublishedCluster } from './published.ts';
import { seenBy } from './seen.ts';
import { Chunk, type StreamWriter } from './stream-writer.ts';

export interface WatcherOptions {
  readonly history: ClusterHistory;
  readonly writer: StreamWriter;
  readonly form: EventForm;
  readonly bookmarks: boolean;
  readonly selects: (cluster: PublishedCluster) => boolean;
  /** Watchers that select the same have the same. */
  readonly selectionKey: string;
  /** Called when the initial events have been written, if there are any. */
  readonly onReplayed: () => void;
  /** Called once, when nothing more will be written. */
  readonly onEnd: () => void;
}

/** Where a watch begins. */
export interface Start {
  readonly visibility: Visibility;
  /** The first entry of the log that is not known to the watcher. */
  readonly position: number;
  /** The version that the watcher knows, if it lies in the future; else 0. */
  readonly ahead: number;
  readonly replay: Replay | undefined;
}

/** Pieces that others at the same position have been sent in this round, by visibility. */
export type SharedPieces = Map<Visibility, Map<string, SharedPiece>>;

interface SharedPiece extends Pick<Piece, 'next'> {
  readonly chunk: Chunk | undefined;
}

export class Watcher {
  readonly #options: WatcherOptions;
  #visibility: Visibility;
  #position: number;
  #ahead: number;
  #replay: Replay | undefined;
  /** The version that the caller could go on from. */
  #toldRevision: number;
  #isOver = false;

  constructor(options: WatcherOptions, start: Start) {
    this.#options = options;
    this.#visibility = start.visibility;
    this.#position = start.position;
    this.#ahead = start.ahead;
    this.#replay = start.replay;
    this.#toldRevision = options.history.revision;
  }

  /** Writes what there is to write, as far as the reader takes it. */
  pump(shared: SharedPieces = new Map()): void {
    // Nothing in the log concerns a caller who sees no cluster, so that nothing can be missed either.
    if (this.#visibility.isNothing) this.#position = this.#options.history.end;
    while (!this.#isOver) {
      if (this.#position < this.#options.history.start) return this.expire();
      if (this.#options.writer.isBlocked) return;
      if (this.#replay !== undefined) this.#writeReplay(this.#replay);
      else if (this.#position < this.#options.history.end) this.#writeLog(shared);
      else return;
    }
  }

  /** Takes away what the caller may no longer see, and shows what it may see now. */
  setVisibility(now: Visibility): void {
    this.pump();
    if (this.#isOver) return;
    // Of a reader that lags behind it is not known what it has seen: it has to list again.
    if (this.#isBehind) return this.expire();
    const { history } = this.#options;
    const happenings = differences(history.collection, this.#visibility, now);
    this.#visibility = now;
    this.#replay = new Replay({ happenings, revision: history.revision, bookmark: this.#options.bookmarks ? 'plain' : undefined });
    this.pump();
  }

  /** Tells how far the caller has come, if that is news. */
  bookmark(): void {
    const { history, bookmarks, form, writer } = this.#options;
    const revision = history.revisionFor(this.#visibility);
    if (this.#isOver || !bookmarks || this.#isBehind || writer.isBlocked || revision <= this.#toldRevision) return;
    this.#toldRevision = revision;
    this.#write([form.bookmark(formatVersion(revision, this.#visibility.fingerprint), false)]);
  }

  /** Ends with 410: the caller has to list again. */
  expire(): void {
    const { fingerprint } = this.#visibility;
    const { history } = this.#options;
    const [from, oldest] = [this.#toldRevision, history.oldest].map((revision) => formatVersion(revision, fingerprint));
    this.fail(expired(`too old resource version: ${from} (${oldest})`).status);
  }

  /** Ends with an error. */
  fail(status: Status): void {
    if (this.#isOver) return;
    this.#write([errorLine(status)]);
    this.end();
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.writer.end();
    this.#options.onEnd();
  }

  /** Whether something is still to be written, or known to the caller and not to us. */
  get #isBehind(): boolean {
    const { history } = this.#options;
    return this.#replay !== undefined || this.#position < history.end || this.#ahead > history.revision;
  }

  #writeReplay(replay: Replay): void {
    const { lines, isLast } = replay.piece(this.#audience);
    if (isLast) this.#replay = undefined;
    this.#write(lines);
    if (isLast) this.#options.onReplayed();
  }

  #writeLog(shared: SharedPieces): void {
    const piece = this.#options.form.isShared && this.#ahead === 0 ? this.#sharedPiece(shared) : this.#ownPiece();
    if (piece === 'expired') return this.expire();
    this.#position = piece.next;
    if (this.#ahead <= this.#options.history.revision) this.#ahead = 0;
    if (piece.chunk === undefined) return;
    this.#toldRevision = this.#options.history.entry(piece.next - 1)?.revision ?? this.#toldRevision;
    this.#options.writer.write(piece.chunk);
  }

  #sharedPiece(shared: SharedPieces): SharedPiece | 'expired' {
    const pieces = shared.get(this.#visibility) ?? new Map<string, SharedPiece>();
    shared.set(this.#visibility, pieces);
    const key = `${this.#position} ${this.#options.selectionKey}`;
    const piece = pieces.get(key) ?? this.#ownPiece();
    if (piece !== 'expired') pieces.set(key, piece);
    return piece;
  }

  #ownPiece(): SharedPiece | 'expired' {
    const piece = logPiece(this.#options.history, this.#position, this.#audience, this.#ahead);
    if (piece === 'expired') return piece;
    return { next: piece.next, chunk: piece.lines.length === 0 ? undefined : new Chunk(piece.lines) };
  }

  get #audience(): Audience {
    const { selects, form } = this.#options;
    return { visibility: this.#visibility, selects, form };
  }

  #write(lines: readonly Buffer[]): void {
    if (lines.length > 0) this.#options.writer.writeLines(lines);
  }
}

/** What a caller loses and gains when it sees other clusters than before. */
function* differences(collection: ClusterCollection, before: Visibility, now: Visibility): Generator<Happening> {
  for (const cluster of seenBy(collection, before)) if (!now.includes(cluster.name)) yield { type: 'DELETED', cluster };
  for (const cluster of seenBy(collection, now)) if (!before.includes(cluster.name)) yield { type: 'ADDED', cluster };
}
