import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ManagedTokenCondition } from '../../../src/api/managed-token.gen.ts';
import { Annotation } from '../../../src/api/names.ts';
import { FailureReason, IssueReason } from '../../../src/api/reasons.ts';
import { formatForbiddenMessage, type TokenFailure } from '../../../src/tokens/policy/messages.ts';
import { withoutToken } from '../../../src/tokens/policy/secret.ts';
import { evaluateToken } from '../../../src/tokens/policy/state.ts';
import { deriveConditions, desiredStatus, type TokenFacts } from '../../../src/tokens/policy/status.ts';
import { ACCOUNT_UID, aCluster, aGrant, aScene, aToken, at, NOON, stored, writtenSecret } from '../../support/builders.ts';

const HELD = aScene().holding(aGrant());

describe('desiredStatus', () => {
  it('reports the token in the Secret', () => {
    const observation = aScene(aToken().annotated(Annotation.rotate, 'monday')).holding(aGrant()).build();
    expect(desiredStatus(evaluateToken(observation, at('12:00:01')), {})).toEqual({
      observedGeneration: 1,
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'Issued',
          message: 'The Secret holds a valid token for this spec.',
          observedGeneration: 1,
          lastTransitionTime: '2026-03-01T12:00:01Z',
        },
        {
          type: 'RotationFailing',
          status: 'False',
          reason: 'Issued',
          message: 'The Secret holds a valid token for this spec.',
          observedGeneration: 1,
          lastTransitionTime: '2026-03-01T12:00:01Z',
        },
      ],
      secretName: 'ci',
      serviceAccountUID: ACCOUNT_UID,
      issuedAt: '2026-03-01T12:00:00Z',
      expirationTimestamp: '2026-03-01T13:00:00Z',
      nextRotationTime: '2026-03-01T12:46:38Z',
      credentialID: 'jti-1772366400',
      rotations: 0,
      lastRotateRequest: 'monday',
      secretDigest: observation.writtenDigest,
    });
  });

  it('returns the current object while nothing changes', () => {
    const status = desiredStatus(evaluateToken(HELD.build(), at('12:00:01')), {});
    const again = HELD.changing((token) => token.withStatus(status));
    expect(desiredStatus(evaluateToken(again.build(), at('12:40:00')), {})).toBe(status);
  });

  it('repairs an edited status', () => {
    const status = desiredStatus(evaluateToken(HELD.build(), at('12:00:01')), {});
    const edited = HELD.changing((token) => token.withStatus({ ...status, expirationTimestamp: '2027-03-01T13:00:00Z' }));
    expect(desiredStatus(evaluateToken(edited.build(), at('12:40:00')), {})).toEqual(status);
  });

  it('reports Ready=False and neither expiry nor Secret name for a token of another spec', () => {
    const status = desiredStatus(evaluateToken(HELD.build(), at('12:00:01')), {});
    const changed = HELD.changing((token) =>
      token
        .withStatus(status)
        .with({ audiences: ['vault'] })
        .withMetadata({ generation: 2 }),
    );
    const next = desiredStatus(evaluateToken(changed.build(), at('12:10:00')), {});
    expect(next).toMatchObject({
      observedGeneration: 2,
      conditions: [{ type: 'Ready', status: 'False', reason: 'Pending' }],
      rotations: 0,
    });
    expect(next).not.toHaveProperty('expirationTimestamp');
    expect(next).not.toHaveProperty('secretName');
  });

  it('drops the fields of an old status without a Secret', () => {
    const old = { issuedAt: '2026-02-01T12:00:00Z', expirationTimestamp: '2027-02-01T12:00:00Z', credentialID: 'x', rotations: 7 };
    const next = desiredStatus(evaluateToken(aScene(aToken().withStatus(old)).build(), at('12:00:00')), {});
    expect(next).toMatchObject({ conditions: [{ type: 'Ready', status: 'False', reason: 'Pending' }], rotations: 7 });
    expect(next).not.toHaveProperty('expirationTimestamp');
  });

  it('reports the expiry of an expired token after its removal', () => {
    const secret = stored(withoutToken(writtenSecret({ token: aToken().build(), cluster: aCluster(), secret: undefined }, aGrant())));
    const next = desiredStatus(evaluateToken(HELD.with({ secret }).build(), at('13:10:00')), {});
    expect(next).toMatchObject({
      conditions: [
        { type: 'Ready', status: 'False', reason: 'Expired' },
        { type: 'RotationFailing', status: 'True' },
      ],
      expirationTimestamp: '2026-03-01T13:00:00Z',
    });
  });

  it('reports Ready=False for a token that was removed before its expiry', () => {
    const secret = stored(withoutToken(writtenSecret({ token: aToken().build(), cluster: aCluster(), secret: undefined }, aGrant())));
    expect(desiredStatus(evaluateToken(HELD.with({ secret }).build(), at('12:10:00')), {}).conditions).toMatchObject([
      { status: 'False', reason: 'Pending' },
    ]);
  });

  it('reports Ready=False for a token that the target rejected', () => {
    const { secret } = HELD.build();
    const scene = HELD.with({ verdict: { tokenDigest: secret?.tokenDigest ?? '', accepted: false } });
    const failure = { reason: 'ClusterUnreachable', message: 'no address responds' } as const;
    expect(desiredStatus(evaluateToken(scene.build(), at('12:10:00')), { failure }).conditions).toMatchObject([
      { status: 'False', reason: 'ClusterUnreachable' },
    ]);
  });

  it('reports no next rotation while suspended', () => {
    const next = desiredStatus(evaluateToken(HELD.changing((token) => token.suspended()).build(), at('12:10:00')), {});
    expect(next).not.toHaveProperty('nextRotationTime');
    expect(next).toMatchObject({ conditions: [{ status: 'True' }, { status: 'False', reason: 'Suspended' }] });
  });

  it('records a handled revocation without a Secret', () => {
    const scene = aScene(aToken().with({ revocation: 'BoundSecret' }));
    expect(desiredStatus(evaluateToken(scene.build(), at('12:00:00')), { revoked: 'leak' })).toMatchObject({ lastRevokeRequest: 'leak' });
  });
});

