import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { HEARTBEAT_GAP_MS, heartbeatMs, saysOther, wasSignOfLife } from '../../../src/clusters/policy/heartbeat.ts';

describe('heartbeats', () => {
  it.each([
    [1, 300_000],
    [1_000, 300_000],
    [1_020, 300_000],
    [3_400, 1_000_000],
    [10_000, 2_941_177],
  ])('of %i clusters come every %i ms', (clusters, ms) => expect(heartbeatMs(clusters)).toBe(ms));

  it('are never more than 3.4 a second in the mean', () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: 100_000 }), (clusters) => clusters / (heartbeatMs(clusters) / 1_000) <= 3.4 + 1e-9));
    expect(1_000 / HEARTBEAT_GAP_MS).toBeCloseTo(3.4);
  });
});

describe('a status', () => {
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'ClusterReady',
    message: 'a',
    lastTransitionTime: '2026-03-01T12:00:00Z',
  } as const;
  const other = { type: 'Reachable', status: 'True' } as const;
  const status = { version: 'v1.36.4', conditions: [condition, other] };

  it.each([
    ['with another sentence', { ...status, conditions: [{ ...condition, message: 'b' }, other] }, false],
    ['with another heartbeat', { ...status, conditions: [{ ...condition, lastHeartbeatTime: '2026-03-01T12:00:00Z' }, other] }, false],
    ['in another order', { ...status, conditions: [other, condition] }, false],
    ['with another reason', { ...status, conditions: [{ ...condition, reason: 'Forged' }, other] }, true],
    ['with another status', { ...status, conditions: [{ ...condition, status: 'False' as const }, other] }, true],
    ['with another transition', { ...status, conditions: [{ ...condition, lastTransitionTime: '2020-03-01T12:00:00Z' }, other] }, true],
    ['with one condition more', { ...status, conditions: [condition, other, { type: 'X', status: 'True' as const }] }, true],
    ['with another version', { ...status, version: 'v1.36.5' }, true],
    ['with an endpoint', { ...status, activeEndpoint: 'https://a' }, true],
  ])('%s says something else: %p', (_, given, expected) => expect(saysOther(status, given)).toBe(expected));

  it.each([
    ['nothing turned', ['2026-03-01T12:00:00Z', '2026-03-01T11:00:00Z'], true],
    ['one condition turned', ['2026-03-01T12:00:00Z', '2026-03-01T12:05:00Z'], false],
    ['every condition turned', ['2026-03-01T12:05:00Z', '2026-03-01T12:05:00Z'], false],
  ])('that was written when %s was a sign of life: %3$p', (_, turnedAt, expected) => {
    const conditions = turnedAt.map((lastTransitionTime) => ({
      ...condition,
      lastTransitionTime,
      lastHeartbeatTime: '2026-03-01T12:05:00Z',
    }));
    expect(wasSignOfLife({ conditions })).toBe(expected);
  });
});
