import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Observable, Subscription } from 'rxjs';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { ApiObject } from '../../src/api/resources.ts';
import { systemClock } from '../../src/std/clock.ts';
import { Registry } from '../../src/targets/registry.ts';
import { isVerifiable } from '../../src/tokens/informers.ts';
import type { StoredSecret } from '../../src/tokens/policy/secret.ts';
import type { StoredToken } from '../../src/tokens/policy/spec.ts';
import { stretchIntervalMs, Verification } from '../../src/tokens/verification.ts';
import { turn } from '../kube/eventually.ts';
import { startWireWorld } from '../kube/wire-world.ts';
import { HandInformer } from '../runtime/hand-informer.ts';
import { aToken as aManagedToken } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import { startTarget } from '../targets/wire-target.ts';
import { ScriptedHub } from './scripted-hub.ts';
import { ScriptedTarget } from './scripted-target.ts';
import { TestReconciler } from './test-reconciler.ts';

const MINUTE = 60_000;
const INTERVAL = 15 * MINUTE;

/** Parts of a ManagedToken that differ from the default. */
interface Parts {
  readonly spec?: object;
  readonly metadata?: object;
  readonly status?: object;
}

describe('stretchIntervalMs', () => {
  it.each([
    ['few tokens', 400, 0, 1],
    ['a request per second', 450, 0, 1],
    ['slightly more', 451, 0, 2],
    ['100,000 tokens without issuances', 100_000, 0, 256],
    ['100,000 tokens of an hour, each renewed after 45 minutes', 100_000, 100_000 / 2_700, 8],
    ['the issuance of 100,000 tokens within 20 minutes', 100_000, 100_000 / 1_200, 4],
  ])('returns the interval for %s', (_case, tokens, issuancesPerSecond, factor) => {
    const ms = stretchIntervalMs(INTERVAL, tokens, issuancesPerSecond);
    expect(ms).toBe(factor * INTERVAL);
    const perSecond = (tokens * 2) / (ms / 1_000);
    expect(perSecond).toBeLessThanOrEqual(Math.max(1, 0.2 * 4 * issuancesPerSecond));
  });

  it('returns 0 for 0, which disables verification', () => {
    expect(stretchIntervalMs(0, 100_000, 1)).toBe(0);
  });
});

