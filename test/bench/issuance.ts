// First tokens for many ManagedTokens: how long they take, and what they cost Purser.

import { setTimeout as delay } from 'node:timers/promises';
import { type Audited, AuditTail, countRequests } from './audit-tail.ts';
import { Occurrences } from './occurrences.ts';
import { cpuSeconds, memoryOf } from './process-usage.ts';
import { type Purser, startPurser } from './purser-process.ts';
import { PURSER_USER, type TokenWorld } from './token-world.ts';

/** What the first tokens took. */
export interface Issuance {
  readonly tokens: number;
  /** From the first question to the hub to the last status. */
  readonly seconds: number;
  readonly cpuMsPerToken: number;
  /** Of the hub and of the target, by what was asked. */
  readonly requestsPerToken: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly eventShare: number;
  readonly rssMegabytes: number;
  readonly peakRssMegabytes: number;
}

const STALL_MS = 120_000;
const QUIET_MS = 3_000;
/** The status of a ManagedToken that is written last of all that its token takes. */
const STATUS = 'update managedtokens/status';

/** CPU seconds of a Purser that starts and finds nothing to do. */
export async function idleStartSeconds({ kubeconfig }: TokenWorld): Promise<number> {
  const purser = await startPurser(kubeconfig);
  await purser.ready;
  await delay(QUIET_MS);
  const seconds = await cpuSeconds(purser.pid);
  await purser.stop();
  return seconds;
}

/** Starts Purser on a hub with this many new ManagedTokens, and waits until all of them are ready. Purser is left running. */
export async function issueAll(world: TokenWorld, tokens: number, idleSeconds: number): Promise<Issuance & { readonly purser: Purser }> {
  const [tails, taken] = [tailsOf(world), new Occurrences(world.hub.auditLog, STATUS_TAKEN)];
  await Promise.all([tails.next(), taken.next()]);
  const purser = await startPurser(world.kubeconfig);
  const audited = [...(await untilWritten(purser, { tails, taken }, tokens)), ...(await untilQuiet(tails))];
  const cpu = (await cpuSeconds(purser.pid)) - idleSeconds;
  // Tokens are also put to their cluster now and then, with a read of the Secret.
  const checks = audited.filter(({ request }) => request === 'create tokenreviews' || request === 'get secrets').length;
  const of = (request: string) => audited.filter((each) => each.request === request);
  const asked = of('create subjectaccessreviews').map(({ receivedAt }) => receivedAt);
  const told = of(STATUS).map(({ answeredAt }) => answeredAt);
  return {
    tokens,
    seconds: (told.reduce((a, b) => Math.max(a, b), 0) - asked.reduce((a, b) => Math.min(a, b), Infinity)) / 1_000,
    cpuMsPerToken: (cpu * 1_000) / tokens,
    requestsPerToken: (audited.filter(isForToken).length - checks) / tokens,
    requests: countRequests(audited),
    eventShare: of('create events').length / tokens,
    ...(await memoryOf(purser.pid)),
    purser,
  };
}

/** The audit logs of hub and target as one. */
export interface Tails {
  readonly next: () => Promise<readonly Audited[]>;
}

interface Logs {
  readonly tails: Tails;
  /** In the hub's. */
  readonly taken: Occurrences;
}

export function tailsOf({ hub, target }: TokenWorld): Tails {
  const tails = [hub, target].map(({ auditLog }) => new AuditTail(auditLog, PURSER_USER));
  return { next: async () => (await Promise.all(tails.map((tail) => tail.next()))).flat() };
}

/** Whether a request is made for the sake of a token: not for lists, the Lease, or the health of clusters. */
export function isForToken({ request, object }: Audited): boolean {
  return TOKEN_REQUESTS.test(request) && !object.startsWith('purser-system/');
}

const TOKEN_REQUESTS =
  /^(create|update|patch|get|delete) (subjectaccessreviews|tokenreviews|serviceaccounts(\/token)?|secrets|managedtokens(\/status)?|events)$/;

/** Every answer to a status that was taken, as it stands in a log; those of Clusters are among them. */
const STATUS_TAKEN = '"subresource":"status"},"responseStatus":{"metadata":{},"code":200}';

/** Counts what is written, and reads the logs only when it may be all: reading takes the processor from what is measured. */
async function untilWritten(purser: Purser, { tails, taken }: Logs, tokens: number): Promise<readonly Audited[]> {
  const audited: (readonly Audited[])[] = [];
  const written = new Set<string>();
  let lastAt = performance.now();
  while (written.size < tokens) {
    await untilTaken(purser, taken, tokens - written.size);
    const next = await tails.next();
    audited.push(next);
    const before = written.size;
    for (const { request, object, code } of next) if (request === STATUS && code === 200) written.add(object);
    // Those that have one may get another, again and again.
    if (written.size > before) lastAt = performance.now();
    else await throwIfStalled(purser, lastAt, tokens - written.size);
  }
  return audited.flat();
}

async function untilTaken(purser: Purser, taken: Occurrences, count: number): Promise<void> {
  let lastAt = performance.now();
  for (let seen = await taken.next(); seen < count; ) {
    await purser.assertRunning();
    await throwIfStalled(purser, lastAt, count - seen);
    await delay(500);
    const more = await taken.next();
    if (more > 0) lastAt = performance.now();
    seen += more;
  }
}

async function throwIfStalled(purser: Purser, lastAt: number, missing: number): Promise<void> {
  if (performance.now() - lastAt > STALL_MS) throw new Error(`${missing} ManagedTokens get no status; ${await purser.state()}`);
}

/** Until the last event is written; tokens that are put to their cluster now and then are another matter. */
async function untilQuiet(tails: Tails): Promise<readonly Audited[]> {
  const audited: (readonly Audited[])[] = [];
  for (;;) {
    await delay(QUIET_MS);
    const next = await tails.next();
    audited.push(next);
    if (!next.some(({ request }) => request === 'create events')) return audited.flat();
  }
}
