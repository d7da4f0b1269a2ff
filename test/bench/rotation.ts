// Rotation of all tokens in one window: estimate of the time before it, cost and delay.

import { setTimeout as delay } from 'node:timers/promises';
import { ManagedTokens, Secrets } from '../../src/api/resources.ts';
import { nameOf } from '../../src/kube/paths.ts';
import { type AuditedRequest, countRequests } from './audit-tail.ts';
import { inParallel } from './in-parallel.ts';
import { followLogs, isForToken, issueAll } from './issuance.ts';
import { cpuSeconds } from './process-usage.ts';
import type { Purser } from './purser-process.ts';
import { createTokens, type TokenWorld } from './token-world.ts';

export interface Rotation {
  readonly rotations: number;
  /** Time from the first to the last scheduled rotation. */
  readonly windowSeconds: number;
  readonly reviewsPerRotation: number;
  /** Number of other requests per rotation. */
  readonly requestsPerRotation: number;
  /** Number of requests for the verification of tokens, relative to those for rotations. */
  readonly verificationShare: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly worstLateSeconds: number;
  /** Number of tokens that expired before their rotation, or were not rotated. */
  readonly late: number;
  /** CPU time, without that of an idle Purser. */
  readonly cpuMsPerRotation: number;
}

interface Due {
  readonly at: number;
  readonly expiresAt: number;
}

/** Maximum delay of a rotation, caused by the queue of its window. */
export const LATE_SECONDS = 10;
/** Minimum lifetime of a token, which kube-apiserver enforces. */
export const SHORTEST_LIFETIME_SECONDS = 600;
/** Number of tokens of the trial: a share of the tokens of the scenario, within limits. */
const TRIAL = { share: 0.1, least: 200, most: 2_000 };
/** Factor for the time until the first rotation, which must not begin before all tokens are issued: an estimate may be too low. */
export const ISSUANCE_MARGIN = 1.4;

/** Estimates the time of the first tokens of `count` ManagedTokens from a trial with Purser. */
export async function estimateIssuanceSeconds(world: TokenWorld, count: number): Promise<number> {
  const size = Math.min(Math.max(Math.floor(TRIAL.share * count), TRIAL.least), TRIAL.most);
  const trial = { prefix: 'trial', count: size, expirationSeconds: SHORTEST_LIFETIME_SECONDS, renewBefore: '20%' };
  const created = await createTokens(world.client, trial);
  const { purser, seconds } = await issueAll(world, size, 0);
  await purser.stop();
  await inParallel(created, async (token) => {
    await world.client.delete(ManagedTokens, nameOf(token));
    await world.client.delete(Secrets, nameOf(token));
  });
  return (count * seconds) / size;
}

const ROTATED = 'update secrets';
const PATIENCE_MS = 120_000;
/** Minimum length of a measurement of idle CPU time, in seconds; a shorter one is not significant. */
const SHORTEST_IDLE_SECONDS = 15;

/** Waits until every token was rotated once. Call it before the first rotation is due. */
export async function rotateAll(world: TokenWorld, purser: Purser): Promise<Rotation> {
  const logs = followLogs(world);
  // Skips the present contents of the logs before the tokens are listed, so that no rotation is missed.
  await logs.next();
  const due = await dueTimes(world);
  const [listedAt, instants] = [Date.now(), [...due.values()].map(({ at }) => at)];
  const [firstAt, lastAt] = [minimum(instants), maximum(instants)];
  if (firstAt < listedAt) throw new Error('Tokens were due before all of them were issued.');
  const idleShare = await measureIdleUntil(firstAt - 1_000, purser);
  const [startedAt, cpu] = [performance.now(), await cpuSeconds(purser.pid)];
  const parts: (readonly AuditedRequest[])[] = [];
  const rotatedAt = new Map<string, number>();
  while (rotatedAt.size < due.size && Date.now() < lastAt + PATIENCE_MS) {
    await purser.assertRunning();
    await delay(1_000);
    const next = (await logs.next()).filter(({ receivedAt }) => receivedAt >= listedAt);
    parts.push(next);
    for (const { request, object, code, respondedAt } of next)
      if (request === ROTATED && code === 200 && due.has(object) && !rotatedAt.has(object)) rotatedAt.set(object, respondedAt);
  }
  // The last status write follows its Secret write.
  await delay(1_000);
  // Before the window, Purser only verifies tokens.
  const audited = [...parts, await logs.next()].flat().filter(({ receivedAt }) => receivedAt >= firstAt);
  const idleSeconds = (idleShare * (performance.now() - startedAt)) / 1_000;
  const spent = (await cpuSeconds(purser.pid)) - cpu - idleSeconds;
  return {
    windowSeconds: (lastAt - firstAt) / 1_000,
    ...lateness(due, rotatedAt),
    ...countRequestsPerRotation(audited),
    ...cpuOf(spent, audited),
  };
}

