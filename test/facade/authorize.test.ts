// Who may have which token, as far as answers are kept.

import { describe, expect, it } from '@jest/globals';
import { Authorizer } from '../../src/facade/authorize.ts';
import type { User } from '../../src/facade/request.ts';
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
  const ask = (user: User, target = TARGET) => authorizer.authorize(user, target, new AbortController().signal);
  return { clock, names, ask };
}

describe('a decision', () => {
  it('counts for a user who is described once more in the same words', async () => {
    const { names, ask } = world();
    await ask(alice());
    await ask(alice());
    expect(names).toHaveLength(1);
  });

  it('counts for nobody of another description, and for no other account', async () => {
    const { names, ask } = world();
    await ask(alice());
    await ask(alice(['more']));
    await ask(alice(), { ...TARGET, serviceAccount: 'other' });
    expect(names).toHaveLength(3);
  });
});
