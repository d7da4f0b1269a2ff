import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  checkGrant,
  computeGrantedLifetimeMs,
  hasSameAudiences,
  isReservedAudience,
  selectGrantedAudiences,
  type TargetTokenRequest,
  toTargetTokenRequest,
} from '../../../src/targets/policy/grant.ts';
import { parseTokenClaims } from '../../../src/targets/policy/token-claims.ts';
import { ACCOUNT_UID, aGrant, aToken, at, jwt, NOON } from '../../support/builders.ts';

const pod = { apiVersion: 'v1', kind: 'Pod', name: 'web-0' } as const;

describe('toTargetTokenRequest', () => {
  it('returns a TokenRequest with the fields of the spec', () => {
    expect(toTargetTokenRequest(aToken().build(), {})).toEqual({
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
    expect(toTargetTokenRequest(aToken().with({ expirationSeconds }).build(), {}, limits).expirationSeconds).toBe(requested);
  });

  it('includes the expected UID of the service account in a renewal', () => {
    expect(toTargetTokenRequest(aToken().build(), { accountUID: 'a1' })).toMatchObject({ accountUID: 'a1' });
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
    expect(toTargetTokenRequest(token.build(), { anchorUID: 's1' })).toMatchObject({ boundObject });
  });
});

describe('isReservedAudience', () => {
  it.each([
    ['purser:', true],
    ['purser:https://a', true],
    ['purser', false],
    ['https://purser:6443', false],
    ['Purser:x', false],
  ])('returns whether the audience %j is reserved: %j', (audience, expected) => {
    expect(isReservedAudience(audience)).toBe(expected);
  });
});

const request: TargetTokenRequest = {
  namespace: 'deploy',
  name: 'deployer',
  audiences: ['https://kubernetes.default.svc'],
  expirationSeconds: 3600,
};

function response(grant = aGrant(), expirationTimestamp: unknown = '2026-03-01T13:00:00Z') {
  const claims = parseTokenClaims(grant.text());
  return { token: grant.text(), expirationTimestamp, ...(claims && { claims }) };
}

function bound(to: object) {
  return aGrant().claiming({ 'kubernetes.io': { serviceaccount: { uid: ACCOUNT_UID }, ...to } });
}

describe('selectGrantedAudiences', () => {
  const [claimed, opaque] = [response(), response(aGrant().opaque())];
  const none = { ...request, audiences: [] };

  it.each([
    ['the requested audiences', request, { ...opaque, audiences: ['other'] }, request.audiences],
    ['the audiences in the token', none, claimed, request.audiences],
    ['the audiences in the response for an opaque token', none, { ...opaque, audiences: ['other'] }, ['other']],
    ['no audiences if neither the token nor the response names any', none, opaque, []],
  ])('returns %s', (_, requested, granted, expected) => {
    expect(selectGrantedAudiences(requested, granted)).toEqual(expected);
  });
});

describe('checkGrant', () => {
  it.each([
    ['the requested token', request, response()],
    ['an opaque token', request, response(aGrant().opaque())],
    ['a shorter lifetime than requested', request, response(aGrant().expiringIn('10m'), '2026-03-01T12:10:00Z')],
    ['a longer lifetime than requested', request, response(aGrant().expiringIn('8760h'))],
    ['the audiences of the API server for a request without audiences', { ...request, audiences: [] }, response()],
    [
      'the stated audiences for a request without audiences',
      { ...request, audiences: [] },
      { ...response(), audiences: ['https://kubernetes.default.svc'] },
    ],
    ['audiences in another order', { ...request, audiences: ['a', 'b'] }, response(aGrant().claiming({ aud: ['b', 'a'] }))],
    [
      'a token bound to the Secret',
      { ...request, boundObject: { kind: 'Secret' as const, name: 'x', uid: 's' } },
      response(bound({ secret: { uid: 's' } })),
    ],
    [
      'a token bound to the Pod of that name',
      { ...request, boundObject: { kind: 'Pod' as const, name: 'x' } },
      response(bound({ pod: { uid: 'p' } })),
    ],
    ['a clock that is a minute ahead', request, response(aGrant().sentAt(at('12:01:00')))],
  ])('accepts %s', (_, requested, given) => {
    expect(checkGrant(requested, given, NOON)).toEqual([]);
  });

  it.each([
    ['the response contains no token', request, { ...response(), token: '' }],
    ['the token contains characters that are not allowed in bearer tokens', request, { ...response(), token: 'two words' }],
    ['the token contains characters that are not allowed in bearer tokens', request, { ...response(), token: 'line\r\nX-Injected: yes' }],
    ['the token is too long', request, { ...response(), token: 'x'.repeat(20_000) }],
    ['the response contains no expiry', request, response(aGrant(), null)],
    ['the response contains no expiry', request, response(aGrant(), 'tomorrow')],
    ['the response contains no expiry', request, response(aGrant(), 1772366400)],
    ['the token has expired', request, response(aGrant(), '2026-03-01T12:00:00Z')],
    ['the token has expired', request, response(aGrant().claiming({ exp: NOON / 1000 }))],
    ['the token has no expiry', request, response(aGrant().claiming({ exp: undefined }))],
    [
      'the token is not for the requested service account',
      request,
      response(aGrant().claiming({ sub: 'system:serviceaccount:kube-system:admin' })),
    ],
    ['the token is not for the requested service account', request, response(aGrant().claiming({ sub: undefined }))],
    [
      'the audiences of the token differ from those requested',
      request,
      response(aGrant().claiming({ aud: ['https://kubernetes.default.svc', 'vault'] })),
    ],
    ['the audiences of the token differ from those requested', request, response(aGrant().claiming({ aud: [] }))],
    [
      'the audiences of the token differ from those requested',
      { ...request, audiences: [] },
      { ...response(), audiences: ['https://facade.example.com'] },
    ],
    ['the token is not bound as requested', { ...request, boundObject: { kind: 'Secret' as const, name: 'x' } }, response()],
    [
      'the token is not bound as requested',
      { ...request, boundObject: { kind: 'Secret' as const, name: 'x', uid: 's' } },
      response(bound({ secret: { uid: 'another' } })),
    ],
    ['the token is not bound as requested', request, response(bound({ pod: { uid: 'p' } }))],
    ['the issue time of the token is in the future', request, response(aGrant().claiming({ iat: NOON / 1000 + 61 }))],
    ['the token is not valid yet', request, response(aGrant().claiming({ nbf: NOON / 1000 + 61 }))],
    ['the token was issued more than 10 minutes ago', request, response(aGrant().claiming({ iat: NOON / 1000 - 601 }))],
  ])('rejects a response because %s', (problem, requested, given) => {
    expect(checkGrant(requested, given, NOON)).toEqual([problem]);
  });

  it('quotes no part of the response', () => {
    const secret = 'zyxwvutsrqponmlk';
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('sub', 'aud', 'exp', 'iat', 'nbf', 'jti'), fc.constant(secret)), (payload) => {
        const token = jwt(payload);
        const claims = parseTokenClaims(token);
        const problems = checkGrant(request, { token: `${token} ${secret}`, expirationTimestamp: secret, ...(claims && { claims }) }, NOON);
        expect(problems.join()).not.toContain(secret);
      }),
    );
  });
});

