// A restart of Purser with nothing due: how soon it serves, what it writes, what it holds.

import { setTimeout as delay } from 'node:timers/promises';
import { tailsOf } from './issuance.ts';
import { type Memory, memoryOf } from './process-usage.ts';
import { type Purser, startPurser } from './purser-process.ts';
import type { TokenWorld } from './token-world.ts';

export interface Restart extends Memory {
  /** From the start of the process until it has synced and serves. */
  readonly seconds: number;
  /** Everything that changed something on the hub or the target, but for the Lease. */
  readonly writes: readonly string[];
}

/** Long enough for every token to be looked at. */
const SETTLE_MS = 15_000;
const READS = /^(get|list|watch) /;
/** Answered and not stored. */
const REVIEWS = /^create (selfsubject|subjectaccess|token)\w*reviews$/;

/** Starts Purser where another one has ended in good order. It is left running. */
export async function restart(world: TokenWorld): Promise<Restart & { readonly purser: Purser }> {
  const tails = tailsOf(world);
  await tails.next();
  const purser = await startPurser(world.kubeconfig);
  const { afterMs } = await purser.ready;
  await delay(SETTLE_MS);
  const requests = (await tails.next()).map(({ request }) => request);
  const writes = requests.filter((request) => !READS.test(request) && !REVIEWS.test(request) && !request.endsWith(' leases'));
  return { seconds: afterMs / 1_000, writes, ...(await memoryOf(purser.pid)), purser };
}
