import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { computeRenewAt, earliestRenewAt, isClamped, latestRetryAt, parseRenewBeforeMs } from '../../../src/tokens/policy/rotation.ts';
import { at, NOON } from '../../support/builders.ts';

const UID = 'b6b2c7a0-6a53-4b8e-9a3f-0c9d5a1f2e01';
const HOUR = { issuedAt: NOON, expiresAt: at('13:00:00') };

describe('parseRenewBeforeMs', () => {
  it.each([
    ['20%', 720_000],
    ['1%', 36_000],
    ['90%', 3_240_000],
    ['15m', 900_000],
    ['1h30m', 5_400_000],
    ['45s', 45_000],
  ])('parses %s of an hour', (text, ms) => {
    expect(parseRenewBeforeMs(text, 3_600_000)).toBe(ms);
  });

  it.each(['', '0%', '91%', '100%', '-5%', '20', '0s', '-5m', 'soon', '9'.repeat(100), `${'9'.repeat(30)}h`])(
    'treats %p as 20%%',
    (text) => {
      expect(parseRenewBeforeMs(text, 3_600_000)).toBe(720_000);
    },
  );
});

describe('computeRenewAt', () => {
  it.each([
    ['20%', '12:46:38'],
    ['15m', '12:43:38'],
    ['1%', '12:58:02'],
  ])('returns %s and the jitter of this UID before the expiry', (renewBefore, time) => {
    expect(computeRenewAt(HOUR, renewBefore, UID)).toBe(at(time));
  });

  it.each(['90%', '1h', '24h'])('returns a time after the first tenth of the lifetime with renewBefore %s, with jitter', (renewBefore) => {
    expect(computeRenewAt(HOUR, renewBefore, UID)).toBe(at('12:07:38'));
  });

  it('returns the same time for the same UID, and spreads the times of other UIDs over a twentieth of the lifetime', () => {
    const buckets = Array.from({ length: 10 }, () => 0);
    for (let index = 0; index < 10_000; index++) {
      const early = at('12:48:00') - computeRenewAt(HOUR, '20%', `4f0e3c1d-0000-4000-8000-${String(index).padStart(12, '0')}`);
      const bucket = Math.floor(early / 18_001);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    expect(buckets).toHaveLength(10);
    for (const count of buckets) expect(count).toBeGreaterThan(850);
    expect(computeRenewAt(HOUR, '20%', UID)).toBe(computeRenewAt(HOUR, '20%', UID));
  });

  it('returns a time for any long lifetime', () => {
    const expiresAt = NOON + 2 ** 32 * 1000;
    expect(new Date(computeRenewAt({ issuedAt: NOON, expiresAt }, '1%', UID)).toISOString()).toBe('2157-10-24T00:37:35.000Z');
  });

  it('returns a time between a tenth of the lifetime and the expiry for any renewBefore and UID', () => {
    const lifetimes = fc.integer({ min: 31, max: 2 ** 32 });
    const issued = fc.integer({ min: 0, max: 4e9 }).map((seconds) => seconds * 1000);
    const renewBefores = fc.oneof(fc.constantFrom('1%', '20%', '90%', '15m', '9999h', '1s'), fc.string());
    fc.assert(
      fc.property(issued, lifetimes, renewBefores, fc.string(), (issuedAt, seconds, renewBefore, uid) => {
        const expiresAt = issuedAt + seconds * 1000;
        const renewal = computeRenewAt({ issuedAt, expiresAt }, renewBefore, uid);
        expect(renewal).toBeGreaterThanOrEqual(issuedAt + Math.max(30_000, seconds * 100));
        expect(renewal).toBeLessThanOrEqual(expiresAt);
        expect(renewal % 1000).toBe(0);
      }),
    );
  });

  it('returns a number for any times', () => {
    const times = fc.oneof(fc.double(), fc.constantFrom(Number.NaN, Infinity, -Infinity, 2 ** 53, -1));
    fc.assert(
      fc.property(times, times, (issuedAt, expiresAt) => {
        expect(Number.isFinite(computeRenewAt({ issuedAt, expiresAt }, '20%', UID))).toBe(true);
      }),
    );
  });
});

describe('earliestRenewAt', () => {
  it.each([
    ['an hour', '13:00:00', '12:06:00'],
    ['ten minutes', '12:10:00', '12:01:00'],
    ['two minutes', '12:02:00', '12:00:30'],
    ['nothing', '11:00:00', '12:00:30'],
  ])('returns the earliest renewal time for a lifetime of %s until %s: %s', (_, expiry, earliest) => {
    expect(earliestRenewAt({ issuedAt: NOON, expiresAt: at(expiry) })).toBe(at(earliest));
  });
});

describe('isClamped', () => {
  it.each([
    ['20%', false],
    ['90%', false],
    ['54m', false],
    ['55m', true],
    ['24h', true],
  ])('returns whether renewBefore %s requests a renewal too early for a lifetime of an hour: %p', (renewBefore, isTooEarly) => {
    expect(isClamped(HOUR, renewBefore)).toBe(isTooEarly);
  });
});

describe('latestRetryAt', () => {
  it.each([
    ['a fifth of a long validity', 600_000, 120_000],
    ['5 s when a fifth is less', 20_000, 5_000],
    ['5 s just before the expiry', 1, 5_000],
    ['5 s after the expiry, since the token is still in its Secret', 0, 5_000],
    ['5 s long after the expiry', -60_000, 5_000],
  ])('returns %s', (_case, remainingMs, waitMs) => {
    expect(latestRetryAt(NOON + remainingMs, NOON) - NOON).toBe(waitMs);
  });
});
