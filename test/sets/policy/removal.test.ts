import { describe, expect, it } from '@jest/globals';
import { decideRemoval } from '../../../src/sets/policy/removal.ts';

const names = (count: number) => Array.from({ length: count }, (_, index) => `fleet-${index}`);
const decide = (count: number, total: number, removed = 0, confirmation?: string) =>
  decideRemoval({ setUid: 'uid', names: names(count), total, removed, confirmation });

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

  it('allows exactly the confirmed removal', () => {
    const paused = decide(12, 12);
    const value = paused.type === 'paused' ? paused.value : '';
    expect(value).toMatch(/^12-[0-9a-f]{12}$/);
    expect(decide(12, 12, 0, value)).toEqual({ type: 'allowed', isConfirmed: true });
    expect(decide(13, 13, 0, value).type).toBe('paused');
    expect(decideRemoval({ setUid: 'other', names: names(12), total: 12, removed: 0, confirmation: value }).type).toBe('paused');
  });
});
