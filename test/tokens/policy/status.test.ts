import { describe, expect, it } from '@jest/globals';
import { Annotation } from '../../../src/api/names.ts';
import { withoutToken } from '../../../src/tokens/policy/secret.ts';
import { situationOf } from '../../../src/tokens/policy/state.ts';
import { desiredStatus } from '../../../src/tokens/policy/status.ts';
import { ACCOUNT_UID, aCluster, aGrant, aScene, aToken, at, stored, writtenSecret } from '../../support/builders.ts';

const HELD = aScene().holding(aGrant());

describe('desiredStatus', () => {
  it('reports the token in the Secret', () => {
    const observation = aScene(aToken().annotated(Annotation.rotate, 'monday')).holding(aGrant()).build();
    expect(desiredStatus(situationOf(observation, at('12:00:01')), {})).toEqual({
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
    const status = desiredStatus(situationOf(HELD.build(), at('12:00:01')), {});
    const again = HELD.changing((token) => token.withStatus(status));
    expect(desiredStatus(situationOf(again.build(), at('12:40:00')), {})).toBe(status);
  });

  it('repairs an edited status', () => {
    const status = desiredStatus(situationOf(HELD.build(), at('12:00:01')), {});
    const edited = HELD.changing((token) => token.withStatus({ ...status, expirationTimestamp: '2027-03-01T13:00:00Z' }));
    expect(desiredStatus(situationOf(edited.build(), at('12:40:00')), {})).toEqual(status);
  });

  it('reports Ready=False and no fields for a token of another spec', () => {
    const status = desiredStatus(situationOf(HELD.build(), at('12:00:01')), {});
    const changed = HELD.changing((token) =>
      token
        .withStatus(status)
        .with({ audiences: ['vault'] })
        .withMetadata({ generation: 2 }),
    );
    const next = desiredStatus(situationOf(changed.build(), at('12:10:00')), {});
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
    const next = desiredStatus(situationOf(aScene(aToken().withStatus(old)).build(), at('12:00:00')), {});
    expect(next).toMatchObject({ conditions: [{ type: 'Ready', status: 'False', reason: 'Pending' }], rotations: 7 });
    expect(next).not.toHaveProperty('expirationTimestamp');
  });

  it('reports the expiry of an expired token after its removal', () => {
    const secret = stored(withoutToken(writtenSecret({ token: aToken().build(), cluster: aCluster(), secret: undefined }, aGrant())));
    const next = desiredStatus(situationOf(HELD.with({ secret }).build(), at('13:10:00')), {});
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
    expect(desiredStatus(situationOf(HELD.with({ secret }).build(), at('12:10:00')), {}).conditions).toMatchObject([
      { status: 'False', reason: 'Pending' },
    ]);
  });

  it('reports Ready=False for a token that the target rejected', () => {
    const { secret } = HELD.build();
    const scene = HELD.with({ verdict: { tokenDigest: secret?.tokenDigest ?? '', accepted: false } });
    const failure = { reason: 'ClusterUnreachable', message: 'no address responds' } as const;
    expect(desiredStatus(situationOf(scene.build(), at('12:10:00')), { failure }).conditions).toMatchObject([
      { status: 'False', reason: 'ClusterUnreachable' },
    ]);
  });

  it('reports no next rotation while suspended', () => {
    const next = desiredStatus(situationOf(HELD.changing((token) => token.suspended()).build(), at('12:10:00')), {});
    expect(next).not.toHaveProperty('nextRotationTime');
    expect(next).toMatchObject({ conditions: [{ status: 'True' }, { status: 'False', reason: 'Suspended' }] });
  });

  it('records a handled revocation without a Secret', () => {
    const scene = aScene(aToken().with({ revocation: 'BoundSecret' }));
    expect(desiredStatus(situationOf(scene.build(), at('12:00:00')), { revoked: 'leak' })).toMatchObject({ lastRevokeRequest: 'leak' });
  });
});
