import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { fingerprintOf, formatVersion, versionOf } from '../../src/access/facade-version.ts';

const revision = fc.integer({ min: 1, max: 2 ** 37 });
const fingerprint = fc.integer({ min: 0, max: 2 ** 24 - 1 });

describe('formatVersion and versionOf', () => {
  it.each([
    [288, 0, '288'],
    [0, 1, '4611686018427387905'],
    [288, 2, '4611686023259226114'],
  ])('write revision %d with fingerprint %d as a number', (number, print, text) => {
    expect(formatVersion(number, print)).toBe(text);
  });

  it('read a version as it was written', () => {
    fc.assert(
      fc.property(revision, fingerprint, (number, print) => {
        expect(versionOf(BigInt(formatVersion(number, print)))).toEqual({ revision: number, fingerprint: print });
      }),
    );
  });

  it('return numbers of 63 bits that grow with the revision', () => {
    fc.assert(
      fc.property(revision, fingerprint, fingerprint, (number, one, other) => {
        const [print, next] = [Math.max(one, 1), Math.max(other, 1)];
        expect(BigInt(formatVersion(number + 1, next))).toBeGreaterThan(BigInt(formatVersion(number, print)));
        expect(BigInt(formatVersion(number, print))).toBeLessThan(2n ** 63n);
      }),
    );
  });
});

describe('fingerprintOf', () => {
  it('ignores the order of names and never returns a reserved fingerprint', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string()), (names) => {
        const print = fingerprintOf(names);
        expect(fingerprintOf(names.toReversed())).toBe(print);
        expect(print).toBeGreaterThan(1);
        expect(print).toBeLessThan(2 ** 24);
      }),
    );
  });

  it('returns different fingerprints for similar sets', () => {
    const prints = new Set(Array.from({ length: 2_000 }, (_, index) => fingerprintOf([`cluster-${index}`, `cluster-${index + 1}`])));
    expect(prints.size).toBeGreaterThan(1_995);
  });
});