const facts: TokenFacts = { generation: 3, token: 'valid', suspended: false };
const unreachable: TokenFailure = { reason: 'ClusterUnreachable', message: 'no address of prod-eu responds' };

function failureOf(reason: TokenFailure['reason']): TokenFailure {
  return { reason, message: 'why' };
}

/** Returns the conditions as text: `Ready=False/Expired RotationFailing=True/ClusterUnreachable`. */
function formatConditions(given: TokenFacts, previous: readonly ManagedTokenCondition[] = []): string {
  return deriveConditions(given, previous, NOON)
    .map(({ type, status, reason }) => `${type}=${status}/${reason}`)
    .join(' ');
}

describe('deriveConditions', () => {
  it.each([
    ['renewal fails, old token valid', { failure: unreachable }, 'Ready=True/Issued RotationFailing=True/ClusterUnreachable'],
    [
      'renewal fails, old token valid: Cluster missing',
      { failure: failureOf('ClusterNotFound') },
      'Ready=True/Issued RotationFailing=True/ClusterNotFound',
    ],
    [
      'renewal fails, old token valid: service account missing',
      { failure: failureOf('ServiceAccountNotFound') },
      'Ready=True/Issued RotationFailing=True/ServiceAccountNotFound',
    ],
    ['token expired', { token: 'expired' }, 'Ready=False/Expired RotationFailing=True/Expired'],
    [
      'token expired, issuance fails',
      { token: 'expired', failure: unreachable },
      'Ready=False/Expired RotationFailing=True/ClusterUnreachable',
    ],
    [
      'service account, cluster or audiences changed in spec, new token not issued yet',
      { token: 'none', superseded: 'SpecChanged' },
      'Ready=False/Pending',
    ],
    [
      'service account, cluster or audiences changed in spec, issuance fails',
      { token: 'none', superseded: 'SpecChanged', failure: unreachable },
      'Ready=False/Pending',
    ],
    ['permission denied', { token: 'none', failure: failureOf('Forbidden') }, 'Ready=False/Forbidden'],
    [
      'permission denied for the changed spec',
      { token: 'none', superseded: 'SpecChanged', failure: failureOf('Forbidden') },
      'Ready=False/Forbidden',
    ],
    ['permission denied, expired', { token: 'expired', failure: failureOf('Forbidden') }, 'Ready=False/Forbidden'],
    ['permission denied, old token valid', { failure: failureOf('Forbidden') }, 'Ready=True/Issued RotationFailing=True/Forbidden'],
    ['Secret that the ManagedToken does not own', { token: 'none', failure: failureOf('SecretConflict') }, 'Ready=False/SecretConflict'],
    [
      'Secret that the ManagedToken does not own, suspended',
      { token: 'none', suspended: true, failure: failureOf('SecretConflict') },
      'Ready=False/SecretConflict',
    ],
    ['suspended', { suspended: true }, 'Ready=True/Issued RotationFailing=False/Suspended'],
    ['suspended, expired', { token: 'expired', suspended: true }, 'Ready=False/Suspended RotationFailing=False/Suspended'],
    ['suspended, without a token', { token: 'none', suspended: true }, 'Ready=False/Suspended RotationFailing=False/Suspended'],
    ['Cluster re-created (other UID)', { token: 'none', superseded: 'ClusterReplaced' }, 'Ready=False/Pending'],
    ['token valid', {}, 'Ready=True/Issued RotationFailing=False/Issued'],
    ['not issued yet', { token: 'none' }, 'Ready=False/Pending'],
    ['first issuance fails', { token: 'none', failure: failureOf('ServiceAccountNotFound') }, 'Ready=False/ServiceAccountNotFound'],
    ['spec invalid', { token: 'none', failure: failureOf('InvalidSpec') }, 'Ready=False/InvalidSpec'],
  ] as const)('returns the conditions: %s', (_, changes, conditions) => {
    expect(formatConditions({ ...facts, ...changes })).toBe(conditions);
  });

  it('removes RotationFailing without a token to rotate', () => {
    const failing = deriveConditions({ ...facts, failure: unreachable }, [], NOON);
    expect(formatConditions({ ...facts, token: 'none', failure: failureOf('Forbidden') }, failing)).toBe('Ready=False/Forbidden');
  });

  it('names the failure of the issuance in the message of Ready', () => {
    const [ready] = deriveConditions({ ...facts, token: 'none', superseded: 'SpecChanged', failure: unreachable }, [], NOON);
    expect(ready?.message).toBe('The Secret holds no valid token for this spec yet (ClusterUnreachable): no address of prod-eu responds.');
  });

  it('reports a missing permission completely, with the remedy for a protected namespace', () => {
    const protection = 'namespace kube-system is protected: a rule with resourceNames must name the namespace or the service account';
    const message = formatForbiddenMessage(aToken().build(), `cluster/kube-system/${'a'.repeat(200)}`, protection);
    const [ready] = deriveConditions({ ...facts, token: 'none', failure: { reason: 'Forbidden', message } }, [], NOON);
    expect(ready?.message).toBe(message);
    expect(message).toMatch(/must name the namespace or the service account\.$/);
  });

  it('shortens the message from an API server to one line, and redacts tokens', () => {
    const message = `denied\n\tby eyJhbGciOi.eyJzdWIi.c2lnbmF0dXJl ${'x'.repeat(5_000)}`;
    const [, failing] = deriveConditions({ ...facts, failure: { reason: 'RequestRejected', message } }, [], NOON);
    expect(failing?.message).toMatch(/^Denied by \[redacted\] x+…$/);
    expect(failing?.message.length).toBeLessThanOrEqual(257);
  });

  it('sets observedGeneration', () => {
    expect(deriveConditions(facts, [], NOON).map(({ observedGeneration }) => observedGeneration)).toEqual([3, 3]);
  });

  it('keeps conditions of other controllers', () => {
    const other = { type: 'Audited', status: 'True', reason: 'Yes', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' } as const;
    expect(deriveConditions({ ...facts, token: 'none' }, [other], NOON)[0]).toBe(other);
  });

  it('returns the same conditions when repeated, and changes lastTransitionTime only with the status', () => {
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
          const next = deriveConditions(step, list, now);
          expect(deriveConditions(step, next, now + 1_000_000)).toBe(next);
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
