// Lower bound for a restart: lists collections in pages, all of them in parallel, parses them and keeps nothing, as a separate process.
// Reads its job from the file in its first argument, and sends the elapsed time and the number of objects to its parent.

import { readFile } from 'node:fs/promises';
import { Pool } from 'undici';
import type { BareServer } from './bare-loop-process.ts';

export interface BareListJob {
  readonly hub: BareServer;
  /** Paths of the collections, each with a query. */
  readonly paths: readonly string[];
}

export interface BareListResult {
  readonly seconds: number;
  readonly objects: number;
}

/** Size of a page, as for kubectl and client-go. */
const PAGE = 500;

interface Page {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly unknown[];
}

const { hub, paths } = JSON.parse(await readFile(process.argv[2] as string, 'utf8')) as BareListJob;
const pool = new Pool(hub.url, { connections: paths.length, connect: { ca: hub.ca, cert: hub.certificate, key: hub.key } });

/** Lists a collection, and returns the number of its objects. */
async function count(path: string): Promise<number> {
  let objects = 0;
  for (let next: string | undefined = ''; next !== undefined; ) {
    const { statusCode, body } = await pool.request({
      method: 'GET',
      path: `${path}&limit=${PAGE}${next && `&continue=${encodeURIComponent(next)}`}`,
      headers: { accept: 'application/json' },
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`GET ${path} returned ${statusCode}: ${text}`);
    const { metadata, items } = JSON.parse(text) as Page;
    objects += items.length;
    next = metadata.continue || undefined;
  }
  return objects;
}

const startedAt = performance.now();
const counts = await Promise.all(paths.map(count));
const result: BareListResult = { seconds: (performance.now() - startedAt) / 1_000, objects: counts.reduce((sum, each) => sum + each, 0) };
process.send?.(result);
await pool.close();
