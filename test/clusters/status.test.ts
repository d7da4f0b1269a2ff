import { describe, expect, it } from '@jest/globals';
import type { ClusterStatus } from '../../src/api/cluster.gen.ts';
import { eventsOf } from '../../src/clusters/status.ts';

function ready(status: 'True' | 'False' | 'Unknown', reason: string): ClusterStatus {
  return { conditions: [{ type: 'Ready', status, reason, message: `${reason}.` }] };
}

describe('eventsOf', () => {
  it.each([
    ['the cluster becomes ready', {}, ready('True', 'ClusterReady'), ['Normal ClusterReady']],
    ['the cluster fails', ready('True', 'ClusterReady'), ready('False', 'Timeout'), ['Warning Timeout']],
    ['the cluster fails for another reason', ready('False', 'Timeout'), ready('False', 'DNSFailed'), ['Warning DNSFailed']],
    ['the cluster still fails', ready('False', 'Timeout'), ready('False', 'Timeout'), []],
    ['the cluster stays ready', ready('True', 'ClusterReady'), ready('True', 'ClusterReady'), []],
  ])('returns the events when %s', (_, previous, next, expected) => {
    expect(eventsOf(previous, next).map(({ type, reason }) => `${type} ${reason}`)).toEqual(expected);
  });
});