describe('computeGrantedLifetimeMs', () => {
  it.each([
    ['the lifetime in token and response', response(), 3_600_000],
    ['the lifetime in the response if the token has a year', response(aGrant().expiringIn('8760h')), 3_600_000],
    ['the lifetime of the token if the response has a year', response(aGrant(), '2027-03-01T12:00:00Z'), 3_600_000],
    ['the remaining lifetime by the clock of the target', response(aGrant().sentAt(at('11:55:00')), '2026-03-01T12:55:00Z'), 3_600_000],
    ['the lifetime in the response for a token that is not a JWT', response(aGrant().opaque()), 3_600_000],
    ['0 for a response without expiry', response(aGrant(), 'never'), 0],
  ])('returns %s', (_, given, ms) => {
    expect(computeGrantedLifetimeMs(given, NOON)).toBe(ms);
  });
});

describe('hasSameAudiences', () => {
  it.each([
    ['another order', ['a', 'b'], ['b', 'a'], true],
    ['repetitions', ['a', 'a', 'b'], ['b', 'a'], true],
    ['one more', ['a'], ['a', 'b'], false],
    ['one less', ['a', 'b'], ['a'], false],
    ['another one', ['a', 'b'], ['a', 'c'], false],
  ])('compares two lists of audiences with %s', (_, a, b, isSame) => {
    expect(hasSameAudiences(a, b)).toBe(isSame);
  });

  it('reads each of 1,000 audiences a few times, in any order', () => {
    let reads = 0;
    const countReads = (list: readonly string[]) =>
      new Proxy(list, { get: (target, name) => (/^\d+$/.test(String(name)) && reads++, Reflect.get(target, name)) });
    const many = Array.from({ length: 1_000 }, (_, index) => `audience-${index}`);
    expect(hasSameAudiences(countReads(many), countReads(many.toReversed()))).toBe(true);
    expect(reads).toBeLessThanOrEqual(4_000);
  });
});
