// Hostile tenants send random requests alongside well-behaved tenants. The same load runs without attackers first.

import { createRandom } from '../../support/random.ts';
import type { Bench } from '../bench.ts';
import { hasMemoryRecovered } from '../checks/tenants.ts';
import { FacadeClient, requestHubToken } from '../facade-client.ts';
import type { Phase } from '../history.ts';
import type { Scenario } from '../scenario.ts';
import { grantGuest, keepClusters, recordFootprint, shiftSights, watchFootprint, withdrawAndRestore } from '../tenants/administrator.ts';
import { CLUSTER_WRITER } from '../tenants/cluster-writer.ts';
import { Collector, KNOWN_TO_WRITERS } from '../tenants/collector.ts';
import { FACADE_CALLER, FACADE_READER } from '../tenants/facade-caller.ts';
import type { Scene } from '../tenants/grammar.ts';
import { HostileServer } from '../tenants/hostile-server.ts';
import { actHostile, type Send, type TenantOptions } from '../tenants/hostile-tenant.ts';
import { ACCOUNTS, HOSTILE_CALLERS, HOSTILE_NAMESPACES } from '../tenants/names.ts';
import {
  callPolitely,
  consume,
  createPolite,
  GUEST_TOKENS,
  measureControl,
  POLITE_TOKENS,
  readPoliteToken,
  rotatePolitely,
  VICTIM_TOKENS,
} from '../tenants/polite.ts';
import { findShown, findText } from '../tenants/shown-objects.ts';
import { findTokens } from '../tenants/token-text.ts';
import { TOKEN_WRITER } from '../tenants/token-writer.ts';
import { clearTenants, removeTenants, restoreClusters, seedTenants } from '../tenants/world.ts';

export interface TenantSettings {
  /** Duration of the attack, in minutes. */
  readonly minutes: number;
  /** True if the hostile writer of ManagedTokens may also write their status. */
  readonly writesStatus?: boolean;
}

/** Concurrent requests of the hostile caller of the façade. */
const CALLERS = 3;
const MIN_CALM_MS = 12_000;
const MAX_CALM_MS = 120_000;
/** Maximum time for memory to decrease: the garbage collector runs only under load. */
const AFTER_MS = 60_000;
const CHECK_EVERY_MS = 5_000;
const FIRST_TOKENS_MS = 60_000;
/** Delay of the slow API server: slightly less than the timeout of a request. */
const SLOW_MS = 9_000;
const POLITE_ALL = [...POLITE_TOKENS, ...VICTIM_TOKENS, ...GUEST_TOKENS];

/** Returns the hostile-tenant bench as a scenario. */
export function hostileTenants({ minutes, writesStatus = false }: TenantSettings): Scenario {
  return {
    id: 'tenants',
    title: 'three hostile tenants at random, alongside well-behaved tenants',
    on: 'purser',
    run: (bench) => runTenants(bench, minutes * 60_000, writesStatus),
  };
}

async function runTenants(bench: Bench, attackMs: number, writesStatus: boolean): Promise<void> {
  const calmMs = Math.min(MAX_CALM_MS, Math.max(MIN_CALM_MS, attackMs / 4));
  const totalMs = calmMs + attackMs + 300_000;
  bench.recordExcuse('*', ['I8'], totalMs, 'I16 has the limits with hostile tenants');
  for (const account of [...ACCOUNTS, ...VICTIM_TOKENS.map(({ name }) => name)])
    bench.recordExcuse(account, ['I2'], totalMs, 'hostile tenants');
  const hostile = await HostileServer.listen({ random: deriveRandom(bench) });
  const slow = await HostileServer.listen({ random: deriveRandom(bench), delayMs: SLOW_MS });
  await bench.stopPursers();
  await bench.startPurser({ args: ['--hub-cluster', 'hub'] });
  try {
    await seedTenants(bench, { writesStatus, slow });
    for (const guest of GUEST_TOKENS) await grantGuest(bench, guest);
    for (const token of POLITE_ALL) await createPolite(bench, token);
    await bench.expect(
      'I10',
      'well-behaved tenants have tokens',
      FIRST_TOKENS_MS,
      async () => (await listMissingTokens(bench)).length === 0,
    );
    await runPhase(bench, 'calm', calmMs, (signal) => runPoliteLoad(bench, signal));
    await attack(bench, hostile, attackMs);
    await runPhase(bench, 'after', AFTER_MS, (signal) => waitForRecovery(bench, signal));
    bench.history.add({ type: 'phase', phase: 'over' });
  } finally {
    for (const { name } of POLITE_ALL) bench.recordExcuse(name, ['I1', 'I9', 'I12'], 120_000, 'deleted');
    await removeTenants(bench);
    hostile.close();
    slow.close();
    await bench.stopPursers();
    await bench.startPurser();
  }
}

/** Removes all objects of hostile tenants, and waits until memory has decreased or the signal aborts. */
async function waitForRecovery(bench: Bench, signal: AbortSignal): Promise<void> {
  await clearTenants(bench);
  await restoreClusters(bench);
  do await bench.wait(CHECK_EVERY_MS);
  while (!signal.aborted && !hasMemoryRecovered(bench.history.entries));
  await recordFootprint(bench);
}

/** Returns a separate random generator that is determined by the seed of the bench. */
function deriveRandom({ random }: Bench): () => number {
  return createRandom(Math.floor(random() * 2 ** 32));
}

async function listMissingTokens(bench: Bench): Promise<readonly string[]> {
  const texts = await Promise.all(POLITE_ALL.map((token) => readPoliteToken(bench, token)));
  return POLITE_ALL.filter((_, index) => texts[index] === '').map(({ name }) => name);
}

