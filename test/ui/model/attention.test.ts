import { describe, expect, it } from '@jest/globals';
import { findAttention, toCause } from '../../../src/ui/model/attention.ts';
import { aCluster, aToken, condition, HOUR, MINUTE, NOW } from './tokens.ts';

const unreachable = aCluster('down', [condition('Ready', 'False', 'Timeout')]);
const timeout = condition('RotationFailing', 'True', 'ClusterTimeout');

describe('findAttention', () => {
  it('returns nothing for ready clusters and valid tokens', () => {
    expect(findAttention([aCluster('prod')], [aToken()], NOW)).toEqual([]);
  });

  it('lists clusters before tokens, with the number of tokens that each cluster affects', () => {
    const tokens = [
      aToken({ name: 'a', cluster: 'down', rotationFailing: timeout, expiresAt: NOW + 9 * MINUTE }),
      aToken({ name: 'b', cluster: 'down', rotationFailing: timeout, expiresAt: NOW + 5 * MINUTE }),
      aToken({ name: 'c', cluster: 'down', ready: condition('Ready', 'False', 'Forbidden') }),
    ];
    const found = findAttention([aCluster('prod'), unreachable], tokens, NOW);
    expect(found.map(({ kind, key }) => `${kind} ${key}`)).toEqual(['cluster down', 'token team-a/c']);
    expect(found[0]).toMatchObject({ failingTokens: 2, firstExpiry: NOW + 5 * MINUTE, reason: 'Timeout' });
  });

  it('lists tokens of a failing cluster that the caller does not see', () => {
    expect(findAttention([], [aToken({ cluster: 'hidden', rotationFailing: timeout })], NOW)).toMatchObject([
      { kind: 'token', reason: 'ClusterTimeout' },
    ]);
  });

  it('lists unusable tokens first, by state and age of the problem, then usable tokens, by state and expiry', () => {
    const tokens = [
      aToken({ name: 'late', rotationFailing: timeout, expiresAt: NOW + 30 * MINUTE }),
      aToken({ name: 'early', rotationFailing: timeout, expiresAt: NOW + 10 * MINUTE }),
      aToken({ name: 'overdue', renewsAt: NOW - 5 * MINUTE, expiresAt: NOW + MINUTE }),
      aToken({ name: 'new', ready: condition('Ready', 'False', 'Forbidden', NOW - MINUTE) }),
      aToken({ name: 'old', ready: condition('Ready', 'False', 'Forbidden', NOW - HOUR) }),
      aToken({ name: 'over', ready: condition('Ready', 'False', 'Expired'), expiresAt: NOW - MINUTE }),
    ];
    expect(findAttention([], tokens, NOW).map(({ key }) => key.replace('team-a/', ''))).toEqual([
      'over',
      'old',
      'new',
      'early',
      'late',
      'overdue',
    ]);
  });
});

describe('toCause', () => {
  it.each([
    [
      'a suspended token',
      { isSuspended: true },
      'expiring',
      { reason: 'Suspended', message: expect.stringMatching(/purser resume mt\/ci -n team-a/) },
    ],
    [
      'an overdue renewal',
      { renewsAt: NOW - HOUR },
      'expiring',
      { reason: 'RenewalOverdue', message: expect.stringMatching(/overdue.*pods of Purser/) },
    ],
    [
      'a token that expired unnoticed',
      { expiresAt: NOW - 1 },
      'expired',
      { reason: 'Expired', message: expect.stringMatching(/pods of Purser/) },
    ],
    [
      'a token that expired while rotation was suspended',
      { expiresAt: NOW - 1, isSuspended: true },
      'expired',
      { reason: 'Suspended', message: expect.stringMatching(/purser resume mt\/ci -n team-a/) },
    ],
    [
      'a missing first token',
      { ready: undefined, expiresAt: undefined },
      'failing',
      { reason: 'Pending', message: expect.stringMatching(/pods of Purser/) },
    ],
    [
      'a condition',
      { ready: condition('Ready', 'False', 'Forbidden') },
      'failing',
      { reason: 'Forbidden', message: expect.stringMatching(/Forbidden happened/) },
    ],
  ] as const)('returns the cause and remedy of %s', (_name, change, state, cause) => {
    expect(toCause(aToken(change), state, NOW)).toMatchObject(cause);
  });
});
