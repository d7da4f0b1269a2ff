import { afterEach, expect, it } from '@jest/globals';
import { scaled } from '../support/scaled.ts';
import { Fleet } from './fleet-world.ts';

const PERIOD_MS = 300_000;
let fleet: Fleet;

afterEach(() => fleet.stop());

/** Starts a new term this much later, with reset counters. */
function restartAfter(ms: number): void {
  fleet.stop();
  fleet.clock.advance(ms);
  fleet.writes.length = 0;
  fleet.probes.clear();
  fleet.reconciles = 0;
  fleet.restart();
}

it('writes no heartbeat before it is due after a restart', async () => {
  fleet = new Fleet({ size: scaled({ full: 200, quick: 40 }) });
  fleet.restart();
  await fleet.pass(2 * PERIOD_MS);
  const lastAt = new Map(fleet.writes.map(({ name, at }) => [name, at]));
  restartAfter(0);
  await fleet.pass(PERIOD_MS / 10);
  const ages = fleet.writes.map(({ name, at }) => at - (lastAt.get(name) ?? 0));
  expect(ages.length).toBeGreaterThan(0);
  expect(Math.min(...ages)).toBeGreaterThan(PERIOD_MS);
});

it('writes no status before the first probe after a restart', async () => {
  fleet = new Fleet({ size: 50 });
  fleet.restart();
  await fleet.pass(10_000);
  restartAfter(10 * PERIOD_MS);
  await fleet.pass(30_000);
  const early = fleet.writes.filter(({ name, at }) => at < (fleet.probes.get(name)?.[0] ?? Infinity));
  expect(early).toEqual([]);
  expect(fleet.writes).toHaveLength(50);
});

it('does not write Ready=True again when the first probe after a restart fails', async () => {
  let isDown = false;
  fleet = new Fleet({ size: 50, isDead: () => isDown });
  fleet.restart();
  await fleet.pass(10_000);
  isDown = true;
  restartAfter(10 * PERIOD_MS);
  await fleet.pass(60_000);
  expect(fleet.writes.map(({ ready }) => ready)).toEqual(fleet.writes.map(() => 'False'));
  expect(new Set(fleet.writes.map(({ name }) => name)).size).toBe(50);
  // No cluster is reconciled repeatedly before its next probe.
  expect(fleet.reconciles).toBeLessThan(50 * 15);
});

it('writes heartbeats of clusters without a credential after a restart', async () => {
  fleet = new Fleet({ size: 50, hasCredentials: false });
  fleet.restart();
  await fleet.pass(10_000);
  const reasons = [...fleet.clusters.values()].map(({ status }) => status?.conditions?.[0]?.reason);
  expect(new Set(reasons)).toEqual(new Set(['CredentialMissing']));
  restartAfter(10 * PERIOD_MS);
  await fleet.pass(30_000);
  expect(fleet.writes).toHaveLength(50);
});
