import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ManagedTokenCondition } from '../../../src/api/managed-token.gen.ts';
import { FailureReason, IssueReason } from '../../../src/api/reasons.ts';
import { conditionsFor, type TokenFacts } from '../../../src/tokens/policy/conditions.ts';
import type { TokenFailure } from '../../../src/tokens/policy/messages.ts';
import { at, NOON } from '../../support/builders.ts';

const facts: TokenFacts = { generation: 3, token: 'valid', suspended: false };
const unreachable: TokenFailure = { reason: 'ClusterUnreachable', message: 'no address of prod-eu responds' };

function failure(reason: TokenFailure['reason']): TokenFailure {
  return { reason, message: 'why' };
}

/** `Ready=False/Expired RotationFailing=True/ClusterUnreachable` */
function shown(given: TokenFacts, previous: readonly ManagedTokenCondition[] = []): string {
  return conditionsFor(given, previous, NOON)
    .map(({ type, status, reason }) => `${type}=${status}/${reason}`)
    .join(' ');
}

describe('conditionsFor', () => {
  it.each([
    ['renewal fails, old token valid', { failure: unreachable }, 'Ready=True/Issued RotationFailing=True/ClusterUnreachable'],
    [
      'renewal fails, old token valid: Cluster gone',
      { failure: failure('ClusterNotFound') },
      'Ready=True/Issued RotationFailing=True/ClusterNotFound',
    ],
    [
      'renewal fails, old token valid: account missing',
      { failure: failure('ServiceAccountNotFound') },
      'Ready=True/Issued RotationFailing=True/ServiceAccountNotFound',
    ],
    ['token expired', { token: 'expired' }, 'Ready=False/Expired RotationFailing=True/Expired'],
    ['token expired, and why', { token: 'expired', failure: unreachable }, 'Ready=False/Expired RotationFailing=True/ClusterUnreachable'],
    [
      'account, cluster or audiences changed in spec, new token not there yet',
      { token: 'none', superseded: 'SpecChanged' },
      'Ready=False/Pending',
    ],
    [
      'account, cluster or audiences changed in spec, new token not to be had',
      { token: 'none', superseded: 'SpecChanged', failure: unreachable },
      'Ready=False/Pending',
    ],
    ['permission denied', { token: 'none', failure: failure('Forbidden') }, 'Ready=False/Forbidden'],
    [
      'permission denied for the changed spec',
      { token: 'none', superseded: 'SpecChanged', failure: failure('Forbidden') },
      'Ready=False/Forbidden',
    ],
    ['permission denied, expired', { token: 'expired', failure: failure('Forbidden') }, 'Ready=False/Forbidden'],
    ['permission denied once, and not yet for good', { failure: failure('Forbidden') }, 'Ready=True/Issued RotationFailing=True/Forbidden'],
    ['Secret that the ManagedToken does not own', { token: 'none', failure: failure('SecretConflict') }, 'Ready=False/SecretConflict'],
    [
      'Secret that the ManagedToken does not own, suspended',
      { token: 'none', suspended: true, failure: failure('SecretConflict') },
      'Ready=False/SecretConflict',
    ],
    ['suspended', { suspended: true }, 'Ready=True/Issued RotationFailing=False/Suspended'],
    ['suspended, expired', { token: 'expired', suspended: true }, 'Ready=False/Suspended RotationFailing=False/Suspended'],
    ['suspended, without a token', { token: 'none', suspended: true }, 'Ready=False/Suspended RotationFailing=False/Suspended'],
    ['Cluster re-created (other UID)', { token: 'none', superseded: 'ClusterReplaced' }, 'Ready=False/Pending'],
    ['all is well', {}, 'Ready=True/Issued RotationFailing=False/Issued'],
    ['not issued yet', { token: 'none' }, 'Ready=False/Pending'],
    ['first issuance fails', { token: 'none', failure: failure('ServiceAccountNotFound') }, 'Ready=False/ServiceAccountNotFound'],
    ['spec cannot work', { token: 'none', failure: failure('InvalidSpec') }, 'Ready=False/InvalidSpec'],
  ] as const)('%s', (_, changes, conditions) => {
    expect(shown({ ...facts, ...changes })).toBe(conditions);
  });

  it('removes RotationFailing without a token to rotate', () => {
    const failing = conditionsFor({ ...facts, failure: unreachable }, [], NOON);
    expect(shown({ ...facts, token: 'none', failure: failure('Forbidden') }, failing)).toBe('Ready=False/Forbidden');
  });

  it('names the failure of the issuance in the message of Ready', () => {
    const [ready] = conditionsFor({ ...facts, token: 'none', superseded: 'SpecChanged', failure: unreachable }, [], NOON);
    expect(ready?.message).toBe('No token has been issued for this spec yet: no address of prod-eu responds (ClusterUnreachable)');
  });

  it('shows one line of a foreign message, and no token', () => {
    const message = `denied\n\tby eyJhbGciOi.eyJzdWIi.c2lnbmF0dXJl ${'x'.repeat(5_000)}`;
    const [, failing] = conditionsFor({ ...facts, failure: { reason: 'RequestRejected', message } }, [], NOON);
    expect(failing?.message).toMatch(/^Denied by \[redacted\] x+…$/);
    expect(failing?.message.length).toBeLessThanOrEqual(257);
  });

  it('sets observedGeneration', () => {
    expect(conditionsFor(facts, [], NOON).map(({ observedGeneration }) => observedGeneration)).toEqual([3, 3]);
  });

  it('keeps conditions of other controllers', () => {
    const other = { type: 'Audited', status: 'True', reason: 'Yes', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' } as const;
    expect(conditionsFor({ ...facts, token: 'none' }, [other], NOON)[0]).toBe(other);
  });

  it('is idempotent, and changes lastTransitionTime only with the status', () => {
    const reasons = [
      ...(Object.keys(FailureReason) as (keyof typeof FailureReason)[]),
      'Forbidden',
      'SecretConflict',
      'InvalidSpec',
    ] as const;
    const anyFacts: fc.Arbitrary<TokenFacts> = fc.record({
      generation: fc.nat(),
      token: fc.constantFrom('valid', 'expired', 'none'),
      superseded: fc.option(fc.constantFrom(...(Object.keys(IssueReason) as (keyof typeof IssueReason)[])), { nil: undefined }),
      suspended: fc.boolean(),
      failure: fc.option(fc.record({ reason: fc.constantFrom(...reasons), message: fc.string({ unit: 'binary' }) }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(anyFacts, { minLength: 1, maxLength: 6 }), (steps) => {
        let list: readonly ManagedTokenCondition[] = [];
        for (const [index, step] of steps.entries()) {
          const now = at('12:00:00') + index * 60_000;
          const next = conditionsFor(step, list, now);
          expect(conditionsFor(step, next, now + 1_000_000)).toBe(next);
          for (const condition of next) {
            const old = list.find(({ type }) => type === condition.type);
            if (old?.status === condition.status) expect(condition.lastTransitionTime).toBe(old.lastTransitionTime);
            else expect(Date.parse(condition.lastTransitionTime)).toBe(now);
            expect(condition.message).not.toMatch(/[\n\r]/);
          }
          list = next;
        }
      }),
    );
  });
});
