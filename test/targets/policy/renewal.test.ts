import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Cluster, ClusterCredential } from '../../../src/api/cluster.gen.ts';
import { combineRenewalTerms, computeRenewalDueAt, computeRenewalSlotAt } from '../../../src/targets/policy/renewal.ts';
import { NOON } from '../../support/builders.ts';

const HOUR_MS = 3_600_000;

function cluster(credential?: Partial<ClusterCredential>): Pick<Cluster, 'spec'> {
  const spec = { orchestratorApiEndpoints: { serverEndpoints: [] }, ...(credential && { credential: credential as ClusterCredential }) };
  return { spec };
}

describe('combineRenewalTerms', () => {
  it('returns the defaults of the schema for a Cluster without spec.credential', () => {
    expect(combineRenewalTerms([cluster()])).toEqual({ isAutomatic: true, lifetimeMs: 168 * HOUR_MS, overlapMs: 60_000 });
  });

  it('returns the shortest lifetime, the longest overlap, and Manual if one Cluster is Manual', () => {
    const clusters = [
      cluster({ lifetime: '1h', overlap: '30s' }),
      cluster(),
      cluster({ renewal: 'Manual', lifetime: '2h', overlap: '2m' }),
    ];
    expect(combineRenewalTerms(clusters)).toEqual({ isAutomatic: false, lifetimeMs: HOUR_MS, overlapMs: 120_000 });
  });

  it.each([
    ['a text that is not a duration', 'soon', 168 * HOUR_MS],
    ['a lifetime below the minimum', '1s', 600_000],
    ['a lifetime above the maximum', '9000h', 720 * HOUR_MS],
  ])('returns a permitted lifetime for %s', (_, lifetime, lifetimeMs) => {
    expect(combineRenewalTerms([cluster({ lifetime })]).lifetimeMs).toBe(lifetimeMs);
  });

  it('disables renewal of a Secret that no Cluster uses', () => {
    expect(combineRenewalTerms([]).isAutomatic).toBe(false);
  });
});

describe('computeRenewalSlotAt', () => {
  it('returns a time between an eighth and a half of every lifetime to the second, and at least ten seconds after issuance', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.integer({ min: 1, max: 720 * 3_600 }), fc.integer({ min: 0, max: 1e9 }), (uid, seconds, offset) => {
        const [issuedAt, lifetimeMs] = [NOON + offset, seconds * 1_000];
        const ageMs = (computeRenewalSlotAt({ issuedAt, expiresAt: issuedAt + lifetimeMs }, uid) ?? 0) - issuedAt;
        expect(ageMs).toBeGreaterThanOrEqual(Math.max(10_000, Math.floor(lifetimeMs / 8)));
        expect(ageMs).toBeLessThanOrEqual(Math.max(10_000, lifetimeMs / 2 + 1_000));
      }),
    );
  });

  it('returns exactly half of the lifetime for a token that was renewed on time', () => {
    const issuedAt = computeRenewalSlotAt({ issuedAt: NOON, expiresAt: NOON + HOUR_MS }, 'u') ?? 0;
    const next = computeRenewalSlotAt({ issuedAt, expiresAt: issuedAt + HOUR_MS }, 'u') ?? 0;
    expect(Math.abs(next - issuedAt - HOUR_MS / 2)).toBeLessThanOrEqual(HOUR_MS / 2);
    const later = computeRenewalSlotAt({ issuedAt: next, expiresAt: next + HOUR_MS }, 'u') ?? 0;
    expect(later - next).toBe(HOUR_MS / 2);
  });

  it('returns half of the lifetime to the second if times are recorded as whole seconds', () => {
    fc.assert(
      fc.property(fc.uuid(), (uid) => {
        const times = [NOON];
        for (let round = 0; round < 8; round++) {
          const issuedAt = Math.floor((times[round] ?? 0) / 1_000) * 1_000;
          times.push(computeRenewalSlotAt({ issuedAt, expiresAt: issuedAt + HOUR_MS }, uid) ?? 0);
        }
        // The first renewals move the credential to its slot.
        for (let round = 4; round < 8; round++) {
          const ageMs = (times[round] ?? 0) - (times[round - 1] ?? 0);
          expect(Math.abs(ageMs - HOUR_MS / 2)).toBeLessThanOrEqual(1_000);
        }
      }),
    );
  });

  it('returns undefined for a token of unknown or unlimited validity', () => {
    expect([computeRenewalSlotAt({ issuedAt: NOON }, 'u'), computeRenewalSlotAt({ expiresAt: NOON }, 'u')]).toEqual([undefined, undefined]);
  });

  it('spreads a thousand credentials that were renewed together evenly over half of a lifetime', () => {
    const uids = Array.from({ length: 1_000 }, (_, index) => `uid-${index}`);
    let issued = new Map(uids.map((uid) => [uid, NOON]));
    for (let round = 0; round < 4; round++) {
      issued = new Map(uids.map((uid) => [uid, computeRenewalSlotAt(period(issued.get(uid) ?? 0), uid) ?? 0]));
    }
    const perMinute = new Map<number, number>();
    for (const at of issued.values()) {
      const minute = Math.floor((at % (HOUR_MS / 2)) / 60_000);
      perMinute.set(minute, (perMinute.get(minute) ?? 0) + 1);
    }
    expect(perMinute.size).toBe(30);
    expect(Math.max(...perMinute.values())).toBeLessThanOrEqual(60);
  });
});

describe('computeRenewalDueAt', () => {
  const token = { digest: 'd', issuedAt: NOON, expiresAt: NOON + HOUR_MS };

  it.each([
    ['the time of issuance for a supplied token', true, true, NOON],
    ['undefined for a Manual credential', true, false, undefined],
    ['the half-life of a token that Purser obtained', false, true, computeRenewalSlotAt(token, 'u')],
  ])('returns %s', (_, isSupplied, isAutomatic, dueAt) => {
    expect(computeRenewalDueAt({ ...token, isSupplied }, { isAutomatic }, 'u')).toBe(dueAt);
  });
});

function period(issuedAt: number) {
  return { issuedAt, expiresAt: issuedAt + HOUR_MS };
}
