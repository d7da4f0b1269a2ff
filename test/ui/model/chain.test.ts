import { describe, expect, it } from '@jest/globals';
import { FailureReason, ReadyReason } from '../../../src/api/reasons.ts';
import { isClusterFailure } from '../../../src/tokens/policy/messages.ts';
import { chainLinkOf, listCommands, toChain } from '../../../src/ui/model/chain.ts';
import { aToken, condition, NOW } from './tokens.ts';

/** Reasons that concern the token itself. */
const OF_TOKEN = new Set([
  'Issued',
  'Pending',
  'Expired',
  'Suspended',
  'InvalidSpec',
  'AudienceNotAccepted',
  'RequestRejected',
  'AnchorDeletionUnconfirmed',
  'TooManyAnchors',
]);

const verdicts = (...args: Parameters<typeof toChain>) => toChain(...args).map(({ verdict }) => verdict);

describe('chainLinkOf', () => {
  it.each(Object.keys({ ...ReadyReason, ...FailureReason }))(
    'returns the token link only for reasons that concern the token itself: %s',
    (reason) => {
      expect(chainLinkOf(reason) === 'token').toBe(OF_TOKEN.has(reason));
    },
  );
});

it.each(Object.keys(FailureReason).filter(isClusterFailure))('attributes %s to the cluster, as purser status does', (reason) => {
  expect(chainLinkOf(reason)).toBe('cluster');
});

describe('toChain', () => {
  it('returns five links that are OK for a valid token', () => {
    expect(verdicts(aToken(), NOW)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok']);
  });

  it('marks the link that failed, and the links that were not reached', () => {
    const chain = toChain(aToken({ ready: condition('Ready', 'False', 'Forbidden'), expiresAt: undefined }), NOW);
    expect(chain.map(({ name, verdict }) => `${name} ${verdict}`)).toEqual([
      'cluster ok',
      'permission failed',
      'account unknown',
      'token unknown',
      'secret unknown',
    ]);
    expect(chain[1]).toMatchObject({ reason: 'Forbidden', message: 'Forbidden happened.' });
  });

  it('marks only the failed link while the token is valid', () => {
    expect(verdicts(aToken({ rotationFailing: condition('RotationFailing', 'True', 'ClusterTimeout') }), NOW)).toEqual([
      'failed',
      'ok',
      'ok',
      'ok',
      'ok',
    ]);
  });

  it('marks the token, without the outdated condition, if the token has expired although the condition Ready is still True', () => {
    const chain = toChain(aToken({ expiresAt: NOW - 1 }), NOW);
    expect(chain.map(({ verdict }) => verdict)).toEqual(['ok', 'ok', 'ok', 'failed', 'unknown']);
    expect(chain.map(({ message }) => message)).toEqual(['', '', '', '', '']);
  });

  it('marks no link of a suspended ManagedToken as OK if the ManagedToken has no valid token', () => {
    const ready = condition('Ready', 'False', 'Suspended');
    expect(verdicts(aToken({ isSuspended: true, ready, expiresAt: undefined }), NOW)).toEqual(Array(5).fill('unknown'));
    expect(verdicts(aToken({ isSuspended: true }), NOW)).toEqual(Array(5).fill('ok'));
  });

  it('marks all links of a new ManagedToken as waiting', () => {
    expect(verdicts(aToken({ ready: undefined, expiresAt: undefined, createdAt: NOW }), NOW)).toEqual(Array(5).fill('waiting'));
  });
});

describe('listCommands', () => {
  it('offers a live check of a failing token, and a rotation', () => {
    const texts = listCommands(aToken({ rotationFailing: condition('RotationFailing', 'True', 'ClusterTimeout') }), NOW).map(
      ({ text }) => text,
    );
    expect(texts).toEqual(['purser status mt/ci -n team-a', 'kubectl describe managedtoken ci -n team-a', 'purser rotate mt/ci -n team-a']);
  });

  it('offers to resume a suspended token', () => {
    expect(listCommands(aToken({ isSuspended: true, expiresAt: undefined }), NOW).map(({ text }) => text)).toContain(
      'purser resume mt/ci -n team-a',
    );
  });
});
