// The watches of this replica. A watcher has a position in the log, the visibility of its caller, selectors and a writer.

import type { Visibility } from '../../access/visibility.ts';
import { expired, type Status } from '../../kubernetes/status.ts';
import type { Clock } from '../../std/clock.ts';
import { type BodyStream, Chunk, type StreamSource } from '../body-stream.ts';
import type { EventWriter, UnreadEvents } from '../limits/unread-events.ts';
import type { Collection, Item } from './collection.ts';
import { type EventFilter, type EventForm, type EventLines, encodeErrorLine, type ItemEvent, Replay, readLog } from './events.ts';
import type { History } from './history.ts';
import { type FacadeVersion, formatFacadeVersion, formatFacadeVersionAt } from './version.ts';

export interface WatcherOptions {
  readonly history: History;
  readonly stream: BodyStream;
  readonly tenant: string;
  readonly unread: UnreadEvents;
  readonly form: EventForm;
  readonly sendsBookmarks: boolean;
  /** Returns the current version for the caller. */
  readonly currentVersion: (visibility: Visibility) => FacadeVersion;
  /** Returns true if the item matches the namespace and the selectors of the watch. */
  readonly selects: (item: Item) => boolean;
  /** Text that is equal for watchers with the same namespace and selectors. */
  readonly selectionKey: string;
  /** Called once, at the end of the watch. */
  readonly onEnd: () => void;
}

/** State of a watch at its start. */
export interface WatchStart {
  readonly visibility: Visibility;
  /** Position of the first entry that the caller does not have. */
  readonly position: number;
  /** Revision from which the caller resumes, if this replica has not reached it; otherwise 0. */
  readonly ahead: number;
  readonly replay: Replay | undefined;
}

/**
 * Pieces of the log that are encoded in one round of writes, by visibility, then by position and selection. Watchers with the same
 * visibility, position and selection share a piece.
 */
type SharedPieces = Map<Visibility, Map<string, SharedPiece>>;

interface SharedPiece extends Pick<EventLines, 'next'> {
  readonly chunk: Chunk | undefined;
}

/** Time after which writing to all watches pauses for other requests, in milliseconds. */
const SLICE_MS = 10;

