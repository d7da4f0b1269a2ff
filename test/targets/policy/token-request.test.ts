import { describe, expect, it } from '@jest/globals';
import { isReservedAudience, tokenRequestFor } from '../../../src/targets/policy/token-request.ts';
import { aToken } from '../../support/builders.ts';

const pod = { apiVersion: 'v1', kind: 'Pod', name: 'web-0' } as const;

describe('tokenRequestFor', () => {
  it('requests the fields of the spec', () => {
    expect(tokenRequestFor(aToken().build(), {})).toEqual({
      namespace: 'deploy',
      name: 'deployer',
      audiences: ['https://kubernetes.default.svc'],
      expirationSeconds: 3600,
    });
  });

  it.each([
    [7200, 3600, 3600],
    [3600, 7200, 3600],
    [600, undefined, 600],
  ])('requests %s s with a maximum of %s s as %s s', (expirationSeconds, maxExpirationSeconds, requested) => {
    const limits = maxExpirationSeconds === undefined ? {} : { maxExpirationSeconds };
    expect(tokenRequestFor(aToken().with({ expirationSeconds }).build(), {}, limits).expirationSeconds).toBe(requested);
  });

  it('includes the expected UID of the service account in a renewal', () => {
    expect(tokenRequestFor(aToken().build(), { accountUID: 'a1' })).toMatchObject({ accountUID: 'a1' });
  });

  it.each([
    ['by its name', aToken().with({ boundObjectRef: pod }), { kind: 'Pod', name: 'web-0' }],
    ['by its UID', aToken().with({ boundObjectRef: { ...pod, uid: 'p1' } }), { kind: 'Pod', name: 'web-0', uid: 'p1' }],
    [
      'the anchor',
      aToken().with({ revocation: 'BoundSecret' }),
      { kind: 'Secret', name: 'purser-b6b2c7a0-6a53-4b8e-9a3f-0c9d5a1f2e01', uid: 's1' },
    ],
  ])('binds the token to the object: %s', (_, token, boundObject) => {
    expect(tokenRequestFor(token.build(), { anchorUID: 's1' })).toMatchObject({ boundObject });
  });
});

describe('isReservedAudience', () => {
  it.each([
    ['purser:', true],
    ['purser:https://a', true],
    ['purser', false],
    ['https://purser:6443', false],
    ['Purser:x', false],
  ])('returns for %j: %j', (audience, expected) => {
    expect(isReservedAudience(audience)).toBe(expected);
  });
});
