import { afterEach, describe, expect, it } from '@jest/globals';
import { allOrFirst, onlyExhaustive, scaled } from './scaled.ts';

afterEach(() => void Reflect.deleteProperty(globalThis, 'isExhaustive'));

describe('scaled', () => {
  it('returns the quick value in npm test', () => expect(scaled({ full: 30, quick: 3 })).toBe(3));

  it('returns the full value in the Jest project of exhaustive tests', () => {
    Object.assign(globalThis, { isExhaustive: true });
    expect(scaled({ full: 30, quick: 3 })).toBe(30);
  });
});

describe('allOrFirst', () => {
  it('returns the first case in npm test, and all in the Jest project of exhaustive tests', () => {
    expect(allOrFirst(['a', 'b'])).toEqual(['a']);
    Object.assign(globalThis, { isExhaustive: true });
    expect(allOrFirst(['a', 'b'])).toEqual(['a', 'b']);
  });
});

describe('onlyExhaustive', () => {
  it('defines tests in the Jest project of exhaustive tests only', () => {
    const defined: string[] = [];
    onlyExhaustive(() => defined.push('npm test'));
    Object.assign(globalThis, { isExhaustive: true });
    onlyExhaustive(() => defined.push('npm run test:exhaustive'));
    expect(defined).toEqual(['npm run test:exhaustive']);
  });
});
