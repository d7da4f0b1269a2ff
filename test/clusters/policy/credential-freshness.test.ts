import { describe, expect, it } from '@jest/globals';
import { credentialFreshness } from '../../../src/clusters/policy/credential-freshness.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe('a credential', () => {
  it.each([
    ['that says nothing', undefined, 'Unknown ExpiryUnknown'],
    ['without an end', {}, 'True CredentialValid'],
    ['of a year, on its first day', { startsAt: NOW, expiresAt: NOW + 365 * DAY_MS }, 'True CredentialValid'],
    ['of a year, a month before its end', { startsAt: NOW - 335 * DAY_MS, expiresAt: NOW + 30 * DAY_MS }, 'False CredentialExpiring'],
    ['of an hour, half of it over', { startsAt: NOW - HOUR_MS / 2, expiresAt: NOW + HOUR_MS / 2 }, 'True CredentialValid'],
    ['of an hour, in its last fifth', { startsAt: NOW - 0.8 * HOUR_MS, expiresAt: NOW + 0.2 * HOUR_MS }, 'False CredentialExpiring'],
    ['without a beginning, near its end', { expiresAt: NOW + DAY_MS }, 'False CredentialExpiring'],
    ['at its end', { startsAt: NOW - DAY_MS, expiresAt: NOW }, 'False CredentialExpired'],
    ['that ends before it begins', { startsAt: NOW + DAY_MS, expiresAt: NOW + HOUR_MS }, 'True CredentialValid'],
  ])('%s is %3$s', (_, validity, expected) => {
    const { status, reason } = credentialFreshness(validity, NOW);
    expect(`${status} ${reason}`).toBe(expected);
  });

  it('is told with its end', () => {
    const { message } = credentialFreshness({ startsAt: NOW - DAY_MS, expiresAt: NOW + HOUR_MS }, NOW);
    expect(message).toBe(
      "Purser's credential will expire soon: it is valid until 2026-03-01T13:00:00Z. Put a new credential into the Secret that spec.authInfo.controller names.",
    );
  });
});
