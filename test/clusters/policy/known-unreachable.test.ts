import { describe, expect, it } from '@jest/globals';
import type { Cluster } from '../../../src/api/cluster.gen.ts';
import { unreachableMs } from '../../../src/clusters/policy/known-unreachable.ts';
import { formatTimestamp } from '../../../src/std/timestamp.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const PROBE_MS = 10_000;

function reporting(status: 'True' | 'False' | 'Unknown', lastHeartbeatTime?: string): Cluster {
  const condition = { type: 'Reachable', status, ...(lastHeartbeatTime !== undefined && { lastHeartbeatTime }) };
  return {
    status: { conditions: [{ type: 'Ready', status: 'False', lastHeartbeatTime: formatTimestamp(NOW) }, condition] },
  } as unknown as Cluster;
}

describe('unreachableMs', () => {
  it.each([
    ['now', 0, 20_000],
    ['a probe ago', 10_000, 10_000],
    ['just within two probes', 19_000, 1_000],
    ['two probes ago', 20_000, 0],
    ['hours ago', 7_200_000, 0],
    ['5 s in the future', -5_000, 25_000],
    ['an hour in the future', -3_600_000, 0],
  ])('returns the rest of two probe intervals for a heartbeat %s', (_when, ageMs, leftMs) => {
    expect(unreachableMs(reporting('False', formatTimestamp(NOW - ageMs)), PROBE_MS, NOW)).toBe(leftMs);
  });

  it.each([
    ['Reachable=True', reporting('True', formatTimestamp(NOW))],
    ['Reachable=Unknown', reporting('Unknown', formatTimestamp(NOW))],
    ['no heartbeat', reporting('False')],
    ['an invalid heartbeat', reporting('False', 'soon')],
    ['no status', {} as Cluster],
  ])('returns 0 for a Cluster with %s', (_case, cluster) => {
    expect(unreachableMs(cluster, PROBE_MS, NOW)).toBe(0);
  });
});
