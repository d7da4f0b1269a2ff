// The rotation of all tokens in one window: what it takes, and whether it comes in time.

import { setTimeout as delay } from 'node:timers/promises';
import { ManagedTokens } from '../../src/api/resources.ts';
import { type Audited, countRequests } from './audit-tail.ts';
import { isForToken, tailsOf } from './issuance.ts';
import { cpuSeconds } from './process-usage.ts';
import type { Purser } from './purser-process.ts';
import type { TokenWorld } from './token-world.ts';

export interface Rotation {
  readonly rotations: number;
  /** From the first to the last instant at which a rotation was due. */
  readonly windowSeconds: number;
  readonly reviewsPerRotation: number;
  /** All others. */
  readonly requestsPerRotation: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly worstLateSeconds: number;
  /** Tokens whose old one had expired when the new one came, or that did not come at all. */
  readonly late: number;
  /** Without what Purser takes while nothing is due. */
  readonly cpuMsPerRotation: number;
}

interface Due {
  readonly at: number;
  readonly expiresAt: number;
}

const ROTATED = 'update secrets';
const PATIENCE_MS = 120_000;
/** What a few probes cost says little of a window of minutes. */
const SHORTEST_IDLE_SECONDS = 15;

/** Waits until every token of this world was rotated once. Nothing may be due when it is called. */
export async function rotateAll(world: TokenWorld, purser: Purser): Promise<Rotation> {
  const tails = tailsOf(world);
  // What is in the logs already takes a while to be read; nothing that comes meanwhile may be taken for old.
  await tails.next();
  const due = await dueTimes(world);
  const [listedAt, instants] = [Date.now(), [...due.values()].map(({ at }) => at)];
  const [firstAt, lastAt] = [lowest(instants), highest(instants)];
  if (firstAt < listedAt) throw new Error('tokens were due before all of them had been issued');
  const idleShare = await idleUntil(firstAt - 1_000, purser);
  const [startedAt, cpu] = [performance.now(), await cpuSeconds(purser.pid)];
  const parts: (readonly Audited[])[] = [];
  const rotatedAt = new Map<string, number>();
  while (rotatedAt.size < due.size && Date.now() < lastAt + PATIENCE_MS) {
    await purser.assertRunning();
    await delay(1_000);
    const next = (await tails.next()).filter(({ receivedAt }) => receivedAt >= listedAt);
    parts.push(next);
    for (const { request, object, code, answeredAt } of next)
      if (request === ROTATED && code === 200 && due.has(object) && !rotatedAt.has(object)) rotatedAt.set(object, answeredAt);
  }
  // The last status follows its Secret.
  await delay(1_000);
  const audited = [...parts, await tails.next()].flat();
  const idleSeconds = (idleShare * (performance.now() - startedAt)) / 1_000;
  const spent = (await cpuSeconds(purser.pid)) - cpu - idleSeconds;
  return { windowSeconds: (lastAt - firstAt) / 1_000, ...lateness(due, rotatedAt), ...costs(audited), ...cpuOf(spent, audited) };
}

/** Which share of a core Purser takes while nothing is due, up to an instant; 0 where there is no time to tell. */
async function idleUntil(at: number, { pid }: Purser): Promise<number> {
  const [startedAt, cpu] = [performance.now(), await cpuSeconds(pid)];
  await delay(at - Date.now());
  const seconds = (performance.now() - startedAt) / 1_000;
  return seconds < SHORTEST_IDLE_SECONDS ? 0 : ((await cpuSeconds(pid)) - cpu) / seconds;
}

/** By the key of the Secret, which has the name of its ManagedToken here. */
async function dueTimes({ client }: TokenWorld): Promise<ReadonlyMap<string, Due>> {
  const { items } = await client.listAll(ManagedTokens);
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
  return { worstLateSeconds: highest(lateMs) / 1_000, late };
}

/** Tokens that are put to their cluster by the way, with a read of the Secret each, are not part of a rotation. */
function costs(audited: readonly Audited[]): Pick<Rotation, 'rotations' | 'reviewsPerRotation' | 'requestsPerRotation' | 'requests'> {
  const requests = countRequests(audited.filter(isForToken));
  const of = (request: string) => requests[request] ?? 0;
  const rotations = of(ROTATED);
  const all = Object.values(requests).reduce((sum, count) => sum + count, 0);
  const reviews = of('create subjectaccessreviews');
  const checks = of('create tokenreviews') + Math.min(of('create tokenreviews'), of('get secrets'));
  return { rotations, reviewsPerRotation: reviews / rotations, requestsPerRotation: (all - reviews - checks) / rotations, requests };
}

function cpuOf(seconds: number, audited: readonly Audited[]): Pick<Rotation, 'cpuMsPerRotation'> {
  return { cpuMsPerRotation: (seconds * 1_000) / audited.filter(({ request }) => request === ROTATED).length };
}

/** Of any number: a call takes no more than some 100,000 arguments. */
function lowest(values: readonly number[]): number {
  return values.reduce((least, value) => Math.min(least, value), Infinity);
}

function highest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), -Infinity);
}
