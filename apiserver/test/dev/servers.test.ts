import { describe, expect, it } from '@jest/globals';
import { addMissingTokens, toUsersByToken } from '../../dev/servers.ts';

function counter(): () => string {
  let count = 0;
  return () => `opaque-${++count}`;
}

describe('addMissingTokens', () => {
  it('creates a token for each user of each server', () => {
    expect(addMissingTokens(['hub', 'target-1'], {}, counter())).toEqual({
      hub: { admin: 'opaque-1', alice: 'opaque-2', bob: 'opaque-3' },
      'target-1': { admin: 'opaque-4' },
    });
  });

  it('keeps known tokens, including those of servers outside the list', () => {
    const known = { hub: { admin: 'a', alice: 'b', bob: 'c' }, 'target-2': { admin: 'd' } };
    expect(addMissingTokens(['hub', 'target-1'], known, counter())).toEqual({ ...known, 'target-1': { admin: 'opaque-1' } });
  });
});

describe('toUsersByToken', () => {
  it('adds only the administrator to system:masters', () => {
    expect([...toUsersByToken({ admin: 'a', alice: 'b', bob: 'c' })]).toEqual([
      ['a', { name: 'admin', groups: ['system:masters'] }],
      ['b', { name: 'alice', groups: [] }],
      ['c', { name: 'bob', groups: [] }],
    ]);
  });
});
