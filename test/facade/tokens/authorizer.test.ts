import { describe, expect, it } from '@jest/globals';
import { NO_CLUSTER_SET } from '../../../src/access/cluster-set.ts';
import type { User } from '../../../src/access/user.ts';
import { Authorizer } from '../../../src/facade/tokens/authorizer.ts';
import { FakeClock } from '../../support/clock.ts';
import { silentLog } from '../../support/silent-log.ts';

const target = { cluster: 'prod-eu', namespace: 'deploy', serviceAccount: 'deployer', clusterSet: 'prod' };
const ofSet = ['set:prod/deploy/deployer', 'set:prod/deploy', 'set:prod'];
const alice = (groups: readonly string[] = []): User => ({ username: 'alice', uid: 'u', groups, extra: {} });

/** Returns an authorizer on a hub that permits only the resource names in `allowed`; all by default. */
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
    'rejects a caller whose rule names only %s, for clusters with and without a set',
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
