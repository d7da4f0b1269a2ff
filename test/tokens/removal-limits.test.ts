// The removal limits, with a hub that keeps one ConfigMap.

import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { RemovalLimit } from '../../src/api/names.ts';
import type { ConfigMap } from '../../src/api/resources.ts';
import { StatusError } from '../../src/kubernetes/status.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import type { HubView } from '../../src/tokens/informers.ts';
import { RecordKey } from '../../src/tokens/record-key.ts';
import { RemovalLimits, type RemovalLimitsOptions } from '../../src/tokens/removal-limits.ts';
import type { TokenMetrics } from '../../src/tokens/run.ts';
import { type TrackedToken, TrackedTokens } from '../../src/tokens/tracked-token.ts';
import { aToken } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import { failureStatus } from './scripted-hub.ts';
import { RECORD_KEY } from './test-reconciler.ts';

let clock: FakeClock;
let stored: ConfigMap | undefined;
let isPaused: boolean;
let memory: TrackedTokens;
let limits: RemovalLimits;
let existing: readonly ManagedToken[];
let lines: { readonly msg: string; readonly namespace?: string; readonly suppressed?: number }[];

const hub = {
  get: async () => {
    if (stored === undefined) throw new StatusError(failureStatus(404, 'NotFound') as ConstructorParameters<typeof StatusError>[0]);
    return stored;
  },
  create: async (_: unknown, object: ConfigMap) => (stored = object),
  update: async (_: unknown, object: ConfigMap) => (stored = object),
};

/** Starts a controller as the leader. */
function lead(): void {
  memory = new TrackedTokens();
  const view = { tokens: { list: () => existing } } as unknown as HubView;
  const metrics = { setRemovalPaused: (value: boolean) => (isPaused = value) } as unknown as TokenMetrics;
  limits = new RemovalLimits({
    hub,
    view,
    memory,
    recordKey: RECORD_KEY,
    clock,
    log: createLogger({ level: 'info', readable: false, write: (line) => lines.push(JSON.parse(line) as (typeof lines)[number]) }),
    metrics,
    namespace: 'purser-system',
  } as unknown as RemovalLimitsOptions);
}

beforeEach(() => {
  clock = new FakeClock();
  stored = undefined;
  isPaused = false;
  existing = [];
  lines = [];
  lead();
});

/** Lets tokens of namespaces lose permission, and returns one of each namespace. */
function lose(tokensByNamespace: Readonly<Record<string, number>>, isSelfCaused = false): readonly TrackedToken[] {
  return Object.entries(tokensByNamespace).map(([namespace, count]) => {
    const lost = Array.from({ length: count }, (_, index) => memory.keep(`${namespace}-${index}`));
    for (const each of lost) each.recordRefusal(clock.now(), { countedIn: namespace, isSelfCaused });
    return lost[0] as TrackedToken;
  });
}

const FIVE = { a: 5, b: 5, c: 5, d: 5, e: 5 };
const token = aToken().build();
const check = async (tracked: TrackedToken | undefined, of = token) => (await limits.check(of, tracked ?? memory.keep('none'))).type;
const release = (value: string) => {
  stored = {
    ...(stored as ConfigMap),
    metadata: { namespace: 'purser-system', ...stored?.metadata, annotations: { [RemovalLimit.release]: value } },
  };
  clock.advance(10_000);
};

