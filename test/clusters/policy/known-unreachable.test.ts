import { describe, expect, it } from '@jest/globals';
import type { Cluster } from '../../../src/api/cluster.gen.ts';
import { unreachableMs } from '../../../src/clusters/policy/known-unreachable.ts';
import { rfc3339 } from '../../../src/std/timestamp.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const PROBE_MS = 10_000;

function saying(status: 'True' | 'False' | 'Unknown', lastHeartbeatTime?: string): Cluster {
  const condition = { type: 'Reachable', status, ...(lastHeartbeatTime !== undefined && { lastHeartbeatTime }) };
  return { status: { conditions: [{ type: 'Ready', status: 'False', lastHeartbeatTime: rfc3339(NOW) }, condition] } } as unknown as Cluster;
}

describe('the word that a cluster cannot be reached', () => {
  it.each([
    ['now', 0, 20_000],
    ['a probe ago', 10_000, 10_000],
    ['just within two probes', 19_000, 1_000],
    ['two probes ago', 20_000, 0],
    ['hours ago', 7_200_000, 0],
    ['by a clock that is a little ahead', -5_000, 25_000],
    ['by a clock that is far ahead', -3_600_000, 0],
  ])('stands for two probes when it was said %s', (_when, ageMs, leftMs) => {
    expect(unreachableMs(saying('False', rfc3339(NOW - ageMs)), PROBE_MS, NOW)).toBe(leftMs);
  });

  it.each([
    ['it answers', saying('True', rfc3339(NOW))],
    ['nobody knows', saying('Unknown', rfc3339(NOW))],
    ['nobody says when', saying('False')],
    ['the time is none', saying('False', 'soon')],
    ['nothing was said', {} as Cluster],
  ])('is not heard where %s', (_case, cluster) => {
    expect(unreachableMs(cluster, PROBE_MS, NOW)).toBe(0);
  });
});
