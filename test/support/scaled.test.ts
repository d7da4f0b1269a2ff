import { afterEach, describe, expect, it } from '@jest/globals';
import { scaled } from './scaled.ts';

describe('scaled', () => {
  afterEach(() => void Reflect.deleteProperty(globalThis, 'isExhaustive'));

  it('returns the quick value in npm test', () => expect(scaled({ full: 30, quick: 3 })).toBe(3));

  it('returns the full value in the Jest project of exhaustive tests', () => {
    Object.assign(globalThis, { isExhaustive: true });
    expect(scaled({ full: 30, quick: 3 })).toBe(30);
  });
});