describe('RemovalLimits and the global limit', () => {
  it('pauses removal when 25 tokens of five namespaces lost permission, and records the pause in the ConfigMap', async () => {
    const [first] = lose(FIVE);
    expect([await check(first), isPaused]).toEqual(['paused', true]);
    expect(stored?.metadata).toMatchObject({ namespace: 'purser-system', name: 'purser-removal-limit' });
    expect(stored?.data).toMatchObject({ tokens: '25', namespaces: 'a b c d e' });
    expect(stored?.data?.['message']).toContain(
      'Removal of Secrets is paused: 25 tokens in 5 namespaces lost permission at about the same time.',
    );
  });

  it('delays removals, but does not pause them, if one tenant with many tokens loses permission', async () => {
    const [first] = lose({ a: 500, b: 1, c: 1 });
    expect([await check(first), isPaused]).toEqual(['delayed', false]);
  });

  it('ignores tokens that lost permission because of a change by their tenant; only the limit of the namespace counts such tokens', async () => {
    const [first] = lose(FIVE, true);
    expect([await check(first), isPaused]).toEqual(['allowed', false]);
    limits.recordRemoval(first as TrackedToken);
    expect(await check(lose({ f: 21 }, true)[0])).toBe('delayed');
  });

  it('ignores refused ManagedTokens whose Secret holds no token from Purser', async () => {
    for (let index = 0; index < 500; index++) memory.keep(`forged-${index}`).recordRefusal(clock.now());
    const [first] = lose({ a: 1, b: 1, c: 1, d: 1, e: 1 });
    expect(await check(first)).toBe('allowed');
  });

  it.each([
    ['allowed for 25 tokens, because Purser issued 250 others', true, 'allowed'],
    ['paused for 25 tokens, because the signatures of 250 others are forged', false, 'paused'],
  ])('decides on removals by the share of the tokens that Purser issued: %s', async (_, isGenuine, expected) => {
    const key = isGenuine ? RECORD_KEY : new RecordKey(Buffer.alloc(32, 2));
    existing = Array.from({ length: 250 }, (_each, index) => {
      const issued = aToken().withMetadata({ namespace: `team-${index}` });
      const { digest: tokenDigest, signature: tokenSignature } = key.sign(issued.build(), 'sha256:issued');
      return issued.withStatus({ tokenDigest, tokenSignature }).build();
    });
    const [first] = lose(FIVE);
    expect(await check(first)).toBe(expected);
  });

  it('never holds a token with revocation BoundSecret or a listed anchor', async () => {
    const [first] = lose(FIVE);
    await check(first);
    expect(await check(first, aToken().with({ revocation: 'BoundSecret' }).build())).toBe('allowed');
    expect(
      await check(
        first,
        aToken()
          .withStatus({ anchors: [{ cluster: 'a', namespace: 'b', serviceAccount: 'c', clusterUID: '', credential: '' }] })
          .build(),
      ),
    ).toBe('allowed');
  });

  it('holds removals until an administrator sets a new value of the annotation, which takes effect once', async () => {
    const [first] = lose(FIVE);
    await check(first);
    clock.advance(24 * 3_600_000);
    expect(await check(first)).toBe('paused');
    release('alice-1');
    expect([await check(first), isPaused]).toEqual(['allowed', false]);
    expect(stored?.data).toMatchObject({ released: 'alice-1' });
    expect(stored?.data).not.toHaveProperty('since');
    clock.advance(60_000);
    const [next] = lose({ v: 5, w: 5, x: 5, y: 5, z: 5 });
    expect(await check(next)).toBe('paused');
    clock.advance(10_000);
    expect(await check(next)).toBe('paused');
    release('alice-2');
    expect(await check(next)).toBe('allowed');
  });

  it('ignores a value of the annotation from before the limit was reached', async () => {
    stored = { metadata: { namespace: 'purser-system', name: 'purser-removal-limit', annotations: { [RemovalLimit.release]: 'old' } } };
    const [first] = lose(FIVE);
    await check(first);
    clock.advance(10_000);
    expect(await check(first)).toBe('paused');
  });

  it('keeps removals paused after another replica has become the leader', async () => {
    const [first] = lose(FIVE);
    await check(first);
    isPaused = false;
    lead();
    const [single] = lose({ a: 1 });
    expect([await check(single), isPaused]).toEqual(['paused', true]);
    release('bob');
    expect(await check(single)).toBe('allowed');
  });
});

describe('RemovalLimits.logHeld', () => {
  it('logs 10 lines a minute and the number of suppressed lines for a namespace with 500 tokens, and all lines of another namespace', () => {
    const hold = (namespace: string) => limits.logHeld(aToken().withMetadata({ namespace }).build(), 'RemovalDelayed');
    for (let index = 0; index < 500; index++) hold('crowd');
    hold('team-a');
    clock.advance(60_000);
    expect(lines.filter(({ msg }) => msg === 'removal held')).toHaveLength(11);
    expect(lines.at(-1)).toMatchObject({ msg: 'log lines about held removals suppressed', namespace: 'crowd', suppressed: 490 });
    limits.close();
    expect(clock.pending).toBe(0);
  });
});
