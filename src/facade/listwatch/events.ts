// The events of a watch: changes from the log, or a replay of the initial objects or of the objects that become visible or hidden. If
// several events belong to one version, only the last one carries a version that callers can resume from. Initial events carry the versions
// of their objects.

import { NOT_RESUMABLE, type Visibility } from '../../access/visibility.ts';
import type { ServedKind } from '../../kubernetes/kind.ts';
import type { KubeObject } from '../../kubernetes/object.ts';
import { encodeEvent, type View } from '../../kubernetes/representation.ts';
import type { Status } from '../../kubernetes/status.ts';
import { encodeWatchEvent } from '../../kubernetes/wire/encode.ts';
import { encodeOrderedJson } from '../../kubernetes/wire/ordered-json.ts';
import { BoundedCache } from '../../std/bounded-cache.ts';
import type { Clock } from '../../std/clock.ts';
import { encodeGoJson } from '../../std/go-text.ts';
import type { Item } from './collection.ts';
import { type Entry, type History, hasGap } from './history.ts';
import { type FacadeVersion, formatFacadeVersion, formatFacadeVersionAt } from './version.ts';

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** An event without a version. */
export interface ItemEvent {
  readonly type: EventType;
  readonly item: Item;
}

/** Encoding of events. */
export interface EventForm {
  /** True if watches with the same visibility and selection get the same lines. */
  readonly isShared: boolean;
  /** Returns the line of an event, in parts. */
  toEventParts(type: EventType, item: Item, version: string): readonly Buffer[];
  toBookmarkLine(version: string, endsInitialEvents: boolean): Buffer;
}

/** Selection and encoding of the events of one watch. */
export interface EventFilter {
  readonly visibility: Visibility;
  /** Returns true if the item matches the namespace and the selectors of the watch. */
  readonly selects: (item: Item) => boolean;
  readonly form: EventForm;
}

/** Lines that are written together. */
export interface EventLines {
  readonly lines: readonly Buffer[];
  /** Position in the log after these lines. */
  readonly next: number;
}

/**
 * Size at which a piece of the event stream ends, in bytes. Pieces are written one at a time. The TLS buffer of a connection keeps the
 * memory pages of its largest write while the connection is open; most pieces fit into two pages.
 */
const PIECE_BYTES = 5 * 1024;

/** Returns the form of events with whole objects. Its lines consist of the shared bytes of the objects. */
export function createPlainForm(kind: ServedKind): EventForm {
  return {
    isShared: true,
    toEventParts: (type, item, version) => [PREFIXES[type], ...item.toParts(version), SUFFIX],
    toBookmarkLine: (version, endsInitialEvents) =>
      Buffer.from(encodeWatchEvent('BOOKMARK', encodeGoJson(createBookmark(kind, version, endsInitialEvents)))),
  };
}

/** Lines of recent events as tables or metadata. Watches in the same form share them, because the conversion of a large object is slow. */
export type ConvertedLines = BoundedCache<Buffer>;

/** Maximum number of cached lines. A line can be as long as an object. */
const MAX_CONVERTED_LINES = 16;

export function createConvertedLines(): ConvertedLines {
  return new BoundedCache(MAX_CONVERTED_LINES);
}

/** Returns the form of events with tables or with metadata. Only the first event of a watch contains the columns of the table. */
export function createConvertedForm(view: View, clock: Clock, lines: ConvertedLines): EventForm {
  let isFirst = true;
  const encode = (type: string, object: KubeObject, now: number) => {
    const text = encodeEvent(object, { ...view, now }, isFirst);
    isFirst = false;
    return Buffer.from(encodeWatchEvent(type, text));
  };
  const viewKey = JSON.stringify([view.as, view.as?.kind === 'Table' ? view.includeObject : '']);
  return {
    isShared: false,
    toEventParts: (type, item, version) => {
      // The ages in tables change once a second.
      const now = Math.floor(clock.now() / 1_000) * 1_000;
      const key = JSON.stringify([viewKey, isFirst, type, item.key, item.revision, version, now]);
      const line = lines.get(key) ?? encode(type, item.at(version), now);
      isFirst = false;
      lines.set(key, line);
      return [line];
    },
    toBookmarkLine: (version, endsInitialEvents) => encode('BOOKMARK', createBookmark(view.kind, version, endsInitialEvents), clock.now()),
  };
}

/** Returns the last line of a watch that fails. */
export function encodeErrorLine(status: Status): Buffer {
  return Buffer.from(encodeWatchEvent('ERROR', encodeOrderedJson(status)));
}

const PREFIXES: Readonly<Record<EventType, Buffer>> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
};
const SUFFIX = Buffer.from('}\n');