/** Measures the idle CPU time up to an instant, as a share of a core; 0 if the time is too short. */
async function measureIdleUntil(at: number, { pid }: Purser): Promise<number> {
  const [startedAt, cpu] = [performance.now(), await cpuSeconds(pid)];
  await delay(at - Date.now());
  const seconds = (performance.now() - startedAt) / 1_000;
  return seconds < SHORTEST_IDLE_SECONDS ? 0 : ((await cpuSeconds(pid)) - cpu) / seconds;
}

/** Returns the scheduled rotations by the key of the Secret. Each Secret has the name of its ManagedToken. */
async function dueTimes({ client }: TokenWorld): Promise<ReadonlyMap<string, Due>> {
  const items = await client.listAll(ManagedTokens);
  if (items.some(({ status }) => (status?.rotations ?? 0) > 0)) throw new Error('Tokens were rotated before all of them were issued.');
  return new Map(
    items.map(({ metadata, status }) => {
      const due = { at: Date.parse(status?.nextRotationTime ?? ''), expiresAt: Date.parse(status?.expirationTimestamp ?? '') };
      return [`${metadata.namespace}/${metadata.name}`, due];
    }),
  );
}

function lateness(due: ReadonlyMap<string, Due>, rotatedAt: ReadonlyMap<string, number>) {
  const lateMs = [...rotatedAt].map(([key, at]) => at - (due.get(key)?.at ?? 0));
  const late = [...due].filter(([key, { expiresAt }]) => (rotatedAt.get(key) ?? Infinity) > expiresAt).length;
  return { worstLateSeconds: maximum(lateMs) / 1_000, late };
}

/** Counts requests per rotation, without the verification of tokens and its reads of Secrets. */
function countRequestsPerRotation(
  audited: readonly AuditedRequest[],
): Pick<Rotation, 'rotations' | 'reviewsPerRotation' | 'requestsPerRotation' | 'verificationShare' | 'requests'> {
  const requests = countRequests(audited.filter(isForToken));
  const of = (request: string) => requests[request] ?? 0;
  const rotations = of(ROTATED);
  const all = Object.values(requests).reduce((sum, count) => sum + count, 0);
  const reviews = of('create subjectaccessreviews');
  const checks = of('create tokenreviews') + Math.min(of('create tokenreviews'), of('get secrets'));
  return {
    rotations,
    reviewsPerRotation: reviews / rotations,
    requestsPerRotation: (all - reviews - checks) / rotations,
    verificationShare: checks / (all - checks),
    requests,
  };
}

function cpuOf(seconds: number, audited: readonly AuditedRequest[]): Pick<Rotation, 'cpuMsPerRotation'> {
  return { cpuMsPerRotation: (seconds * 1_000) / audited.filter(({ request }) => request === ROTATED).length };
}

/** Returns the minimum of any number of values; Math.min accepts only about 100,000 arguments. */
function minimum(values: readonly number[]): number {
  return values.reduce((least, value) => Math.min(least, value), Infinity);
}

function maximum(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), -Infinity);
}
