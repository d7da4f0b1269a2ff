// Events of a watch response, which has one JSON object per line.

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: unknown;
}

/** Maximum length of an incomplete line, in characters. An object of the API is smaller. */
const MAX_LINE = 8 << 20;

/** Splits a stream of strings into lines. Keeps an incomplete last line until the next string completes it. */
export class Lines {
  #rest = '';

  /** Returns the lines that `text` completes. Throws if the incomplete last line is too long. */
  add(text: string): readonly string[] {
    const lines = text.split('\n');
    lines[0] = this.#rest + (lines[0] ?? '');
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > MAX_LINE) throw new Error('the watch sent a line that is too long');
    return lines.filter((line) => line !== '');
  }
}

const TYPES: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

/** Parses a line. Throws for anything other than a watch event. */
export function parseEvent(line: string): WatchEvent {
  const event: unknown = JSON.parse(line);
  if (typeof event !== 'object' || event === null || !('type' in event) || !TYPES.has(event.type))
    throw new Error('the watch sent an unknown event');
  return event as WatchEvent;
}

/** Returns the resourceVersion of an object or list; undefined if there is none. */
export function versionOf(object: unknown): string | undefined {
  const { metadata } = (object ?? {}) as { readonly metadata?: { readonly resourceVersion?: unknown } };
  return typeof metadata?.resourceVersion === 'string' && metadata.resourceVersion !== '' ? metadata.resourceVersion : undefined;
}