function createBookmark({ group, version, kind }: ServedKind, resourceVersion: string, endsInitialEvents: boolean): KubeObject {
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  return { apiVersion: `${group}/${version}`, kind, metadata: { ...(endsInitialEvents && { annotations }), resourceVersion } };
}

/**
 * Returns the next piece of the log, or 'expired' if changes after the revision `ahead` may be missing in the log. Skips events up to this
 * revision, because the caller has already received them.
 */
export function readLog(history: History, from: number, filter: EventFilter, ahead: number): EventLines | 'expired' {
  const lines = new Lines(filter);
  let held: (ItemEvent & { readonly at: number; readonly revision: number }) | undefined;
  for (let at = from; at < history.end; at++) {
    const entry = history.getEntry(at);
    if (hasGap(entry, ahead)) return 'expired';
    const event = entry.revision > ahead ? toEvent(entry, filter) : undefined;
    if (event !== undefined) {
      if (held !== undefined) lines.add(held, formatFacadeVersionAt(held.revision, { fingerprint: NOT_RESUMABLE }));
      held = { ...event, at, revision: entry.revision };
    }
    const isFull = lines.size >= PIECE_BYTES;
    if (isFull && held !== undefined && !entry.isLast) return { lines: lines.all, next: held.at };
    if (!entry.isLast) continue;
    if (held !== undefined) lines.add(held, formatFacadeVersionAt(held.revision, filter.visibility));
    held = undefined;
    if (lines.size >= PIECE_BYTES) return { lines: lines.all, next: at + 1 };
  }
  return { lines: lines.all, next: history.end };
}

/** Returns the event of a change for one watch, or undefined if the watch includes the object neither before nor after the change. */
function toEvent({ before, after }: Entry, { visibility, selects }: EventFilter): ItemEvent | undefined {
  // A change to labels can move an object to another cluster set, and so make it visible or hidden.
  const isVisible = after !== undefined && visibility.includesObject(after) && selects(after);
  const wasVisible = before !== undefined && visibility.includesObject(before) && selects(before);
  if (isVisible) return { type: wasVisible ? 'MODIFIED' : 'ADDED', item: after };
  return wasVisible ? { type: 'DELETED', item: before } : undefined;
}

export interface ReplayOptions {
  readonly events: Iterable<ItemEvent>;
  /** True for the initial events of a watch, which carry the versions of their objects, as in a list. */
  readonly isInitial: boolean;
  /** Version after all events of the replay. */
  readonly version: FacadeVersion;
  /** True if a bookmark follows the events. */
  readonly hasBookmark: boolean;
  /** Called once, when the replay has been written or its watch has ended. */
  readonly onEnd?: () => void;
}

/** Initial events, or the events of a change to the visibility, encoded piece by piece as the client reads. */
export class Replay {
  readonly #events: Iterator<ItemEvent>;
  readonly #options: ReplayOptions;
  #held: ItemEvent | undefined;

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#events = options.events[Symbol.iterator]();
  }

  /** Returns the next lines; `isLast` is true at the end of the replay. */
  nextPiece(filter: EventFilter): { readonly lines: readonly Buffer[]; readonly isLast: boolean } {
    const lines = new Lines(filter);
    for (let next = this.#events.next(); next.done !== true; next = this.#events.next()) {
      if (filter.selects(next.value.item)) {
        if (this.#held !== undefined) lines.add(this.#held, this.#formatVersion(this.#held, NOT_RESUMABLE));
        this.#held = next.value;
      }
      if (lines.size >= PIECE_BYTES) return { lines: lines.all, isLast: false };
    }
    const { version, isInitial, hasBookmark } = this.#options;
    if (this.#held !== undefined) lines.add(this.#held, this.#formatVersion(this.#held, version.fingerprint));
    if (hasBookmark) lines.addBookmark(formatFacadeVersion(version), isInitial);
    return { lines: lines.all, isLast: true };
  }

  end(): void {
    this.#options.onEnd?.();
  }

  #formatVersion({ item }: ItemEvent, fingerprint: number): string {
    const { version, isInitial } = this.#options;
    return isInitial ? formatFacadeVersionAt(item.revision, version) : formatFacadeVersion({ ...version, fingerprint });
  }
}

class Lines {
  readonly all: Buffer[] = [];
  size = 0;
  readonly #form: EventForm;

  constructor({ form }: EventFilter) {
    this.#form = form;
  }

  add({ type, item }: ItemEvent, version: string): void {
    for (const part of this.#form.toEventParts(type, item, version)) this.#push(part);
  }

  addBookmark(version: string, endsInitialEvents: boolean): void {
    this.#push(this.#form.toBookmarkLine(version, endsInitialEvents));
  }

  #push(part: Buffer): void {
    this.all.push(part);
    this.size += part.length;
  }
}
