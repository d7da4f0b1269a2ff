// Issuance of the first tokens of many ManagedTokens: time and cost.

import { setTimeout as delay } from 'node:timers/promises';
import { type AuditedRequest, AuditTail, countRequests } from './audit-tail.ts';
import { TextCounter } from './file-tail.ts';
import { cpuSeconds, type Memory, memoryOf } from './process-usage.ts';
import { type Purser, startPurser } from './purser-process.ts';
import { PURSER_USER, type TokenWorld } from './token-world.ts';

/** Time and cost of the first tokens. */
export interface Issuance {
  readonly tokens: number;
  /** Time from the first review on the hub to the last status write. */
  readonly seconds: number;
  readonly cpuMsPerToken: number;
  /** Number of requests to hub and target per token. */
  readonly requestsPerToken: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly eventShare: number;
  readonly rssMegabytes: number;
  readonly peakRssMegabytes: number;
}

const STALL_MS = 120_000;
const QUIET_MS = 3_000;
/** Request that completes an issuance, apart from its Event. */
const STATUS = 'update managedtokens/status';

/** Cost of a start of Purser without work. */
export interface IdleStart extends Memory {
  /** CPU time of the start. */
  readonly seconds: number;
}

/** Starts Purser without work, and measures the start. */
export async function measureIdleStart({ kubeconfig }: TokenWorld): Promise<IdleStart> {
  const purser = await startPurser(kubeconfig);
  await purser.ready;
  await delay(QUIET_MS);
  const idle = { seconds: await cpuSeconds(purser.pid), ...(await memoryOf(purser.pid)) };
  await purser.stop();
  return idle;
}

/** Starts Purser on a hub with new ManagedTokens, and waits until all have a status. Leaves Purser running. */
export async function issueAll(world: TokenWorld, tokens: number, idleSeconds: number): Promise<Issuance & { readonly purser: Purser }> {
  const [logs, statusWrites] = [followLogs(world), new TextCounter(world.hub.auditLog, STATUS_WRITTEN)];
  await Promise.all([logs.next(), statusWrites.next()]);
  const purser = await startPurser(world.kubeconfig);
  const audited = [...(await waitForStatuses(purser, { logs, statusWrites }, tokens)), ...(await waitForEvents(logs))];
  const cpu = (await cpuSeconds(purser.pid)) - idleSeconds;
  // Verification of tokens, with a read of the Secret each, is not part of issuance.
  const checks = audited.filter(({ request }) => request === 'create tokenreviews' || request === 'get secrets').length;
  const of = (request: string) => audited.filter((each) => each.request === request);
  const requestedAt = of('create subjectaccessreviews').map(({ receivedAt }) => receivedAt);
  const writtenAt = of(STATUS).map(({ respondedAt }) => respondedAt);
  return {
    tokens,
    seconds: (writtenAt.reduce((a, b) => Math.max(a, b), 0) - requestedAt.reduce((a, b) => Math.min(a, b), Infinity)) / 1_000,
    cpuMsPerToken: (cpu * 1_000) / tokens,
    requestsPerToken: (audited.filter(isForToken).length - checks) / tokens,
    requests: countRequests(audited),
    eventShare: of('create events').length / tokens,
    ...(await memoryOf(purser.pid)),
    purser,
  };
}

/** Audit logs of hub and target as one. */
export interface AuditLogs {
  readonly next: () => Promise<readonly AuditedRequest[]>;
}

interface IssuanceLogs {
  readonly logs: AuditLogs;
  /** Counter of the status writes in the hub's log. */
  readonly statusWrites: TextCounter;
}

/** Follows the requests of one user to hub and target. */
export function followLogs({ hub, target }: TokenWorld, user = PURSER_USER): AuditLogs {
  const logs = [hub, target].map(({ auditLog }) => new AuditTail(auditLog, user));
  return { next: async () => (await Promise.all(logs.map((tail) => tail.next()))).flat() };
}

/** Returns true if a request serves a token, rather than lists, the Lease, or probes of clusters. */
export function isForToken({ request, object }: AuditedRequest): boolean {
  return TOKEN_REQUESTS.test(request) && !object.startsWith('purser-system/');
}

const TOKEN_REQUESTS =
  /^(create|update|patch|get|delete) (subjectaccessreviews|tokenreviews|serviceaccounts(\/token)?|secrets|managedtokens(\/status)?|events)$/;

/** Audit-log text of every successful status write, including those of Clusters. */
const STATUS_WRITTEN = '"subresource":"status"},"responseStatus":{"metadata":{},"code":200}';

/** Waits for all status writes. Counts text first and parses the logs only at the end, to save CPU time for the measured processes. */
async function waitForStatuses(purser: Purser, { logs, statusWrites }: IssuanceLogs, tokens: number): Promise<readonly AuditedRequest[]> {
  const audited: (readonly AuditedRequest[])[] = [];
  const written = new Set<string>();
  let lastAt = performance.now();
  while (written.size < tokens) {
    await waitForStatusWrites(purser, statusWrites, tokens - written.size);
    const next = await logs.next();
    audited.push(next);
    const before = written.size;
    for (const { request, object, code } of next) if (request === STATUS && code === 200) written.add(object);
    // A ManagedToken may have several status writes.
    if (written.size > before) lastAt = performance.now();
    else await throwIfStalled(purser, lastAt, tokens - written.size);
  }
  return audited.flat();
}

async function waitForStatusWrites(purser: Purser, statusWrites: TextCounter, count: number): Promise<void> {
  let lastAt = performance.now();
  for (let seen = await statusWrites.next(); seen < count; ) {
    await purser.assertRunning();
    await throwIfStalled(purser, lastAt, count - seen);
    await delay(500);
    const more = await statusWrites.next();
    if (more > 0) lastAt = performance.now();
    seen += more;
  }
}

async function throwIfStalled(purser: Purser, lastAt: number, missing: number): Promise<void> {
  if (performance.now() - lastAt > STALL_MS) throw new Error(`${missing} ManagedTokens have no status; ${await purser.state()}`);
}

/** Waits until no more Events are written; ignores the verification of tokens. */
async function waitForEvents(logs: AuditLogs): Promise<readonly AuditedRequest[]> {
  const audited: (readonly AuditedRequest[])[] = [];
  for (;;) {
    await delay(QUIET_MS);
    const next = await logs.next();
    audited.push(next);
    if (!next.some(({ request }) => request === 'create events')) return audited.flat();
  }
}
