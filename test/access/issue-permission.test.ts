import { describe, expect, it } from '@jest/globals';
import { clusterSetOf, NO_CLUSTER_SET } from '../../src/access/cluster-set.ts';
import { Authorizer, toIssueNames } from '../../src/access/issue-permission.ts';
import type { User } from '../../src/access/user.ts';
import { FakeClock } from '../support/clock.ts';
import { silentLog } from '../support/silent-log.ts';

const target = { cluster: 'prod-eu', namespace: 'deploy', serviceAccount: 'deployer', clusterSet: 'prod' };
const [exact, inNamespace, whole] = ['prod-eu/deploy/deployer', 'prod-eu/deploy', 'prod-eu'];
const ofSet = ['set:prod/deploy/deployer', 'set:prod/deploy', 'set:prod'];

describe('toIssueNames', () => {
  it.each([
    ['names of the cluster and of its set, from the most to the least specific', undefined, [exact, inNamespace, whole, ...ofSet]],
    ['the name that was allowed last time first', inNamespace, [inNamespace, exact, whole, ...ofSet]],
    ['the name that was allowed last time once', exact, [exact, inNamespace, whole, ...ofSet]],
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
  const labelled = (set: string) => clusterSetOf({ metadata: { labels: { 'registry.purser.dev/set': set } } });

  it('returns the value of the set label', () => {
    expect(['prod', 'A_b.c-1', 'x'.repeat(63)].map(labelled)).toEqual(['prod', 'A_b.c-1', 'x'.repeat(63)]);
  });

  it.each([[''], ['-'], ['a/b'], ['prod/'], ['set:prod'], ['x'.repeat(64)], ['a b'], ['a\n']])(
    'returns NO_CLUSTER_SET for the value %j',
    (value) => {
      expect(labelled(value)).toBe(NO_CLUSTER_SET);
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

const alice = (groups: readonly string[] = []): User => ({ username: 'alice', uid: 'u', groups, extra: {} });

/** Returns an authorizer on a hub that allows these names; all by default. */
function world(allowed?: readonly string[]) {
  const clock = new FakeClock();
  const names: string[] = [];
  const createReview = async (_resource: unknown, { spec }: { spec: { resourceAttributes: { name: string } } }) => {
    const { name } = spec.resourceAttributes;
    names.push(name);
    return { status: { allowed: allowed?.includes(name) ?? true } };
  };
  const authorizer = new Authorizer({ hub: { createReview: createReview as never }, clock, log: silentLog, protectedNamespaces: [] });
  const authorize = (user: User, requested = target) => authorizer.authorize(user, requested, new AbortController().signal);
  return { clock, names, authorize };
}

describe('Authorizer', () => {
  it('sends one review for two users with the same attributes', async () => {
    const { names, authorize } = world();
    await authorize(alice());
    await authorize(alice());
    expect(names).toHaveLength(1);
  });

  it('sends another review for different groups and for another service account', async () => {
    const { names, authorize } = world();
    await authorize(alice());
    await authorize(alice(['more']));
    await authorize(alice(), { ...target, serviceAccount: 'other' });
    expect(names).toHaveLength(3);
  });

  it("allows a token if a review allows any of the names of the cluster's set", async () => {
    for (const name of ofSet) await expect(world([name]).authorize(alice())).resolves.toBeUndefined();
  });

  it('sends another review as soon as the cluster is in another set', async () => {
    const { names, authorize } = world(['set:prod']);
    await authorize(alice());
    await expect(authorize(alice(), { ...target, clusterSet: 'dev' })).rejects.toMatchObject({ code: 403 });
    await expect(authorize(alice(), { ...target, clusterSet: NO_CLUSTER_SET })).rejects.toMatchObject({ code: 403 });
    expect(names.filter((name) => name.startsWith('set:'))).toEqual([
      ...ofSet,
      ...ofSet.map((name) => name.replace('prod', 'dev')),
      ...ofSet.map((name) => name.replace('prod', '-')),
    ]);
  });

  it.each([['set:-'], ['set:-/deploy'], ['set:-/deploy/deployer'], ['*'], ['set:*'], ['set:'], ['set:prod/'], ['set:prod/deploy/']])(
    'refuses a caller whose rule names only %s, for clusters with and without a set',
    async (name) => {
      for (const clusterSet of ['prod', NO_CLUSTER_SET]) {
        const { names, authorize } = world([name]);
        await expect(authorize(alice(), { ...target, clusterSet })).rejects.toMatchObject({
          code: 403,
          message: expect.not.stringContaining('set:'),
        });
        expect(names).toHaveLength(6);
      }
    },
  );
});
