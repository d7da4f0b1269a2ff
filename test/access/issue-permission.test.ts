import { describe, expect, it } from '@jest/globals';
import { Authorizer, issueNames } from '../../src/access/issue-permission.ts';
import type { User } from '../../src/access/user.ts';
import { FakeClock } from '../support/clock.ts';
import { silentLog } from '../support/silent-log.ts';

const target = { cluster: 'prod-eu', namespace: 'deploy', serviceAccount: 'deployer' };
const [exact, inNamespace, whole] = ['prod-eu/deploy/deployer', 'prod-eu/deploy', 'prod-eu'];

describe('issueNames', () => {
  it.each([
    ['names from the most to the least specific', undefined, [exact, inNamespace, whole]],
    ['the name that was allowed last time first', inNamespace, [inNamespace, exact, whole]],
    ['the name that was allowed last time once', exact, [exact, inNamespace, whole]],
    ['no allowed name of another cluster', 'prod-us', [exact, inNamespace, whole]],
  ])('returns %s', (_, lastAllowed, names) => {
    expect(issueNames(target, lastAllowed)).toEqual(names);
  });

  it.each(['kube-system', 'kube-public', 'kube-node-lease'])(
    'does not return the name of the cluster for the namespace %s',
    (namespace) => {
      expect(issueNames({ ...target, namespace }, 'prod-eu')).toEqual([`prod-eu/${namespace}/deployer`, `prod-eu/${namespace}`]);
    },
  );

  it('protects the configured namespaces', () => {
    expect(issueNames({ ...target, namespace: 'kube-system' }, undefined, ['deploy'])).toContain('prod-eu');
    expect(issueNames(target, undefined, ['deploy'])).not.toContain('prod-eu');
  });
});

const alice = (groups: readonly string[] = []): User => ({ username: 'alice', uid: 'u', groups, extra: {} });

function world() {
  const clock = new FakeClock();
  const names: string[] = [];
  const createReview = async (_resource: unknown, { spec }: { spec: { resourceAttributes: { name: string } } }) => {
    names.push(spec.resourceAttributes.name);
    return { status: { allowed: true } };
  };
  const authorizer = new Authorizer({ hub: { createReview: createReview as never }, clock, log: silentLog, protectedNamespaces: [] });
  const authorize = (user: User, requested = target) => authorizer.authorize(user, requested, new AbortController().signal);
  return { clock, names, authorize };
}

describe('Authorizer', () => {
  it('reviews once for two users with the same attributes', async () => {
    const { names, authorize } = world();
    await authorize(alice());
    await authorize(alice());
    expect(names).toHaveLength(1);
  });

  it('reviews again for other groups and for another service account', async () => {
    const { names, authorize } = world();
    await authorize(alice());
    await authorize(alice(['more']));
    await authorize(alice(), { ...target, serviceAccount: 'other' });
    expect(names).toHaveLength(3);
  });
});
