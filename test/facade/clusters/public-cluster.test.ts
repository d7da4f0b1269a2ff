import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Cluster } from '../../../src/api/cluster.gen.ts';
import { ClusterReason } from '../../../src/api/reasons.ts';
import { publicCluster } from '../../../src/facade/clusters/cluster-kind.ts';

/** Returns the public form of stored conditions. */
function published(conditions: readonly unknown[]): unknown {
  const cluster = { metadata: { name: 'prod' }, spec: {}, status: { conditions } } as unknown as Cluster;
  return (publicCluster(cluster)['status'] as { readonly conditions: unknown }).conditions;
}

const TIMES = { lastHeartbeatTime: '2026-03-01T12:00:00Z', lastTransitionTime: '2026-03-01T11:00:00Z' };

describe('publicCluster conditions', () => {
  it('replaces the stored message with the sentence of the reason', () => {
    const message = 'The credential is missing: there is no Secret purser-system/prod.';
    expect(published([{ type: 'Authorized', status: 'False', reason: 'CredentialMissing', message, ...TIMES }])).toEqual([
      {
        type: 'Authorized',
        status: 'False',
        reason: 'CredentialMissing',
        message: `${ClusterReason.CredentialMissing}.`,
        ...TIMES,
      },
    ]);
  });

  it('publishes a reason that Purser does not use as Unknown', () => {
    const generic = { reason: 'Unknown', message: 'Purser did not write this condition.' };
    for (const reason of ['Leaked', 'toString', '', undefined, 7]) {
      expect(published([{ type: 'Ready', status: 'True', reason, message: 'x' }])).toEqual([{ type: 'Ready', status: 'True', ...generic }]);
    }
  });

  it('omits conditions of unknown type or status, and times that are not timestamps', () => {
    expect(
      published([
        { type: 'Other', status: 'True', reason: 'ClusterReady' },
        { type: 'Ready', status: 'Maybe', reason: 'ClusterReady' },
        'text',
        { type: 'Reachable', status: 'True', reason: 'Responding', lastHeartbeatTime: 'soon', lastTransitionTime: {} },
      ]),
    ).toEqual([{ type: 'Reachable', status: 'True', reason: 'Responding', message: expect.any(String) }]);
  });

  it('publishes the same whatever the stored message is', () => {
    const condition = fc.record({
      type: fc.constantFrom('Ready', 'Reachable', 'Authorized', 'CredentialFresh'),
      status: fc.constantFrom('True', 'False', 'Unknown'),
      reason: fc.oneof(fc.constantFrom(...Object.keys(ClusterReason)), fc.string()),
    });
    fc.assert(
      fc.property(condition, fc.string(), fc.anything(), (stored, one, other) => {
        expect(published([{ ...stored, message: one }])).toEqual(published([{ ...stored, message: other }]));
      }),
    );
  });
});
