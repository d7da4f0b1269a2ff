// Restart of Purser with nothing due: start time, number of writes, and memory.

import { setTimeout as delay } from 'node:timers/promises';
import { Clusters } from '../../src/api/resources.ts';
import { computeHeartbeatMs } from '../../src/clusters/tracked-cluster.ts';
import { parseTimestamp } from '../../src/std/timestamp.ts';
import { followLogs } from './issuance.ts';
import { type Memory, memoryOf } from './process-usage.ts';
import { type Purser, startPurser } from './purser-process.ts';
import type { TokenWorld } from './token-world.ts';

export interface Restart extends Memory {
  /** Time from the start of the process until it has synced and serves. */
  readonly seconds: number;
  /** Writes to the hub and the target, except those of the Lease and the heartbeats of Clusters that were due. */
  readonly writes: readonly string[];
  /** Memory after a scrape of the metrics as well. */
  readonly scraped: Memory;
}

/** Time for a reconcile of every token. */
const SETTLE_MS = 15_000;
const READS = /^(get|list|watch) /;
/** Reviews, which API servers do not store. */
const REVIEWS = /^create (selfsubject|subjectaccess|token)\w*reviews$/;

/** Starts Purser with additional options after another process has stopped cleanly. Leaves it running. */
export async function restart(world: TokenWorld, options: readonly string[] = []): Promise<Restart & { readonly purser: Purser }> {
  const heartbeats = await readHeartbeats(world);
  const logs = followLogs(world);
  await logs.next();
  const purser = await startPurser(world.kubeconfig, options);
  const { afterMs, metrics } = await purser.ready;
  await delay(SETTLE_MS);
  const requests = (await logs.next()).map(({ request }) => request);
  const all = requests.filter((request) => !READS.test(request) && !REVIEWS.test(request) && !request.endsWith(' leases'));
  const due = heartbeats.filter((at) => Date.now() - at >= computeHeartbeatMs(heartbeats.length));
  const writes = due.reduce<readonly string[]>((left) => withoutFirst(left, 'update clusters/status'), all);
  const memory = await memoryOf(purser.pid);
  await scrape(metrics);
  return { seconds: afterMs / 1_000, writes, ...memory, scraped: await memoryOf(purser.pid), purser };
}

/** Reads the metrics as Prometheus does. */
async function scrape(metrics: string | undefined): Promise<void> {
  const response = await fetch(`${metrics}/metrics`);
  await response.text();
  if (!response.ok) throw new Error(`Purser responded to a scrape with status ${response.status}.`);
}

/** Returns the time of the last heartbeat of each Cluster, in milliseconds since the epoch. */
async function readHeartbeats({ client }: TokenWorld): Promise<readonly number[]> {
  const clusters = await client.listAll(Clusters);
  return clusters.map(({ status }) => parseTimestamp(status?.conditions?.[0]?.lastHeartbeatTime) ?? 0);
}

function withoutFirst(requests: readonly string[], request: string): readonly string[] {
  const index = requests.indexOf(request);
  return index === -1 ? requests : requests.toSpliced(index, 1);
}
