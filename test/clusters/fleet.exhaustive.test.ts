import { afterEach, expect, it } from '@jest/globals';
import { scaled } from '../support/scaled.ts';
import { Fleet, STEP_MS } from './fleet-world.ts';

const SIZE = scaled({ full: 1_000, quick: 100 });
/** Cluster in the middle of the fleet. */
const HEALTHY = `c${SIZE / 2}`;
let fleet: Fleet;

afterEach(() => fleet.stop());

it('writes at most 3.4 heartbeats a second, and in a period at most as many as there are clusters', async () => {
  fleet = new Fleet({ size: SIZE });
  fleet.restart();
  await fleet.pass(10_000);
  expect([...fleet.clusters.values()].filter(({ status }) => status === undefined)).toEqual([]);
  expect(fleet.writes.length).toBeLessThan(SIZE + 10 * 3.4);
  fleet.writes.length = 0;
  fleet.restart();
  await fleet.pass(600_000);
  const writes = fleet.writes.map(({ at }) => at);
  expect(writes.length).toBeGreaterThan(1.8 * SIZE);
  expect(writes.length).toBeLessThanOrEqual(600 * 3.4);
  const gaps = writes.slice(4).map((at, index) => at - (writes[index] ?? 0));
  // Four gaps of 1/3.4 s, less one step of the simulated clock on either side.
  expect(Math.min(...gaps)).toBeGreaterThan(4_000 / 3.4 - 2 * STEP_MS);
  const within = writes.map((from) => writes.filter((at) => at >= from && at < from + 300_000).length);
  expect(Math.max(...within)).toBeLessThanOrEqual(SIZE);
});

it('probes a healthy cluster in its slot while other clusters hang', async () => {
  fleet = new Fleet({ size: SIZE, isDead: (name) => name !== HEALTHY });
  fleet.restart();
  await fleet.pass(120_000);
  const ready = fleet.clusters.get(HEALTHY)?.status?.conditions?.[0];
  expect(ready).toMatchObject({ type: 'Ready', status: 'True' });
  const probedAt = [...new Set(fleet.probes.get(HEALTHY))];
  const pauses = probedAt.slice(1).map((at, index) => at - (probedAt[index] ?? 0));
  expect(Math.max(...pauses)).toBeLessThanOrEqual(10_000 + STEP_MS);
  const dead = [...fleet.clusters.values()].filter(({ status }) => status?.conditions?.[0]?.reason === 'Timeout');
  expect(dead).toHaveLength(SIZE - 1);
});

it('does not reconcile a cluster early when a larger fleet postpones its heartbeat', async () => {
  fleet = new Fleet({ size: 200 });
  fleet.restart();
  await fleet.pass(10_000);
  fleet.clock.advance(600_000);
  // All clusters wait for their heartbeat slot.
  await fleet.pass(15_000);
  fleet.grow(6_000);
  fleet.reconciles = 0;
  await fleet.pass(60_000);
  // One reconcile for each probe, and one for the heartbeat slot.
  expect(fleet.reconciles).toBeLessThanOrEqual(200 * (6 + 1));
});
