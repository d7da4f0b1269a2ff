// Three hostile tenants act at random beside polite ones; the same load without them comes first, for comparison.

import type { Bench } from '../bench.ts';
import { isMemoryBack } from '../checks/tenants.ts';
import { FacadeClient, hubToken } from '../facade-client.ts';
import type { Phase } from '../history.ts';
import { seeded } from '../random.ts';
import type { Scenario } from '../scenario.ts';
import { grantGuest, keepClusters, recordFootprint, watchFootprint, withdrawAndRestore } from '../tenants/administrator.ts';
import { CLUSTER_WRITER } from '../tenants/cluster-writer.ts';
import { Collector } from '../tenants/collector.ts';
import { FACADE_CALLER } from '../tenants/facade-caller.ts';
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
  politeText,
  rotatePolitely,
  VICTIM_TOKENS,
} from '../tenants/polite.ts';
import { tokensIn } from '../tenants/token-text.ts';
import { TOKEN_WRITER } from '../tenants/token-writer.ts';
import { clearTenants, furnishTenants, removeTenants, restoreClusters } from '../tenants/world.ts';

export interface TenantSettings {
  /** Length of the attack. */
  readonly minutes: number;
  /** Whether the hostile writer of ManagedTokens may write their status, too. */
  readonly writesStatus?: boolean;
}

/** Requests of the hostile façade caller at a time. */
const CALLERS = 3;
const MIN_CALM_MS = 12_000;
const MAX_CALM_MS = 120_000;
/** Longest time for memory to come back: garbage is collected when there is work. */
const AFTER_MS = 60_000;
const LOOK_EVERY_MS = 5_000;
const FIRST_TOKENS_MS = 60_000;
const POLITE_ALL = [...POLITE_TOKENS, ...VICTIM_TOKENS, ...GUEST_TOKENS];

/** Returns the tenant bench as a scenario. */
export function hostileTenants({ minutes, writesStatus = false }: TenantSettings): Scenario {
  return {
    id: 'tenants',
    title: 'three hostile tenants at random, beside well-behaved tenants',
    on: 'purser',
    run: (bench) => runTenants(bench, minutes * 60_000, writesStatus),
  };
}

async function runTenants(bench: Bench, attackMs: number, writesStatus: boolean): Promise<void> {
  const calmMs = Math.min(MAX_CALM_MS, Math.max(MIN_CALM_MS, attackMs / 4));
  const totalMs = calmMs + attackMs + 300_000;
  bench.excuse('*', ['I8'], totalMs, 'I16 has the bounds for tenants');
  for (const account of [...ACCOUNTS, ...VICTIM_TOKENS.map(({ name }) => name)]) bench.excuse(account, ['I2'], totalMs, 'hostile tenants');
  const hostile = await HostileServer.listen(derived(bench));
  await bench.endPursers();
  await bench.startPurser({ args: ['--hub-cluster', 'hub'] });
  try {
    await furnishTenants(bench, { writesStatus });
    for (const guest of GUEST_TOKENS) await grantGuest(bench, guest);
    for (const token of POLITE_ALL) await createPolite(bench, token);
    await bench.expect('I10', 'polite tenants have tokens', FIRST_TOKENS_MS, async () => (await missing(bench)).length === 0);
    await phase(bench, 'calm', calmMs, (signal) => politeLoad(bench, signal));
    await attack(bench, hostile, attackMs);
    await phase(bench, 'after', AFTER_MS, (signal) => calmDown(bench, signal));
    bench.history.add({ type: 'phase', phase: 'over' });
  } finally {
    for (const { name } of POLITE_ALL) bench.excuse(name, ['I1', 'I9', 'I12'], 120_000, 'deleted');
    await removeTenants(bench);
    hostile.close();
    await bench.endPursers();
    await bench.startPurser();
  }
}

/** Removes what the hostile tenants made, and waits until memory is back or the signal comes. */
async function calmDown(bench: Bench, signal: AbortSignal): Promise<void> {
  await clearTenants(bench);
  await restoreClusters(bench);
  do await bench.pass(LOOK_EVERY_MS);
  while (!signal.aborted && !isMemoryBack(bench.history.entries));
  await recordFootprint(bench);
}

