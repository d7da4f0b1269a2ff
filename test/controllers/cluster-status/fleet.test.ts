// A thousand clusters in memory, some of which never answer: what is written and who is kept waiting is counted, not timed.

import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { BehaviorSubject, NEVER } from 'rxjs';
import type { Cluster } from '../../../src/api/cluster.gen.ts';
import { type ClusterControllerOptions, createClusterController } from '../../../src/controllers/cluster-status/controller.ts';
import { IssueError } from '../../../src/issuers/issue-error.ts';
import { sleep } from '../../../src/std/clock.ts';
import { registered } from '../../issuers/registration.ts';
import { FakeClock } from '../../support/clock.ts';

const FLEET = 1_000;
const STEP_MS = 100;

/** Answers every question of a probe as a healthy cluster does. */
const HEALTHY = {
  transport: { request: async () => ({ status: 200, headers: {}, body: 'ok' }) },
  getText: async () => '{"gitVersion":"v1.36.4"}',
  createReview: async () => ({ status: { userInfo: { username: 'purser' }, allowed: true } }),
};

class Fleet {
  readonly clock = new FakeClock();
  /** When each status was written. */
  readonly writes: number[] = [];
  /** When each cluster was asked whether it is ready. */
  readonly probes = new Map<string, number[]>();
  readonly clusters = new Map<string, Cluster>();
  readonly #isDead: (name: string) => boolean;

  constructor(isDead: (name: string) => boolean) {
    this.#isDead = isDead;
    for (let index = 0; index < FLEET; index++) {
      const { cluster } = registered({ name: `c${index}`, uid: `uid-${index}`, servers: ['https://192.0.2.1'] });
      this.clusters.set(`c${index}`, cluster);
    }
  }

  /** Runs the controller for a while. */
  async pass(ms: number): Promise<void> {
    const running = createClusterController(this.#options())(new AbortController().signal).subscribe();
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      this.clock.advance(STEP_MS);
      for (let turns = 0; turns < 3; turns++) await turn();
    }
    running.unsubscribe();
  }

  #options(): ClusterControllerOptions {
    const { clock, clusters } = this;
    const store = { get: (name: string) => clusters.get(name), keys: () => [...clusters.keys()], size: FLEET, index: () => () => [] };
    const hub = {
      updateStatus: async (_: unknown, cluster: Cluster) => {
        this.writes.push(clock.now());
        clusters.set(cluster.metadata.name ?? '', cluster);
      },
    };
    const use = (of: { readonly cluster: Cluster }, work: (target: unknown) => unknown) =>
      work(this.#target(of.cluster.metadata.name ?? ''));
    const options = {
      informers: {
        clusters: { store, changes$: NEVER, synced$: new BehaviorSubject(true) },
        credentials: [],
        tokens: { store: {}, changes$: NEVER, synced$: new BehaviorSubject(true) },
      },
      hub,
      clients: { use, forget: async () => {} },
      recorder: { record: () => {} },
      clock,
      random: () => 0,
      settings: { probeIntervalMs: 10_000, accessIntervalMs: 60_000 },
    };
    return options as unknown as ClusterControllerOptions;
  }

  #target(name: string): object {
    const call = async (ask: (client: typeof HEALTHY, options: object) => unknown) => {
      this.probes.set(name, [...(this.probes.get(name) ?? []), this.clock.now()]);
      if (!this.#isDead(name)) return await ask(HEALTHY, {});
      await sleep(this.clock, 5_000);
      throw new IssueError('ClusterTimeout', 'silence', { code: 'ETIMEDOUT' });
    };
    return { prober: () => ({ call }), activeServer: 'https://192.0.2.1' };
  }
}

it('writes no more than 3.4 signs of life a second, and one for each cluster in every period', async () => {
  const fleet = new Fleet(() => false);
  await fleet.pass(10_000);
  expect([...fleet.clusters.values()].filter(({ status }) => status === undefined)).toEqual([]);
  expect(fleet.writes.length).toBeLessThan(FLEET + 10 * 3.4);
  fleet.writes.length = 0;
  await fleet.pass(600_000);
  expect(fleet.writes.length).toBeGreaterThan(1.8 * FLEET);
  expect(fleet.writes.length).toBeLessThanOrEqual(600 * 3.4);
  const gaps = fleet.writes.slice(4).map((at, index) => at - (fleet.writes[index] ?? 0));
  // Four gaps of 1/3.4 s, less a step of the test's clock on either side.
  expect(Math.min(...gaps)).toBeGreaterThan(4_000 / 3.4 - 2 * STEP_MS);
  const within = fleet.writes.map((from) => fleet.writes.filter((at) => at >= from && at < from + 300_000).length);
  expect(Math.max(...within)).toBeLessThanOrEqual(FLEET);
}, 120_000);

it('asks a healthy cluster in its turn, whatever the others do', async () => {
  const fleet = new Fleet((name) => name !== 'c500');
  await fleet.pass(120_000);
  const ready = fleet.clusters.get('c500')?.status?.conditions?.[0];
  expect(ready).toMatchObject({ type: 'Ready', status: 'True' });
  const asked = [...new Set(fleet.probes.get('c500'))];
  const pauses = asked.slice(1).map((at, index) => at - (asked[index] ?? 0));
  expect(Math.max(...pauses)).toBeLessThanOrEqual(10_000 + STEP_MS);
  const dead = [...fleet.clusters.values()].filter(({ status }) => status?.conditions?.[0]?.reason === 'Timeout');
  expect(dead).toHaveLength(FLEET - 1);
}, 120_000);
