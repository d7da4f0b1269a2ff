import { describe, expect, it } from '@jest/globals';
import type { Cluster } from '../../../src/api/cluster.gen.ts';
import { ClusterHistory } from '../../../src/facade/listwatch/history.ts';

/** A Cluster with labels of this many bytes at a version. */
function labeled(version: number, bytes: number): Cluster {
  return {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'prod', uid: 'u', resourceVersion: String(version), labels: { filler: 'x'.repeat(bytes) } },
    spec: { orchestratorApiEndpoints: { serverEndpoints: [] } },
  };
}

describe('ClusterHistory', () => {
  it('forgets old changes by their size, so that large Clusters do not fill the memory', () => {
    const history = new ClusterHistory({ annotationPrefixes: [], capacity: 1_000, maxWeight: 1_000_000 });
    history.load([labeled(1, 100_000)], 1);
    for (let version = 2; version <= 100; version++) {
      const object = labeled(version, 100_000);
      history.apply({
        type: 'applied',
        resourceVersion: String(version),
        changes: [{ type: 'updated', key: 'prod', object, previous: object }],
      } as never);
    }
    expect(history.end - history.start).toBeLessThan(11);
    expect([history.oldest > 80, history.positionAfter(99) !== undefined, history.positionAfter(50)]).toEqual([true, true, undefined]);
  });
});
