import { describe, expect, it } from '@jest/globals';
import { decideRemoval } from '../../../src/sets/policy/removal.ts';

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `uid-${index}`);
const decide = (count: number, total: number, removed = 0, confirmation?: string) =>
  decideRemoval({ uids: numbered(count), total, removed, confirmation });

describe('decideRemoval', () => {
  it.each([
    [0, 0, 0],
    [10, 10, 0],
    [11, 33, 0],
    [5, 5, 5],
  ])('allows the removal of %i of %i ManagedTokens after %i others', (count, total, removed) => {
    expect(decide(count, total, removed)).toEqual({ type: 'allowed', isConfirmed: false });
  });

  it.each([
    [11, 11, 0],
    [11, 32, 0],
    [1, 10, 10],
  ])('pauses the removal of %i of %i ManagedTokens after %i others', (count, total, removed) => {
    expect(decide(count, total, removed)).toMatchObject({ type: 'paused', count });
  });

  it('defers a removal within the limit while the number of earlier removals is not known', () => {
    const unknown = { total: 12, removed: undefined, confirmation: undefined };
    expect(decideRemoval({ ...unknown, uids: numbered(1) })).toEqual({ type: 'deferred' });
    expect(decideRemoval({ ...unknown, uids: numbered(12) }).type).toBe('paused');
    expect(decideRemoval({ ...unknown, uids: [] }).type).toBe('allowed');
  });

  it('allows only the removal that was confirmed', () => {
    const paused = decide(12, 12);
    const value = paused.type === 'paused' ? paused.value : '';
    expect(value).toMatch(/^12-[0-9a-f]{12}$/);
    expect(decide(12, 12, 0, value)).toEqual({ type: 'allowed', isConfirmed: true });
    expect(decide(13, 13, 0, value).type).toBe('paused');
    const recreated = numbered(12).map((uid) => `new-${uid}`);
    expect(decideRemoval({ uids: recreated, total: 12, removed: 0, confirmation: value }).type).toBe('paused');
  });
});