describe('Verification', () => {
  let clock: FakeClock;
  let tokens: HandInformer<StoredToken>;
  let clusters: HandInformer<Cluster>;
  let secrets: HandInformer<StoredSecret & ApiObject>;
  let requested: string[];
  let subscriptions: Subscription[];
  let random: number;
  /** Random numbers before `random`. */
  let randoms: number[];

  beforeEach(() => {
    clock = new FakeClock();
    tokens = new HandInformer();
    clusters = new HandInformer();
    secrets = new HandInformer();
    requested = [];
    random = 0;
    randoms = [];
    subscriptions = [tokens, clusters, secrets].map(({ changes$ }) => (changes$ as Observable<unknown>).subscribe());
    clusters.list(...['a', 'b', 'empty'].map((name) => ({ metadata: { name }, spec: {} }) as unknown as Cluster));
  });
  afterEach(() => {
    for (const subscription of subscriptions) subscription.unsubscribe();
    expect(clock.pending).toBe(0);
  });

  /** Returns a ManagedToken in its own namespace and service account. */
  function aToken(
    name: string,
    clusterName: string,
    { spec = {}, metadata = {}, status = { tokenDigest: 'sha256:1' } }: Parts = {},
  ): StoredToken {
    return {
      metadata: { namespace: `team-${name}`, name: 't', uid: `uid-${name}`, ...metadata },
      spec: { clusterName, serviceAccount: { namespace: 'deploy', name }, secret: {}, rotation: {}, ...spec },
      status,
    } as unknown as StoredToken;
  }

  /** Lists ManagedTokens with their Secrets. */
  function list(...all: readonly StoredToken[]): void {
    tokens.list(...all);
    secrets.list(
      ...all.map(
        ({ metadata: { namespace, name } }) =>
          ({ metadata: { namespace, name }, tokenDigest: 'sha256:1' }) as unknown as StoredSecret & ApiObject,
      ),
    );
  }

  function start(intervalMs = INTERVAL): Verification {
    const tokensForCluster = tokens.store.index(({ spec }) => [spec.clusterName]);
    const verifiableForCluster = tokens.store.index((token) => (isVerifiable(token) ? [token.spec.clusterName] : []));
    const countIssued = () => tokens.store.list().filter(({ status }) => status?.tokenDigest !== undefined).length;
    const registry = new Registry({ clusters, credentials: [] });
    const view = { tokens: tokens.store, secrets: secrets.store, registry, tokensForCluster, verifiableForCluster, countIssued };
    const verification = new Verification({ clock, random: () => randoms.shift() ?? random, view, intervalMs });
    subscriptions.push(verification.requests$.subscribe((key) => requested.push(key)));
    return verification;
  }

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1_000) {
      clock.advance(1_000);
      await turn();
    }
  }

  const isDue = (verification: Verification, token: StoredToken, since = clock.now() - 1) => verification.nextAt(token, since) === since;

  it('returns one turn in each interval, spread by UID', () => {
    const verification = start();
    const [token, now] = [aToken('a1', 'a'), clock.now()];
    const first = verification.nextAt(token, now) ?? 0;
    expect(first).toBeGreaterThan(now);
    expect(first).toBeLessThanOrEqual(now + INTERVAL);
    expect(verification.nextAt(token, first - 1)).toBe(first);
    expect(verification.nextAt(token, first)).toBe(first + INTERVAL);
    expect(verification.nextAt(aToken('a2', 'a'), now)).not.toBe(first);
  });

  it('verifies no tokens with an interval of 0', async () => {
    list(aToken('a1', 'a'));
    const verification = start(0);
    await pass(2 * MINUTE);
    expect(verification.nextAt(aToken('a1', 'a'), clock.now())).toBeUndefined();
    expect(requested).toEqual([]);
    expect(verification.intervalMs).toBe(0);
  });

  it('stretches the interval for many tokens, and less while tokens are issued', () => {
    list(...Array.from({ length: 2_000 }, (_, index) => aToken(`t${index}`, 'a')));
    const verification = start();
    expect(verification.intervalMs).toBe(8 * INTERVAL);
    for (let count = 0; count < 9_000; count++) verification.recordIssuance();
    expect(verification.intervalMs).toBe(4 * INTERVAL);
    clock.advance(10 * 3_600_000);
    expect(verification.intervalMs).toBe(8 * INTERVAL);
  });

  it('samples one issued token of each cluster once a minute', async () => {
    list(aToken('a1', 'a'), aToken('b0', 'b', { status: {} }), aToken('b1', 'b'), aToken('b2', 'b'));
    const verification = start();
    await pass(MINUTE);
    expect(requested.toSorted()).toEqual(['team-a1/t', 'team-b1/t']);
    expect(['a1', 'b1', 'b2'].map((name) => isDue(verification, aToken(name, name.charAt(0))))).toEqual([true, true, false]);
    random = 0.9;
    await pass(MINUTE);
    expect(requested.slice(2).toSorted()).toEqual(['team-a1/t', 'team-b2/t']);
    expect(isDue(verification, aToken('b1', 'b'))).toBe(false);
  });

  it.each([
    ['never had a token', { status: {} }],
    ['is suspended', { spec: { rotation: { suspend: true } } }],
    ['is being deleted', { metadata: { deletionTimestamp: '2026-03-01T12:00:00Z' } }],
    ['has no token in its Secret', { spec: { secret: { name: 'other' } } }],
  ])('samples no ManagedToken that %s', async (_case, parts) => {
    list(aToken('a1', 'a', parts), aToken('a2', 'a'));
    start();
    await pass(3 * MINUTE);
    expect(requested).toEqual(['team-a2/t', 'team-a2/t', 'team-a2/t']);
  });

  it('samples all namespaces equally', async () => {
    const many = Array.from({ length: 8 }, (_, index) => aToken(`m${index}`, 'a', { metadata: { namespace: 'many', name: `m${index}` } }));
    list(...many, aToken('a1', 'a'));
    start();
    random = 0.5;
    await pass(MINUTE);
    expect(requested).toEqual(['team-a1/t']);
  });

  /** Returns ManagedTokens in one namespace whose Secrets contain no token. */
  const withoutTokenIn = (namespace: string, count: number) =>
    Array.from({ length: count }, (_, index) =>
      aToken(`s${index}`, 'a', { spec: { secret: { name: 'other' } }, metadata: { namespace, name: `s${index}` } }),
    );

  it('samples a namespace as often if most of its Secrets contain no token', async () => {
    list(aToken('a1', 'a'), ...withoutTokenIn('team-a1', 90), aToken('a2', 'a'));
    start();
    // Selects the first namespace, and would then select the last one.
    [randoms, random] = [[0], 0.9];
    await pass(MINUTE);
    expect(requested).toEqual(['team-a1/t']);
  });

  it('samples another namespace if a hundred Secrets of a namespace contain no token', async () => {
    list(...withoutTokenIn('many', 2_000), aToken('a1', 'a'));
    start();
    await pass(MINUTE);
    expect(requested).toEqual(['team-a1/t']);
  });

  it('reads few of many ManagedTokens to select a sample', async () => {
    list(...Array.from({ length: 10_000 }, (_, index) => aToken(`t${index}`, 'a')));
    const reads = jest.spyOn(tokens.store, 'get');
    start();
    random = 0.9;
    await pass(MINUTE);
    expect([requested, reads.mock.calls.length]).toEqual([['team-t9000/t'], 1]);
    reads.mockRestore();
  });

  it('checks at most a thousand ManagedTokens for a sample', async () => {
    const withoutToken = { spec: { secret: { name: 'other' } } };
    list(...Array.from({ length: 2_000 }, (_, index) => aToken(`t${index}`, 'a', withoutToken)));
    const reads = jest.spyOn(tokens.store, 'get');
    start();
    await pass(MINUTE);
    expect([requested, reads.mock.calls.length]).toEqual([[], 1_000]);
    reads.mockRestore();
  });

  it('samples the only issued token among many ManagedTokens of a cluster', async () => {
    list(...Array.from({ length: 2_001 }, (_, index) => aToken(`t${index}`, 'a', index === 1_000 ? {} : { status: {} })));
    start();
    await pass(MINUTE);
    expect(requested).toEqual(['team-t1000/t']);
  });

  it('samples a cluster 15 times in a longer interval', async () => {
    list(aToken('a1', 'a'));
    start(4 * INTERVAL);
    await pass(12 * MINUTE);
    expect(requested).toHaveLength(3);
  });

  it('does not verify a sampled token twice', async () => {
    list(aToken('a1', 'a'));
    const verification = start();
    await pass(MINUTE);
    verification.record(aToken('a1', 'a'), 'accepted');
    expect(isDue(verification, aToken('a1', 'a'))).toBe(false);
  });

  it('verifies all tokens of a cluster after the cluster rejected three tokens, and no tokens of other clusters', async () => {
    const names = ['a1', 'a2', 'a3', 'a4', 'a5'];
    list(aToken('b1', 'b'), ...names.map((name) => aToken(name, 'a')));
    const verification = start();
    await pass(MINUTE);
    requested = [];
    for (const name of ['a1', 'a2']) verification.record(aToken(name, 'a'), 'rejected');
    expect(requested).toEqual(['team-a2/t', 'team-a3/t']);
    const before = clock.now() - 1;
    verification.record(aToken('a3', 'a'), 'rejected');
    expect(requested.slice(2)).toEqual(names.map((name) => `team-${name}/t`));
    expect(isDue(verification, aToken('a5', 'a'), before)).toBe(true);
    expect(isDue(verification, aToken('b2', 'b'), before)).toBe(false);
    // Tokens that were issued or verified since then need no verification.
    expect(isDue(verification, aToken('a5', 'a'), clock.now())).toBe(false);
  });

  it('verifies tokens of other namespaces and service accounts after a rejection', async () => {
    const shared = { spec: { serviceAccount: { namespace: 'deploy', name: 'a1' } } };
    const near = [aToken('x1', 'a', shared), aToken('x2', 'a', { metadata: { namespace: 'team-a1', name: 'x2' } })];
    list(aToken('a1', 'a'), ...near, aToken('a2', 'a'));
    const verification = start();
    await pass(MINUTE);
    requested = [];
    verification.record(aToken('a1', 'a'), 'rejected');
    expect(requested).toEqual(['team-a2/t']);
    verification.record(aToken('a2', 'a'), 'accepted');
    expect(requested).toHaveLength(1);
  });

  it('verifies all tokens if the next sample after a rejection is not verified within a minute', async () => {
    list(aToken('a1', 'a'), aToken('a2', 'a'));
    const verification = start();
    await pass(MINUTE);
    verification.record(aToken('a1', 'a'), 'rejected');
    requested = [];
    await pass(MINUTE);
    expect(requested.toSorted()).toEqual(['team-a1/t', 'team-a2/t']);
  });

  it('verifies no other tokens if the cluster rejects one sample and accepts the next', async () => {
    list(...['a1', 'a2', 'a3', 'a4'].map((name) => aToken(name, 'a')));
    const verification = start();
    await pass(MINUTE);
    for (let round = 0; round < 5; round++) {
      random = 0;
      verification.record(aToken('a1', 'a'), 'rejected');
      verification.record(aToken('a2', 'a'), 'accepted');
      await pass(MINUTE);
    }
    expect(isDue(verification, aToken('a4', 'a'))).toBe(false);
    expect(requested).not.toContain('team-a4/t');
  });

  it('verifies all tokens of a cluster at most once in an interval', async () => {
    list(aToken('a1', 'a'), aToken('a2', 'a'));
    const verification = start();
    const isAllRequested = async () => {
      await pass(MINUTE);
      requested = [];
      for (const name of ['a1', 'a2']) verification.record(aToken(name, 'a'), 'rejected');
      return requested.length === 3;
    };
    const rounds: boolean[] = [];
    for (let minute = 0; minute < 17; minute++) rounds.push(await isAllRequested());
    expect(rounds.flatMap((all, minute) => (all ? [minute] : []))).toEqual([0, 15]);
  });

  it('samples a cluster that forbids TokenReviews once in an interval', async () => {
    list(aToken('a1', 'a'));
    const verification = start();
    await pass(MINUTE);
    verification.record(aToken('a1', 'a'), 'forbidden');
    await pass(14 * MINUTE);
    expect(requested).toEqual(['team-a1/t']);
    await pass(2 * MINUTE);
    expect(requested).toHaveLength(2);
  });

  it('samples a cluster again in the next minute if the Secret of the sample has changed', async () => {
    list(aToken('a1', 'a'));
    const verification = start();
    await pass(MINUTE);
    verification.record(aToken('a1', 'a'), 'skipped');
    await pass(MINUTE);
    expect(requested).toEqual(['team-a1/t', 'team-a1/t']);
  });

  it('does not verify a token repeatedly after the clock was set back', async () => {
    list(aToken('a1', 'a'));
    const verification = start();
    await pass(MINUTE);
    verification.record(aToken('a1', 'a'), 'rejected');
    expect(isDue(verification, aToken('a1', 'a'))).toBe(true);
    clock.set(clock.now() - 3_600_000);
    expect(isDue(verification, aToken('a1', 'a'))).toBe(false);
    await pass(MINUTE);
    requested = [];
    verification.record(aToken('a1', 'a'), 'rejected');
    expect(requested).toEqual(['team-a1/t']);
  });

  it('ignores results of tokens that are not samples, except acceptance', async () => {
    list(...['a1', 'a2', 'a3'].map((name) => aToken(name, 'a')));
    const verification = start();
    await pass(MINUTE);
    requested = [];
    for (const result of ['rejected', 'forbidden', 'skipped'] as const) verification.record(aToken('a3', 'a'), result);
    expect(requested).toEqual([]);
    verification.record(aToken('a1', 'a'), 'rejected');
    verification.record(aToken('a3', 'a'), 'accepted');
    verification.record(aToken('a2', 'a'), 'rejected');
    expect(requested).toEqual(['team-a2/t', 'team-a1/t']);
  });
});

