// A list on its way out: compact JSON from shared bytes, slice by slice, at the pace of its reader.

import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { RegistryGroup, Version } from '../../api/names.ts';
import { formatVersion } from '../../domain/facade-version.ts';
import type { Clock } from '../../std/clock.ts';
import { goJson } from '../../std/go-text.ts';
import type { ClusterPage } from './page.ts';

/** Where the list is served. */
export const SELF_LINK = '/auth/v1/clusters';

const HEAD = Buffer.from(`{"apiVersion":"${RegistryGroup}/${Version}","items":[`);
const COMMA = Buffer.from(',');
/** Small items are put together up to this size. */
const SLICE_BYTES = 128 * 1024;
/** How long a reader may take for one slice. */
const STALLED_MS = 30_000;

/** The metadata of a list. */
export function listMetadata(page: ClusterPage): Readonly<Record<string, unknown>> {
  return {
    continue: page.continue,
    ...(page.remaining !== undefined && { remainingItemCount: page.remaining }),
    resourceVersion: formatVersion(page.revision, page.fingerprint),
    selfLink: SELF_LINK,
  };
}

/** The slices of a list, and how many bytes they are together. */
export class ListBody {
  readonly #items: readonly Buffer[];
  readonly #tail: Buffer;
  readonly length: number;

  constructor(page: ClusterPage) {
    this.#items = page.whole ? withoutLastComma(page.whole.blocks.map(({ bytes }) => bytes)) : itemSlices(page);
    this.#tail = Buffer.from(`],"kind":"ClusterList","metadata":${goJson(listMetadata(page))}}\n`);
    this.length = this.#items.reduce((sum, { length }) => sum + length, HEAD.length + this.#tail.length);
  }

  /** Writes it all; cuts off a reader who takes nothing for long. */
  async writeTo(response: ServerResponse, clock: Clock): Promise<void> {
    for (const slice of this) {
      if (response.destroyed) return;
      if (!response.write(slice)) await drained(response, clock);
    }
  }

  /** The same, compressed on the way. */
  async zipTo(response: ServerResponse): Promise<void> {
    await pipeline(Readable.from(this), createGzip({ level: 1 }), response).catch(() => response.destroy());
  }

  *[Symbol.iterator](): Generator<Buffer> {
    yield HEAD;
    yield* this.#items;
    yield this.#tail;
  }
}

function withoutLastComma(blocks: readonly Buffer[]): readonly Buffer[] {
  return blocks.map((bytes, index) => (index === blocks.length - 1 ? bytes.subarray(0, -COMMA.length) : bytes));
}

function itemSlices({ clusters, fingerprint }: ClusterPage): readonly Buffer[] {
  const slices: Buffer[] = [];
  let parts: Buffer[] = [];
  let size = 0;
  for (const cluster of clusters) {
    for (const part of cluster.itemParts(fingerprint)) {
      parts.push(part);
      size += part.length;
    }
    parts.push(COMMA);
    if (size < SLICE_BYTES) continue;
    slices.push(Buffer.concat(parts));
    parts = [];
    size = 0;
  }
  if (parts.length > 0) slices.push(Buffer.concat(parts));
  return withoutLastComma(slices);
}

async function drained(response: ServerResponse, clock: Clock): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.wakeAfter(STALLED_MS, () => response.destroy());
  response.once('drain', resolve);
  response.once('close', resolve);
  await promise;
  cancel();
  response.off('drain', resolve);
  response.off('close', resolve);
}
