// Runs the bare loop at several concurrencies, and measures it at the best one.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import type { RealCluster } from '../support/real-cluster.ts';
import type { BareJob, BareServer } from './bare-loop-process.ts';
import { startChild } from './child-process.ts';
import { clientCertificate, createTokens, type TokenWorld } from './token-world.ts';

const CONCURRENCIES = [4, 8, 16, 32];
const TRIAL = 300;

export interface BareLoop {
  readonly concurrency: number;
  readonly tokensPerSecond: number;
  readonly cpuMsPerToken: number;
  readonly trials: Readonly<Record<number, number>>;
}

/** Measures the bare loop at its best concurrency, for `count` tokens. */
export async function measureBareLoop(world: TokenWorld, count: number, eventShare: number): Promise<BareLoop> {
  const trialSize = Math.min(TRIAL, count);
  const total = trialSize * (CONCURRENCIES.length + 1) + count;
  const tokens = await createTokens(world.client, { prefix: 'bare', count: total, expirationSeconds: 3_600, renewBefore: '20%' });
  const runTrial = (concurrency: number, size: number) => runLoop(world, { tokens: tokens.splice(0, size), concurrency, eventShare });
  // Warms up the API servers.
  await runTrial(8, trialSize);
  const trials: Record<number, number> = {};
  for (const concurrency of CONCURRENCIES) trials[concurrency] = trialSize / (await runTrial(concurrency, trialSize)).seconds;
  const concurrency = CONCURRENCIES.reduce((best, each) => ((trials[each] ?? 0) > (trials[best] ?? 0) ? each : best));
  const { seconds, cpuSeconds } = await runTrial(concurrency, count);
  return { concurrency, tokensPerSecond: count / seconds, cpuMsPerToken: (cpuSeconds * 1_000) / count, trials };
}

interface LoopResult {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

interface LoopJob {
  readonly tokens: readonly ManagedToken[];
  readonly concurrency: number;
  readonly eventShare: number;
}

async function runLoop({ hub, target }: TokenWorld, work: LoopJob): Promise<LoopResult> {
  const job: BareJob = { ...work, hub: await serverOf(hub), target: await serverOf(target) };
  return await runJob(hub, 'bare-loop-process.ts', job);
}

/** Runs a program of this folder with a job, in a file of the cluster's folder, and returns its message. */
export async function runJob<T>({ folder }: RealCluster, program: string, job: object): Promise<T> {
  const path = join(folder, 'job.json');
  await writeFile(path, JSON.stringify(job));
  const { message, ended } = await startChild<T>(join(import.meta.dirname, program), [path]);
  await ended;
  return message;
}

/**
 * Returns a server and a client certificate for it. In the benches, Purser also authenticates with a client certificate: the cost of
 * authentication is the same.
 */
export async function serverOf(cluster: RealCluster): Promise<BareServer> {
  return { url: cluster.url, ca: cluster.ca, ...(await clientCertificate(cluster, 'bare')) };
}
