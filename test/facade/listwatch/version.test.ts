import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { formatVersion, parseVersion } from '../../../src/facade/listwatch/version.ts';

const revision = fc.integer({ min: 1, max: 2 ** 37 });
const fingerprint = fc.integer({ min: 0, max: 2 ** 24 - 1 });

describe('formatVersion', () => {
  it.each([
    [288, 0, '288'],
    [0, 1, '4611686018427387905'],
    [288, 2, '4611686023259226114'],
  ])('returns a decimal number for revision %d and fingerprint %d', (number, print, text) => {
    expect(formatVersion(number, print)).toBe(text);
  });

  it('returns a version that parseVersion reads back', () => {
    fc.assert(
      fc.property(revision, fingerprint, (number, print) => {
        expect(parseVersion(BigInt(formatVersion(number, print)))).toEqual({ revision: number, fingerprint: print });
      }),
    );
  });

  it('returns versions that grow with the revision and fit into a signed 64-bit integer', () => {
    fc.assert(
      fc.property(revision, fingerprint, fingerprint, (number, one, other) => {
        const [print, next] = [Math.max(one, 1), Math.max(other, 1)];
        expect(BigInt(formatVersion(number + 1, next))).toBeGreaterThan(BigInt(formatVersion(number, print)));
        expect(BigInt(formatVersion(number, print))).toBeLessThan(2n ** 63n);
      }),
    );
  });
});
