// A condition that only this file defines: everything else follows from the table of conditions.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Cluster, ClusterCondition } from '../../src/api/cluster.gen.ts';
import { clusterConditions, evaluateProbe, type FaultReason, type ProbedRow, toFinding } from '../../src/clusters/policy/conditions.ts';
import { parseHealth, toConditions, updateHealth } from '../../src/clusters/policy/health.ts';
import { deriveEvents } from '../../src/clusters/status.ts';
import { CLUSTER_LIST } from '../../src/facade/clusters/cluster-list.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');

const unthrottled: ProbedRow = {
  meaning: 'the cluster does not throttle requests',
  events: 'all',
  isNeededForReady: true,
  evaluateProbe: ({ faults }) =>
    faults.some(({ reason }) => reason === 'Throttled') ? toFinding('False', 'Throttled') : toFinding('True', 'Responding'),
};

beforeEach(() => {
  clusterConditions.set('Unthrottled', unthrottled);
});
afterEach(() => {
  clusterConditions.delete('Unthrottled');
});

/** Returns the conditions after probes with these faults; undefined is a probe without a fault. */
function conditionsAfter(...probes: readonly (FaultReason | undefined)[]): readonly ClusterCondition[] {
  let health = parseHealth([]);
  for (const reason of probes) {
    health = updateHealth(health, evaluateProbe({ faults: reason === undefined ? [] : [{ reason, detail: '' }] }));
  }
  const findings = [...(health ?? [])].map(([type, { shown }]) => [type, shown] as const);
  return toConditions(new Map(findings), [], NOW);
}

function statuses(conditions: readonly ClusterCondition[]): readonly string[] {
  return conditions.map(({ type, status }) => `${type}=${status}`);
}

describe('clusterConditions with another row', () => {
  it('adds the condition to the status after the built-in conditions', () => {
    expect(statuses(conditionsAfter(undefined)).at(-1)).toBe('Unthrottled=True');
  });

  it('changes the condition, and Ready with it, after two probes in a row', () => {
    expect(statuses(conditionsAfter(undefined, 'Throttled'))).toContain('Unthrottled=True');
    expect(statuses(conditionsAfter(undefined, 'Throttled', 'Throttled'))).toEqual(
      expect.arrayContaining(['Ready=False', 'Reachable=True', 'Unthrottled=False']),
    );
  });

  it('restores the condition from the status after a restart', () => {
    expect(parseHealth(conditionsAfter('Throttled'))?.get('Unthrottled')).toEqual({ shown: toFinding('False', 'Throttled') });
  });

  it('records events about transitions of the condition', () => {
    const events = deriveEvents({ conditions: [...conditionsAfter(undefined)] }, { conditions: [...conditionsAfter('Throttled')] });
    expect(events.map(({ type, reason }) => `${type} ${reason}`)).toEqual(['Warning Throttled', 'Warning Throttled']);
  });

  it('shows the condition to callers of the façade', () => {
    const cluster = { metadata: { name: 'a' }, spec: {}, status: { conditions: [...conditionsAfter(undefined)] } } as unknown as Cluster;
    const { status } = CLUSTER_LIST.toPublic(cluster) as { readonly status?: { readonly conditions: readonly ClusterCondition[] } };
    expect(statuses(status?.conditions ?? [])).toContain('Unthrottled=True');
  });
});
