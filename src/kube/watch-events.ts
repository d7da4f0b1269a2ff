// The lines of a watch as events. A line that cannot be read breaks the watch: skipping it would lose a change for good.

import type { ApiObject } from '../api/resources.ts';
import { eventError } from './response.ts';

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly endsInitialEvents: boolean };

/** Decodes a watch. Throws StatusError for an ERROR event, and `BrokenWatchError` for anything that is no event. */
export async function* decodeWatch<T extends ApiObject>(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent<T>> {
  for await (const line of lines(chunks)) yield decodeEvent(line);
}

/** A watch that carried something else than whole events. Never quotes it: it may be a Secret. */
export class BrokenWatchError extends Error {
  override readonly name = 'BrokenWatchError';
}

const NEWLINE = 0x0a;
/** An order of magnitude above what etcd stores. */
const MAX_EVENT_BYTES = 16 << 20;

async function* lines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = Buffer.concat([...pending, chunk.subarray(start, end)]).toString('utf8');
      pending = [];
      pendingBytes = 0;
      start = end + 1;
      yield line;
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > MAX_EVENT_BYTES) throw new BrokenWatchError(`an event is longer than ${MAX_EVENT_BYTES} bytes`);
  }
  if (pendingBytes > 0) throw new BrokenWatchError('the watch ended within an event');
}

function decodeEvent<T extends ApiObject>(line: string): WatchEvent<T> {
  const { type, object } = parseEvent<T>(line) ?? {};
  if (type === 'ERROR') throw eventError(object);
  const metadata = object?.metadata;
  if (!object || !metadata?.resourceVersion) throw new BrokenWatchError('an event of the watch has no resourceVersion');
  if (type === 'BOOKMARK') return { type, resourceVersion: metadata.resourceVersion, endsInitialEvents: endsInitialEvents(object) };
  if (!isChange(type)) throw new BrokenWatchError('the watch has an event of an unknown type');
  if (!metadata.name) throw new BrokenWatchError('an event of the watch has no name');
  return { type, object };
}

function isChange(type: unknown): type is 'ADDED' | 'MODIFIED' | 'DELETED' {
  return type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED';
}

function endsInitialEvents({ metadata }: ApiObject): boolean {
  return metadata.annotations?.['k8s.io/initial-events-end'] === 'true';
}

interface RawEvent<T> {
  readonly type?: unknown;
  readonly object?: T | null;
}

function parseEvent<T>(line: string): RawEvent<T> | null {
  try {
    return JSON.parse(line);
  } catch {
    throw new BrokenWatchError('a line of the watch is not JSON');
  }
}
