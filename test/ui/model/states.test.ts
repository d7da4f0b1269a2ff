import { describe, expect, it } from '@jest/globals';
import type { Token } from '../../../src/ui/model/objects.ts';
import { clusterStateOf, countBy, findProblemCondition, type TokenState, tokenStateOf } from '../../../src/ui/model/states.ts';
import { aCluster, aToken, condition, DAY, HOUR, MINUTE, NOW } from './tokens.ts';

const failing = condition('RotationFailing', 'True', 'ClusterTimeout');
const notReady = (reason: string, since = NOW - HOUR) => condition('Ready', 'False', reason, since);
/** A ManagedToken without a token in its Secret. */
const NONE: Partial<Token> = { issuedAt: undefined, renewsAt: undefined, expiresAt: undefined };

describe('tokenStateOf', () => {
  it.each<[string, Partial<Token>, TokenState]>([
    ['a valid token', {}, 'ready'],
    ['a token that does not expire', { expiresAt: undefined, renewsAt: undefined }, 'ready'],
    ['an expired token that is still marked as ready', { expiresAt: NOW - 1 }, 'expired'],
    ['an expired token', { expiresAt: NOW - HOUR, ready: notReady('Expired') }, 'expired'],
    ['a failing rotation with a valid token', { rotationFailing: failing }, 'failing'],
    ['a failing rotation with an expired token', { rotationFailing: failing, expiresAt: NOW }, 'expired'],
    ['a missing permission', { ...NONE, ready: notReady('Forbidden') }, 'failing'],
    ['a renewal that is a few seconds late', { renewsAt: NOW - 30_000 }, 'ready'],
    ['an overdue renewal', { renewsAt: NOW - 2 * MINUTE }, 'expiring'],
    ['a suspended token that expires within a day', { isSuspended: true, renewsAt: undefined }, 'expiring'],
    ['a suspended token that expires later', { isSuspended: true, renewsAt: undefined, expiresAt: NOW + 2 * DAY }, 'suspended'],
    ['a suspended ManagedToken without a token', { ...NONE, isSuspended: true, ready: notReady('Suspended') }, 'suspended'],
    ['a new ManagedToken without conditions', { ...NONE, ready: undefined, createdAt: NOW - 10_000 }, 'pending'],
    ['a new ManagedToken', { ...NONE, ready: notReady('Pending', NOW - 10_000) }, 'pending'],
    ['a ManagedToken that waits too long for its first token', { ...NONE, ready: notReady('Pending', NOW - 2 * MINUTE) }, 'failing'],
  ])('returns the state of %s', (_name, change, state) => {
    expect(tokenStateOf(aToken(change), NOW)).toBe(state);
  });
});

describe('clusterStateOf', () => {
  const ready = condition('Ready', 'True', 'ClusterReady');
  it.each([
    ['a ready cluster', [ready], 'ready'],
    ['a cluster that was not probed', [], 'unknown'],
    ['a cluster that does not respond', [condition('Ready', 'False', 'Timeout')], 'failing'],
    ['a ready cluster whose credential expires soon', [ready, condition('CredentialFresh', 'False', 'CredentialExpiring')], 'warning'],
    ['a credential that Purser is about to renew', [ready, condition('CredentialFresh', 'False', 'CredentialRenewalPending')], 'ready'],
  ] as const)('returns the state of %s', (_name, conditions, state) => {
    expect(clusterStateOf(aCluster('prod', conditions))).toBe(state);
  });

  it('explains a failing cluster by the condition with the same reason', () => {
    const cause = condition('Reachable', 'False', 'Timeout');
    expect(
      findProblemCondition(
        aCluster('prod', [condition('Ready', 'False', 'Timeout'), condition('Authorized', 'Unknown', 'NoResponse'), cause]),
      ),
    ).toBe(cause);
  });
});

describe('countBy', () => {
  it('counts the objects of every state, including states without objects', () => {
    expect(countBy(['a', 'b', 'c'], ['a', 'c', 'a'])).toEqual({ a: 2, b: 0, c: 1 });
  });
});