/** Returns random numbers of their own for a part of the bench, which follow from the seed. */
function derived({ random }: Bench): () => number {
  return seeded(Math.floor(random() * 2 ** 32));
}

async function missing(bench: Bench): Promise<readonly string[]> {
  const texts = await Promise.all(POLITE_ALL.map((token) => politeText(bench, token)));
  return POLITE_ALL.filter((_, index) => texts[index] === '').map(({ name }) => name);
}

/** Does something for a time, as a phase of the history. */
async function phase(bench: Bench, name: Phase, ms: number, act: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  bench.history.add({ type: 'phase', phase: name });
  const end = new AbortController();
  const acting = act(end.signal);
  await Promise.race([bench.pass(ms), acting]);
  end.abort();
  await acting;
}

/** The load that is the same without and with attackers. */
async function politeLoad(bench: Bench, signal: AbortSignal): Promise<void> {
  await Promise.all([
    rotatePolitely(bench, POLITE_TOKENS, signal),
    callPolitely(bench, signal),
    measureControl(bench, signal),
    consume(bench, signal),
    watchFootprint(bench, signal),
  ]);
}

async function attack(bench: Bench, hostile: HostileServer, ms: number): Promise<void> {
  const [writer, registrar] = [await hubToken(bench, HOSTILE_NAMESPACES[0], 'writer'), await hubToken(bench, HOSTILE_CALLERS, 'registrar')];
  const caller = await FacadeClient.of(bench, bench.purser, HOSTILE_CALLERS, 'caller');
  const collector = new Collector(bench, hostile, [writer, registrar]);
  const scene = sceneOf(bench, hostile);
  const tenants: readonly TenantOptions[] = [
    { name: 'writer', grammar: TOKEN_WRITER, send: hubSender(bench, writer) },
    { name: 'registrar', grammar: CLUSTER_WRITER, send: hubSender(bench, registrar) },
    ...Array.from({ length: CALLERS }, () => ({ name: 'caller', grammar: FACADE_CALLER, send: facadeSender(caller, collector) })),
  ].map((each) => ({ ...each, scene, random: derived(bench), history: bench.history }));
  await phase(bench, 'attack', ms, (signal) =>
    Promise.all([
      politeLoad(bench, signal),
      ...tenants.map((tenant) => actHostile(tenant, signal)),
      withdrawAndRestore(bench, signal),
      keepClusters(bench, signal),
      collector.run(signal),
    ]),
  );
  caller.close();
}

function sceneOf({ hub, one, two }: Bench, hostile: HostileServer): Scene {
  const [a, b, c] = [one, two, hub].map(({ proxy }) => ({ url: proxy.url, ca: proxy.ca })) as [Scene['one'], Scene['two'], Scene['hub']];
  return { hostile: { url: hostile.url, ca: hostile.ca }, one: a, two: b, hub: c };
}

function hubSender({ hub }: Bench, token: string): Send {
  const api = hub.api.as(token);
  return ({ method, path, body, type }) => api.status(method, path, body, type);
}

/** Sends requests to the façade; every token in a response goes to the collector. */
function facadeSender(client: FacadeClient, collector: Collector): Send {
  let last: string | undefined;
  return async ({ method, path, body, headers, isReplay }) => {
    const sent = body && JSON.stringify(body);
    const { status, body: answer } = await client.exchange(method, path, {
      body: sent,
      ...(headers && { headers }),
      bearer: isReplay ? last : undefined,
    });
    collector.read(
      'caller',
      `a response ${status} to ${path.startsWith('/auth') ? 'a list' : 'a token request'}`,
      JSON.stringify(answer),
      '',
    );
    for (const token of tokensIn(answer)) {
      last = token;
      await collector.hold(token, audiencesOf(body));
    }
    return status;
  };
}

function audiencesOf(body: { readonly spec?: { readonly audiences?: readonly string[] } } | undefined): readonly string[] | undefined {
  return body?.spec?.audiences;
}