/** All watches of a list. Changes within one turn of the event loop are written to each watch together. */
export class Watchers {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #watchers = new Set<Watcher>();
  /** True from a change until it has been written to all watches. */
  #isWriting = false;
  /** True if the log has advanced since the round of writes began. */
  #isBehind = false;
  #isClosed = false;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#watchers.size;
  }

  add(watcher: Watcher): void {
    this.#watchers.add(watcher);
    if (this.#isClosed) watcher.expire();
  }

  /** Ends all watches with 410, including those that are added later. */
  close(): void {
    this.#isClosed = true;
    for (const watcher of this.#watchers) watcher.expire();
  }

  delete(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  /** Schedules a round of writes to all watchers. Called when the log has advanced. */
  wake(): void {
    this.#isBehind = true;
    if (this.#isWriting || this.#watchers.size === 0) return;
    this.#isWriting = true;
    setImmediate(() => this.#writeRound());
  }

  #writeRound(): void {
    this.#isBehind = false;
    this.#writeSlice(this.#watchers.values(), new Map());
  }

  #writeSlice(watchers: Iterator<Watcher>, shared: SharedPieces): void {
    const until = this.#clock.monotonic() + SLICE_MS;
    for (let next = watchers.next(); next.done !== true; next = watchers.next()) {
      next.value.pump(shared);
      if (this.#clock.monotonic() <= until) continue;
      setImmediate(() => this.#writeSlice(watchers, shared));
      return;
    }
    if (this.#isBehind) setImmediate(() => this.#writeRound());
    else this.#isWriting = false;
  }
}

export class Watcher implements StreamSource, EventWriter {
  readonly #options: WatcherOptions;
  #visibility: Visibility;
  #position: number;
  #ahead: number;
  #replay: Replay | undefined;
  /** Revision that the caller can resume from. */
  #sentRevision: number;
  #isOver = false;

  constructor(options: WatcherOptions, start: WatchStart) {
    this.#options = options;
    this.#visibility = start.visibility;
    this.#position = start.position;
    this.#ahead = start.ahead;
    this.#replay = start.replay;
    this.#sentRevision = options.history.revision;
  }

  get tenant(): string {
    return this.#options.tenant;
  }

  /** Writes pending events until the stream is blocked, or too many events are unread. */
  pump(shared: SharedPieces = new Map()): void {
    const { history, stream, unread } = this.#options;
    if (!stream.isBlocked) unread.remove(this);
    // A caller who sees no object gets no event, so dropped entries do not affect the watch.
    if (this.#visibility.isNothing) this.#position = history.end;
    while (!this.#isOver) {
      if (this.#position < history.start) return this.expire();
      if (stream.isBlocked || !this.#hasEvents || !unread.admit(this)) return;
      const written = stream.written;
      if (this.#replay !== undefined) this.#writeReplay(this.#replay);
      else this.#writeLog(shared);
      if (stream.isBlocked) unread.add(this, stream.written - written);
    }
  }

  /** Changes the visibility. Sends DELETED for objects that become hidden, and ADDED for those that become visible. */
  setVisibility(now: Visibility): void {
    this.pump();
    if (this.#isOver) return;
    // A client that lags behind must list again: the events below assume that the client has the current objects.
    if (this.#isBehind) return this.expire();
    const { history, sendsBookmarks, currentVersion } = this.#options;
    const events = compareVisibility(history.collection, this.#visibility, now);
    this.#visibility = now;
    this.#replay = new Replay({ events, isInitial: false, version: currentVersion(now), hasBookmark: sendsBookmarks });
    this.pump();
  }

  /**
   * Sends a bookmark if the watch has bookmarks, the caller may see any object, no event is pending, and the log has reached a later
   * revision than the caller can resume from.
   */
  sendBookmark(): void {
    const { history, sendsBookmarks, form, stream, currentVersion } = this.#options;
    if (this.#isOver || !sendsBookmarks || this.#isBehind || stream.isBlocked || history.revision <= this.#sentRevision) return;
    if (this.#visibility.isNothing) return;
    this.#sentRevision = history.revision;
    this.#write([form.toBookmarkLine(formatFacadeVersion(currentVersion(this.#visibility)), false)]);
  }

  /** Ends the watch with 410, so that the caller lists again. */
  expire(): void {
    const { history } = this.#options;
    const [from, oldest] = [this.#sentRevision, history.oldest].map((revision) => formatFacadeVersionAt(revision, this.#visibility));
    this.fail(expired(`too old resource version: ${from} (${oldest})`).status);
  }

  /** Ends the watch with an ERROR event. */
  fail(status: Status): void {
    if (this.#isOver) return;
    this.#write([encodeErrorLine(status)]);
    this.end();
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.unread.leave(this);
    this.#replay?.end();
    this.#options.stream.end();
    this.#options.onEnd();
  }

  /** Closes the connection or the HTTP/2 stream of a client that does not read. */
  destroy(): void {
    this.#options.stream.destroy();
  }

  get #hasEvents(): boolean {
    return this.#replay !== undefined || this.#position < this.#options.history.end;
  }

  /** True if events are pending, or the caller has a later revision than this replica. */
  get #isBehind(): boolean {
    return this.#hasEvents || this.#ahead > this.#options.history.revision;
  }

  #writeReplay(replay: Replay): void {
    const { lines, isLast } = replay.nextPiece(this.#filter);
    this.#write(lines);
    if (!isLast) return;
    this.#replay = undefined;
    replay.end();
  }

  #writeLog(shared: SharedPieces): void {
    const piece = this.#options.form.isShared && this.#ahead === 0 ? this.#sharedPiece(shared) : this.#ownPiece();
    if (piece === 'expired') return this.expire();
    this.#position = piece.next;
    if (this.#ahead <= this.#options.history.revision) this.#ahead = 0;
    if (piece.chunk === undefined) return;
    this.#sentRevision = this.#options.history.getEntry(piece.next - 1)?.revision ?? this.#sentRevision;
    this.#options.stream.write(piece.chunk);
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
    const piece = readLog(this.#options.history, this.#position, this.#filter, this.#ahead);
    if (piece === 'expired') return piece;
    return { next: piece.next, chunk: piece.lines.length === 0 ? undefined : new Chunk(piece.lines) };
  }

  get #filter(): EventFilter {
    const { selects, form } = this.#options;
    return { visibility: this.#visibility, selects, form };
  }

  #write(lines: readonly Buffer[]): void {
    if (lines.length > 0) this.#options.stream.writeLines(lines);
  }
}

/** Yields DELETED events for the objects that become hidden, then ADDED events for those that become visible. */
function* compareVisibility(collection: Collection, before: Visibility, now: Visibility): Generator<ItemEvent> {
  for (const item of collection.findVisible(before)) if (!now.includesObject(item)) yield { type: 'DELETED', item };
  for (const item of collection.findVisible(now)) if (!before.includesObject(item)) yield { type: 'ADDED', item };
}
