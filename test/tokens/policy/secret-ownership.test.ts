import { describe, expect, it } from '@jest/globals';
import { earlierClaimant, nextClaimants } from '../../../src/tokens/policy/secret-ownership.ts';
import { aToken } from '../../support/builders.ts';

/** A ManagedToken that was created in this second of a minute. */
function claimant(second: number, deletionTimestamp?: string) {
  const creationTimestamp = `2026-03-01T12:00:${String(second).padStart(2, '0')}Z`;
  return aToken()
    .withMetadata({ name: `t-${second}`, uid: `uid-${second}`, creationTimestamp, ...(deletionTimestamp && { deletionTimestamp }) })
    .build();
}

describe('earlierClaimant', () => {
  it('returns the oldest ManagedToken that names the same Secret', () => {
    expect(earlierClaimant(claimant(9), [claimant(9), claimant(5), claimant(3), claimant(7)])).toBe('t-3');
  });

  it('returns undefined for the oldest ManagedToken, and ignores those that are being deleted', () => {
    const claimants = [claimant(1, '2026-03-01T13:00:00Z'), claimant(5), claimant(3)];
    expect([earlierClaimant(claimant(3), claimants), earlierClaimant(claimant(5), claimants)]).toEqual([undefined, 't-3']);
  });
});

describe('nextClaimants', () => {
  it('returns all of a few claimants', () => {
    const few = Array.from({ length: 16 }, (_, index) => claimant(index));
    expect(nextClaimants(few)).toBe(few);
  });

  it('returns the sixteen oldest of many claimants, in any order', () => {
    const many = Array.from({ length: 60 }, (_, index) => claimant((index * 37) % 60));
    expect(nextClaimants(many).map(({ metadata }) => metadata.name)).toEqual(Array.from({ length: 16 }, (_, index) => `t-${index}`));
  });
});
