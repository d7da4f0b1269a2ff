// Decodes the lines of a watch. An invalid line breaks the watch: skipping it would lose a change.

import { type ApiObject, isStored, type Resource, STORED_FIELDS, type Stored } from '../api/resources.ts';
import { toWatchEventError } from './response.ts';

export type WatchEvent<T extends ApiObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: Stored<T> }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly endsInitialEvents: boolean };

/** Decodes a watch. Throws StatusError for an ERROR event, and BrokenWatchError for an invalid line. */
export async function* decodeWatch<T extends ApiObject>(
  resource: Resource<T>,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<WatchEvent<T>> {
  for await (const line of splitLines(chunks)) yield decodeEvent(resource, line);
}

/** Error for a watch that has invalid data or ended too early. The message never quotes the data, which may contain a Secret. */
export class BrokenWatchError extends Error {
  override readonly name = 'BrokenWatchError';
}

const NEWLINE = 0x0a;
/** Maximum length of an event, in bytes: about ten times the maximum size of an object in etcd. */
const MAX_EVENT_BYTES = 16 << 20;

async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
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
    if (pendingBytes > MAX_EVENT_BYTES) throw new BrokenWatchError(`a watch event is longer than ${MAX_EVENT_BYTES} bytes`);
  }
  if (pendingBytes > 0) throw new BrokenWatchError('the watch ended in the middle of an event');
}

function decodeEvent<T extends ApiObject>(resource: Resource<T>, line: string): WatchEvent<T> {
  const { type, object } = parseEvent<T>(line) ?? {};
  if (type === 'ERROR') throw toWatchEventError(object);
  if (type === 'BOOKMARK') return decodeBookmark(object);
  if (!isChange(type)) throw new BrokenWatchError('a watch event has an unknown type');
  if (!isStored(resource, object)) throw new BrokenWatchError(`a watch event has no object with ${STORED_FIELDS}`);
  return { type, object };
}

function decodeBookmark(object: ApiObject | null | undefined): WatchEvent<never> {
  const resourceVersion = object?.metadata?.resourceVersion;
  if (!object || !resourceVersion) throw new BrokenWatchError('a bookmark has no resourceVersion');
  return { type: 'BOOKMARK', resourceVersion, endsInitialEvents: endsInitialEvents(object) };
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
