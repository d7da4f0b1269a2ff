import { describe, expect, it } from '@jest/globals';
import type { ManagedToken } from '../../../src/api/managed-token.gen.ts';
import { readingOf } from '../../../src/clusters/policy/conditions.ts';
import { namespacesToAsk, narrowRights } from '../../../src/clusters/policy/issue-scope.ts';

function tokenFor(namespace: string, status: ManagedToken['status'] = {}): ManagedToken {
  return { metadata: {}, spec: { serviceAccount: { namespace, name: 'deployer' } }, status } as unknown as ManagedToken;
}

describe('the namespaces to ask about', () => {
  it('are those that ManagedTokens name, each once', () =>
    expect(namespacesToAsk(['b', 'a', 'b'].map((namespace) => tokenFor(namespace)))).toEqual(['a', 'b']));

  it('are few, and those that tokens were issued for cannot be pushed out', () => {
    const crowd = Array.from({ length: 50 }, (_, index) => tokenFor(`a-${index}`));
    const asked = namespacesToAsk([...crowd, tokenFor('z', { issuedAt: '2026-01-01T00:00:00Z' })]);

    expect(asked).toHaveLength(10);
    expect(asked[0]).toBe('z');
  });

  it('are none where no ManagedToken names any', () => expect(namespacesToAsk([])).toEqual([]));
});

describe('rights in single namespaces', () => {
  it.each([
    ['in 1 namespace.', [true]],
    ['in 3 namespaces.', [true, true, true]],
    ['in 1 of 3 namespaces asked about.', [false, true, false]],
  ])('are told: %s', (scope, answers) => {
    const { fault, scope: told } = narrowRights('purser', answers);
    const { authorized, ready } = readingOf(fault ? [fault] : [], told);

    expect(authorized).toMatchObject({ status: 'True', reason: 'RightsGranted', message: expect.stringContaining(`: ${scope}`) });
    expect(ready.status).toBe('True');
  });

  it.each([[[]], [[false, false]]])('are none by the answers %j', (answers) =>
    expect(narrowRights('purser', answers)).toEqual({ fault: { reason: 'Forbidden', detail: 'purser' } }),
  );
});
