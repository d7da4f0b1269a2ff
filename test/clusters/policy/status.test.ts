import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  distributionOf,
  HEARTBEAT_GAP_MS,
  heartbeatMs,
  isDifferentStatus,
  parseVersion,
  wasHeartbeat,
} from '../../../src/clusters/policy/status.ts';

describe('heartbeatMs', () => {
  it.each([
    [1, 300_000],
    [1_000, 300_000],
    [1_020, 300_000],
    [3_400, 1_000_000],
    [10_000, 2_941_177],
  ])('returns the period for %i clusters: %i ms', (clusters, ms) => expect(heartbeatMs(clusters)).toBe(ms));

  it('returns a period of at most 3.4 heartbeats a second for any fleet', () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: 100_000 }), (clusters) => clusters / (heartbeatMs(clusters) / 1_000) <= 3.4 + 1e-9));
    expect(1_000 / HEARTBEAT_GAP_MS).toBeCloseTo(3.4);
  });
});

describe('isDifferentStatus and wasHeartbeat', () => {
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
    ['another message', { ...status, conditions: [{ ...condition, message: 'b' }, other] }, false],
    ['another heartbeat', { ...status, conditions: [{ ...condition, lastHeartbeatTime: '2026-03-01T12:00:00Z' }, other] }, false],
    ['another order', { ...status, conditions: [other, condition] }, false],
    ['another reason', { ...status, conditions: [{ ...condition, reason: 'Forged' }, other] }, true],
    ['another status', { ...status, conditions: [{ ...condition, status: 'False' as const }, other] }, true],
    ['another transition time', { ...status, conditions: [{ ...condition, lastTransitionTime: '2020-03-01T12:00:00Z' }, other] }, true],
    ['an additional condition', { ...status, conditions: [condition, other, { type: 'X', status: 'True' as const }] }, true],
    ['a missing condition', { ...status, conditions: [condition] }, true],
    ['a condition of another type', { ...status, conditions: [condition, { ...other, type: 'X' }] }, true],
    ['another probe time', { ...status, lastProbeTime: '2026-03-01T12:00:00Z' }, false],
    ['a credential expiry', { ...status, credentialExpirationTime: '2026-03-01T12:00:00Z' }, true],
    ['a credential renewal time', { ...status, credentialRenewalTime: '2026-03-01T12:00:00Z' }, true],
    ['another version', { ...status, version: 'v1.36.5' }, true],
    ['an audience', { ...status, apiAudiences: ['https://a'] }, true],
    ['an endpoint', { ...status, activeEndpoint: 'https://a' }, true],
  ])('returns for a status with %s: %3$p', (_, given, expected) => expect(isDifferentStatus(status, given)).toBe(expected));

  it.each([
    ['no condition changed', ['2026-03-01T12:00:00Z', '2026-03-01T11:00:00Z'], true],
    ['one condition changed', ['2026-03-01T12:00:00Z', '2026-03-01T12:05:00Z'], false],
    ['every condition changed', ['2026-03-01T12:05:00Z', '2026-03-01T12:05:00Z'], false],
  ])('recognizes a status that was written when %s as a heartbeat: %3$p', (_, transitions, expected) => {
    const conditions = transitions.map((lastTransitionTime) => ({
      ...condition,
      lastTransitionTime,
      lastHeartbeatTime: '2026-03-01T12:05:00Z',
    }));
    expect(wasHeartbeat({ conditions })).toBe(expected);
  });
});

describe('distributionOf', () => {
  it.each([
    ['v1.36.4', 'Kubernetes'],
    ['v1.28.2+k3s1', 'K3s'],
    ['v1.28.5+rke2r1', 'RKE2'],
    ['v1.29.1+k0s', 'k0s'],
    ['v1.28.5-eks-5e0fdde', 'EKS'],
    ['v1.27.3-gke.100', 'GKE'],
    ['v1.26.3-aliyun.1', 'ACK'],
    ['v1.28.6+IKS', 'IKS'],
    ['v1.26.5+vmware.2', 'Tanzu'],
    ['v1.27.6+f67aeb3', 'OpenShift'],
    ['v1.31.0-alpha.1+dirty', 'Kubernetes'],
  ])('returns the distribution for version %s: %s', (version, expected) => expect(distributionOf(version)).toBe(expected));
});

describe('parseVersion', () => {
  it.each([
    ['v1.36.4', 'v1.36.4'],
    ['\u001b[31mv1.36.4\u001b[0m\u0000', 'v1.36.4'],
    ['<img src=x onerror=alert(1)>', 'imgsrcxonerroralert1'],
    ['', undefined],
    ['\u202e\n', undefined],
    [{ toString: () => 'v1' }, undefined],
    [17, undefined],
  ])('returns the version for %p: %p', (given, expected) => expect(parseVersion(given)).toBe(expected));

  it('returns at most 64 characters of versions for any string', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 3_000 }), (text) => /^[\w.+~-]{1,64}$/.test(parseVersion(text) ?? 'v1')));
  });
});
