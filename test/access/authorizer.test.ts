import { describe, expect, it } from '@jest/globals';
import { Authorizer } from '../../src/access/authorizer.ts';
import type { User } from '../../src/access/user.ts';
import { FakeClock } from '../support/clock.ts';
import { silentLog } from '../support/silent-log.ts';

const TARGET = { cluster: 'prod-eu', namespace: 'deploy', serviceAccount: 'deployer' };
const alice = (groups: readonly string[] = []): User => ({ username: 'alice', uid: 'u', groups, extra: {} });

function world() {
  const clock = new FakeClock();
  const names: string[] = [];
  const createReview = async (_resource: unknown, { spec }: { spec: { resourceAttributes: { name: string } } }) => {
    names.push(spec.resourceAttributes.name);
    return { status: { allowed: true } };
  };
  const authorizer = new Authorizer({ hub: { createReview: createReview as never }, clock, log: silentLog, protectedNamespaces: [] });
  const authorize = (user: User, target = TARGET) => authorizer.authorize(user, target, new AbortController().signal);
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
    await authorize(alice(), { ...TARGET, serviceAccount: 'other' });
    expect(names).toHaveLength(3);
  });
});
