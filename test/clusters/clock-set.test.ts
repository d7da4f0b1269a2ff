import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Fleet } from './fleet-world.ts';

const HOUR_MS = 3_600_000;
const SIZE = 100;
let fleet: Fleet;
let isDown: boolean;

beforeEach(async () => {
  isDown = false;
  fleet = new Fleet({ size: SIZE, isDead: () => isDown });
  fleet.restart();
  await fleet.pass(60_000);
});

afterEach(() => fleet.stop());

describe.each([
  ['back', -HOUR_MS],
  ['ahead', HOUR_MS],
])('Cluster controller with a clock that is set %s by an hour', (_, jumpMs) => {
  beforeEach(() => {
    fleet.probes.clear();
    fleet.writes.length = 0;
    fleet.clock.set(fleet.clock.now() + jumpMs);
  });

  it('probes each cluster in its slot, neither late nor all at once', async () => {
    await fleet.pass(1_000);
    expect(fleet.probes.size).toBeLessThan(SIZE / 3);
    await fleet.pass(10_000);
    expect(fleet.probes.size).toBe(SIZE);
  });

  it('reports a cluster that stops responding', async () => {
    isDown = true;
    await fleet.pass(30_000);
    const reasons = [...fleet.clusters.values()].map(({ status }) => status?.conditions?.[0]?.reason);
    expect(new Set(reasons)).toEqual(new Set(['Timeout']));
  });

  it('writes a heartbeat for every cluster with the new time', async () => {
    const setAt = fleet.clock.now();
    await fleet.pass(60_000);
    const beats = [...fleet.clusters.values()].map(({ status }) => Date.parse(status?.conditions?.[0]?.lastHeartbeatTime ?? ''));
    expect(Math.min(...beats)).toBeGreaterThanOrEqual(setAt);
    expect(Math.max(...beats)).toBeLessThanOrEqual(fleet.clock.now());
    expect(fleet.writes).toHaveLength(SIZE);
  });
});
