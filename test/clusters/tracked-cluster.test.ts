import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { computeHeartbeatMs, HEARTBEAT_GAP_MS, TrackedClusters, wasHeartbeat } from '../../src/clusters/tracked-cluster.ts';
import { aCredential, registered } from '../targets/registration.ts';

const cluster = registered({ servers: ['https://192.0.2.1'] });
const withRenewed = (version: string) => ({ ...cluster, renewed: aCredential({}, version) });

describe('TrackedClusters', () => {
  it('keeps the state of a healthy cluster whose token was renewed', () => {
    const clusters = new TrackedClusters();
    const tracked = clusters.track(withRenewed('1'));
    Object.assign(tracked, { probeAt: 5, accessAt: 6 });
    expect(clusters.track(withRenewed('2'))).toBe(tracked);
    expect(clusters.track(withRenewed('2'))).toMatchObject({ probeAt: 5, accessAt: 6 });
  });

  it('resets the state of a cluster that rejected the former token, so that a probe is due', () => {
    const clusters = new TrackedClusters();
    Object.assign(clusters.track(withRenewed('1')), { probeAt: 5, rejections: 1 });
    expect(clusters.track(withRenewed('2'))).toMatchObject({ probeAt: -Infinity, rejections: 0 });
  });

  it('resets the state of a cluster whose registered Secret changed', () => {
    const clusters = new TrackedClusters();
    Object.assign(clusters.track(cluster), { probeAt: 5 });
    expect(clusters.track({ ...cluster, credential: aCredential({}, '2') })).toMatchObject({ probeAt: -Infinity });
  });
});

describe('computeHeartbeatMs', () => {
  it.each([
    [1, 300_000],
    [1_000, 300_000],
    [1_020, 300_000],
    [3_400, 1_000_000],
    [10_000, 2_941_177],
  ])('returns the period for %i clusters: %i ms', (clusters, ms) => expect(computeHeartbeatMs(clusters)).toBe(ms));

  it('returns a period that limits a fleet of any size to 3.4 heartbeats a second', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), (clusters) => clusters / (computeHeartbeatMs(clusters) / 1_000) <= 3.4 + 1e-9),
    );
    expect(1_000 / HEARTBEAT_GAP_MS).toBeCloseTo(3.4);
  });
});

describe('wasHeartbeat', () => {
  it.each([
    ['no condition changed', ['2026-03-01T12:00:00Z', '2026-03-01T11:00:00Z'], true],
    ['one condition changed', ['2026-03-01T12:00:00Z', '2026-03-01T12:05:00Z'], false],
    ['every condition changed', ['2026-03-01T12:05:00Z', '2026-03-01T12:05:00Z'], false],
  ])('returns whether a status that was written when %s is a heartbeat', (_, transitions, expected) => {
    const conditions = transitions.map((lastTransitionTime) => ({
      type: 'Ready',
      status: 'True' as const,
      lastTransitionTime,
      lastHeartbeatTime: '2026-03-01T12:05:00Z',
    }));
    expect(wasHeartbeat({ conditions })).toBe(expected);
  });
});
