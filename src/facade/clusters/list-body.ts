// A list on its way out: compact JSON from shared bytes, slice by slice, at the pace of its reader.

import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { RegistryGroup, Version } from '../../api/names.ts';
import type { Clock } from '../../std/clock.ts';
import { goJson } from '../../std/go-text.ts';
import { keepPace } from '../admission/pace.ts';
import type { ClusterCollection } from '../listwatch/collection.ts';
import type { ClusterPage } from '../listwatch/page.ts';
import { formatVersion } from '../listwatch/version.ts';

/** Where the list is served. */
export const SELF_LINK = '/auth/v1/clusters';

const HEAD = Buffer.from(`{"apiVersion":"${RegistryGroup}/${Version}","items":[`);
const COMMA = Buffer.from(',');
/** Small items are put together up to this size. */
const SLICE_BYTES = 128 * 1024;
/** To convert takes much longer than to write, and others wait meanwhile. */
export const CONVERTED_LENGTH = 32 * 1024;

/** The metadata of a list. */
function listMetadata(page: ClusterPage): Readonly<Record<string, unknown>> {
  return {
    continue: page.continue,
    ...(page.remaining !== undefined && { remainingItemCount: page.remaining }),
    resourceVersion: formatVersion(page.revision, page.fingerprint),
    selfLink: SELF_LINK,
  };
}

/** The slices of a list. They are made when their turn comes, so that a reader who stops holds but one of them. */
export class ListBody {
  readonly #page: ClusterPage;
  readonly #tail: Buffer;
  /** How many bytes they are together. */
  readonly length: number;

  constructor(page: ClusterPage) {
    this.#page = page;
    this.#tail = Buffer.from(`],"kind":"ClusterList","metadata":${goJson(listMetadata(page))}}\n`);
    this.length = HEAD.length + lengthOf(page) + this.#tail.length;
  }

  *[Symbol.iterator](): Generator<Buffer> {
    yield HEAD;
    yield* withoutLastComma(this.#page.whole ? blockSlices(this.#page.whole) : itemSlices(this.#page));
    yield this.#tail;
  }
}

/** Pieces of a list, put together. */
export function* joinedSlices(pieces: Iterable<string>): Generator<string> {
  let slice = '';
  for (const piece of pieces) {
    slice += piece;
    if (slice.length < CONVERTED_LENGTH) continue;
    yield slice;
    slice = '';
  }
  if (slice !== '') yield slice;
}

/** Writes all slices; closes the connection of a reader who is slower than the lowest rate. */
export async function writeSlices(slices: Slices | AsyncIterable<Buffer>, response: ServerResponse, clock: Clock): Promise<void> {
  let sent = 0;
  const stop = keepPace({ clock, sent: () => sent, onTooSlow: () => response.destroy() });
  try {
    for await (const slice of slices) {
      if (response.destroyed) return;
      if (!response.write(slice)) await drained(response);
      // If the kernel accepted all slices at once, no other request would get a turn.
      else await setImmediate();
      sent += slice.length;
    }
  } finally {
    stop();
  }
}

export type Slices = Iterable<Buffer | string>;

/** The same slices, compressed. What goes wrong with them is thrown to whoever reads. */
export function zipped(slices: Slices): AsyncIterable<Buffer> {
  return pipeline(Readable.from(slices, { highWaterMark: 1 }), createGzip({ level: 1 }), () => {});
}

/** How many bytes the items are, with commas between them. */
export function lengthOf({ whole, clusters, fingerprint }: ClusterPage): number {
  const lengths = whole
    ? whole.blocks.map(({ bytes }) => bytes.length)
    : clusters.map((cluster) => cluster.itemLength(fingerprint) + COMMA.length);
  return Math.max(lengths.reduce((sum, length) => sum + length, 0) - COMMA.length, 0);
}

function* blockSlices({ blocks }: ClusterCollection): Generator<Buffer> {
  for (const { bytes } of blocks) yield bytes;
}

function* itemSlices({ clusters, fingerprint }: ClusterPage): Generator<Buffer> {
  let parts: Buffer[] = [];
  let size = 0;
  for (const cluster of clusters) {
    for (const part of [...cluster.itemParts(fingerprint), COMMA]) {
      parts.push(part);
      size += part.length;
    }
    if (size < SLICE_BYTES) continue;
    yield Buffer.concat(parts, size);
    parts = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(parts, size);
}

function* withoutLastComma(slices: Iterable<Buffer>): Generator<Buffer> {
  let held: Buffer | undefined;
  for (const slice of slices) {
    if (held !== undefined) yield held;
    held = slice;
  }
  if (held !== undefined) yield held.subarray(0, -COMMA.length);
}

async function drained(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  response.once('drain', resolve);
  response.once('close', resolve);
  await promise;
  response.off('drain', resolve);
  response.off('close', resolve);
}