describe('token controller and a clock that was set back', () => {
  it('replaces a rejected token within an hour after the clock was set back', async () => {
    const clock = new FakeClock(Date.now());
    const hub = new ScriptedHub(
      aManagedToken()
        .with({ audiences: ['api'], expirationSeconds: 86_400 })
        .build(),
    );
    const cluster = new ScriptedTarget(clock);
    const wire = await startWireWorld((request, reply) => hub.handler(request, reply), systemClock as unknown as FakeClock);
    const target = await startTarget((request, reply) => cluster.handler(request, reply));
    const reconciler = new TestReconciler({ clock, hub, client: wire.client, server: target.url, verifyIntervalMs: INTERVAL });
    reconciler.grantPermission();
    const passHours = async (hours: number) => {
      for (const end = clock.monotonic() + hours * 60 * MINUTE; clock.monotonic() < end; ) {
        reconciler.sync();
        const at = (await reconciler.reconcile()) ?? Infinity;
        clock.advance(Math.max(1, Math.min(at - clock.now(), end - clock.monotonic())));
      }
    };
    await passHours(5);
    const issued = cluster.issuedAt.length;
    clock.set(clock.now() - 240 * MINUTE);
    cluster.recreateAccount();
    await passHours(1);
    expect(cluster.issuedAt.length).toBeGreaterThan(issued);
    await reconciler.close();
    await Promise.all([wire.close(), target.close()]);
  });
});
