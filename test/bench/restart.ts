// Restart of Purser with nothing due: start time, number of writes, and memory.

import { setTimeout as delay } from 'node:timers/promises';
import { followLogs } from './issuance.ts';
import { type Memory, memoryOf } from './process-usage.ts';
import { type Purser, startPurser } from './purser-process.ts';
import type { TokenWorld } from './token-world.ts';

export interface Restart extends Memory {
  /** Time from the start of the process until it has synced and serves. */
  readonly seconds: number;
  /** Writes to the hub and the target, except those of the Lease. */
  readonly writes: readonly string[];
}

/** Time for a reconcile of every token. */
const SETTLE_MS = 15_000;
const READS = /^(get|list|watch) /;
/** Reviews, which API servers do not store. */
const REVIEWS = /^create (selfsubject|subjectaccess|token)\w*reviews$/;

/** Starts Purser with additional options after another process has stopped cleanly. Leaves it running. */
export async function restart(world: TokenWorld, options: readonly string[] = []): Promise<Restart & { readonly purser: Purser }> {
  const logs = followLogs(world);
  await logs.next();
  const purser = await startPurser(world.kubeconfig, options);
  const { afterMs } = await purser.ready;
  await delay(SETTLE_MS);
  const requests = (await logs.next()).map(({ request }) => request);
  const writes = requests.filter((request) => !READS.test(request) && !REVIEWS.test(request) && !request.endsWith(' leases'));
  return { seconds: afterMs / 1_000, writes, ...(await memoryOf(purser.pid)), purser };
}