/** Runs an activity for some time, as a phase of the history. */
async function runPhase(bench: Bench, name: Phase, ms: number, run: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  bench.history.add({ type: 'phase', phase: name });
  const end = new AbortController();
  const activity = run(end.signal);
  await Promise.race([bench.wait(ms), activity]);
  end.abort();
  await activity;
}

/** Runs the load that is the same with and without attackers. */
async function runPoliteLoad(bench: Bench, signal: AbortSignal): Promise<void> {
  await Promise.all([
    rotatePolitely(bench, POLITE_TOKENS, signal),
    callPolitely(bench, signal),
    measureControl(bench, signal),
    consume(bench, signal),
    watchFootprint(bench, signal),
  ]);
}

async function attack(bench: Bench, hostile: HostileServer, ms: number): Promise<void> {
  const [writer, registrar] = [
    await requestHubToken(bench, HOSTILE_NAMESPACES[0], 'writer'),
    await requestHubToken(bench, HOSTILE_CALLERS, 'registrar'),
  ];
  const caller = await FacadeClient.connect(bench, bench.purser, HOSTILE_CALLERS, 'caller');
  const reader = await FacadeClient.connect(bench, bench.purser, HOSTILE_NAMESPACES[0], 'writer');
  const collector = new Collector(bench, hostile, [writer, registrar]);
  const scene = buildScene(bench, hostile);
  const lastTexts: LastTexts = { continue: 'none', version: '0' };
  bench.history.add({ type: 'sight', holder: WRITER.name, sights: [] });
  const tenants: readonly TenantOptions[] = [
    { name: 'writer', grammar: TOKEN_WRITER, send: createHubSender(bench, writer) },
    { name: 'registrar', grammar: CLUSTER_WRITER, send: createHubSender(bench, registrar) },
    { name: 'writer', grammar: FACADE_READER, send: createFacadeSender(bench, { client: reader, collector, holder: WRITER, lastTexts }) },
    ...Array.from({ length: CALLERS }, () => ({
      name: 'caller',
      grammar: FACADE_CALLER,
      send: createFacadeSender(bench, { client: caller, collector, holder: CALLER, lastTexts }),
    })),
  ].map((each) => ({ ...each, scene, random: deriveRandom(bench), history: bench.history }));
  await runPhase(bench, 'attack', ms, (signal) =>
    Promise.all([
      runPoliteLoad(bench, signal),
      ...tenants.map((tenant) => actHostile(tenant, signal)),
      withdrawAndRestore(bench, signal),
      shiftSights(bench, signal),
      keepClusters(bench, signal),
      collector.run(signal),
    ]),
  );
  caller.close();
  reader.close();
}

function buildScene({ hub, one, two }: Bench, hostile: HostileServer): Scene {
  const [a, b, c] = [one, two, hub].map(({ proxy }) => ({ url: proxy.url, ca: proxy.ca })) as [Scene['one'], Scene['two'], Scene['hub']];
  return { hostile: { url: hostile.url, ca: hostile.ca }, one: a, two: b, hub: c };
}

function createHubSender({ hub }: Bench, token: string): Send {
  const api = hub.api.as(token);
  return ({ method, path, body, type }) => api.status(method, path, body, type);
}

/** Reader of the façade's lists. */
interface Holder {
  readonly name: string;
  /** Namespaces whose ManagedTokens the tenant may always see; the history does not contain them. */
  readonly own: readonly string[];
  /** Text that the tenant wrote. */
  readonly known: string;
}

const CALLER: Holder = { name: 'caller', own: [], known: '' };
const WRITER: Holder = { name: 'writer', own: HOSTILE_NAMESPACES, known: KNOWN_TO_WRITERS };

/** Last continue token and version that any tenant received. */
interface LastTexts {
  continue: string;
  version: string;
}

interface SenderOptions {
  readonly client: FacadeClient;
  readonly collector: Collector;
  readonly holder: Holder;
  readonly lastTexts: LastTexts;
}

/** Returns a function that sends requests to the façade, records the objects in responses, and passes every token to the collector. */
function createFacadeSender({ history }: Bench, { client, collector, holder, lastTexts }: SenderOptions): Send {
  let last: string | undefined;
  return async ({ method, path, body, headers, isReplay }) => {
    const sent = body && JSON.stringify(body);
    const sentAt = Date.now();
    const target = path.replace('{continue}', lastTexts.continue).replace('{version}', lastTexts.version);
    const { status, body: response } = await client.send(method, target, {
      body: sent,
      ...(headers && { headers }),
      bearer: isReplay ? last : undefined,
    });
    const isList = path.startsWith('/auth');
    if (isList) {
      lastTexts.continue = findText(response, 'continue') ?? lastTexts.continue;
      lastTexts.version = findText(response, 'resourceVersion') ?? lastTexts.version;
      const objects = findShown(path, response).filter(({ namespace }) => !holder.own.includes(namespace));
      if (objects.length > 0) history.add({ type: 'shown', holder: holder.name, sentAt, objects });
    }
    collector.searchText(
      holder.name,
      `a response ${status} to ${isList ? 'a list' : 'a token request'}`,
      JSON.stringify(response),
      holder.known,
    );
    for (const token of findTokens(response)) {
      last = token;
      await collector.recordToken(token, readAudiences(body));
    }
    return status;
  };
}

function readAudiences(body: { readonly spec?: { readonly audiences?: readonly string[] } } | undefined): readonly string[] | undefined {
  return body?.spec?.audiences;
}
