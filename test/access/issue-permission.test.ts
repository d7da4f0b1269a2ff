import { describe, expect, it } from '@jest/globals';
import { clusterSetOf, NO_CLUSTER_SET } from '../../src/access/cluster-set.ts';
import { toIssueNames } from '../../src/access/issue-permission.ts';

const target = { cluster: 'prod-eu', namespace: 'deploy', serviceAccount: 'deployer', clusterSet: 'prod' };
const [exact, inNamespace, whole] = ['prod-eu/deploy/deployer', 'prod-eu/deploy', 'prod-eu'];
const ofSet = ['set:prod/deploy/deployer', 'set:prod/deploy', 'set:prod'];

describe('toIssueNames', () => {
  it.each([
    ['names of the cluster and of its set, from the most to the least specific', undefined, [exact, inNamespace, whole, ...ofSet]],
    ['the name that was allowed last time first', inNamespace, [inNamespace, exact, whole, ...ofSet]],
    ['the name that was allowed last time only once', exact, [exact, inNamespace, whole, ...ofSet]],
    ['the name of a set that was allowed last time first', 'set:prod', ['set:prod', exact, inNamespace, whole, ...ofSet.slice(0, 2)]],
    ['no allowed name of another cluster', 'prod-us', [exact, inNamespace, whole, ...ofSet]],
    ['no allowed name of another set', 'set:dev', [exact, inNamespace, whole, ...ofSet]],
  ])('returns %s', (_, lastAllowed, names) => {
    expect(toIssueNames(target, lastAllowed)).toEqual(names);
  });

  it('returns as many names for a cluster without a set as for a cluster in a set', () => {
    expect(toIssueNames({ ...target, clusterSet: NO_CLUSTER_SET })).toEqual([
      exact,
      inNamespace,
      whole,
      'set:-/deploy/deployer',
      'set:-/deploy',
      'set:-',
    ]);
  });

  it.each(['kube-system', 'kube-public', 'kube-node-lease'])(
    'returns neither the bare cluster name nor the bare set name for the protected namespace %s',
    (namespace) => {
      const scopes = ['prod-eu', 'set:prod'];
      const names = scopes.flatMap((scope) => [`${scope}/${namespace}/deployer`, `${scope}/${namespace}`]);
      for (const lastAllowed of scopes) expect(toIssueNames({ ...target, namespace }, lastAllowed)).toEqual(names);
    },
  );

  it('returns no bare names for the configured protected namespaces, and bare names for all other namespaces', () => {
    expect(toIssueNames({ ...target, namespace: 'kube-system' }, undefined, ['deploy'])).toEqual(
      expect.arrayContaining(['prod-eu', 'set:prod']),
    );
    const names = toIssueNames(target, undefined, ['deploy']);
    expect(names.filter((name) => !name.includes('/'))).toEqual([]);
  });
});

describe('clusterSetOf', () => {
  const labeled = (set: string) => clusterSetOf({ metadata: { labels: { 'registry.purser.dev/set': set } } });

  it('returns the value of the set label', () => {
    expect(['prod', 'A_b.c-1', 'x'.repeat(63)].map(labeled)).toEqual(['prod', 'A_b.c-1', 'x'.repeat(63)]);
  });

  it.each([[''], ['-'], ['a/b'], ['prod/'], ['set:prod'], ['x'.repeat(64)], ['a b'], ['a\n']])(
    'returns NO_CLUSTER_SET for the value %j',
    (value) => {
      expect(labeled(value)).toBe(NO_CLUSTER_SET);
    },
  );

  it('returns NO_CLUSTER_SET for a Cluster without the label and for a missing Cluster', () => {
    expect([clusterSetOf(undefined), clusterSetOf({ metadata: {} }), clusterSetOf({ metadata: { labels: { set: 'prod' } } })]).toEqual([
      NO_CLUSTER_SET,
      NO_CLUSTER_SET,
      NO_CLUSTER_SET,
    ]);
  });
});
