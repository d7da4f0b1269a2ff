import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { isClusterLocalIssuer, parseTokenClaims } from '../../../src/targets/policy/token-claims.ts';
import { ACCOUNT_UID, aGrant, at, jwt, NOON } from '../../support/builders.ts';

describe('parseTokenClaims', () => {
  it('parses a token issued by Kubernetes', () => {
    expect(parseTokenClaims(aGrant().text())).toEqual({
      subject: 'system:serviceaccount:deploy:deployer',
      audiences: ['https://kubernetes.default.svc'],
      issuedAt: NOON,
      notBefore: NOON,
      expiresAt: at('13:00:00'),
      id: 'jti-1772366400',
      accountUID: ACCOUNT_UID,
    });
  });

  it.each([
    ['a single audience', { aud: 'vault' }, { audiences: ['vault'] }],
    ['the Secret that the token is bound to', { 'kubernetes.io': { secret: { uid: 's' } } }, { audiences: [], boundSecretUID: 's' }],
    ['the Pod that the token is bound to', { 'kubernetes.io': { pod: { uid: 'p' } } }, { audiences: [], boundPodUID: 'p' }],
    ['nothing', {}, { audiences: [] }],
    ['values of wrong types as absent', { sub: 7, aud: [1, {}], exp: '1', iat: true, jti: [], 'kubernetes.io': [] }, { audiences: [] }],
    ['negative times as absent', { exp: -1 }, { audiences: [] }],
    ['an expiry after the year 9999 as the end of 9999', { exp: 1e300 }, { audiences: [], expiresAt: Date.parse('9999-12-31T23:59:59Z') }],
    ['invalid identifiers as absent', { jti: 'a\nb', 'kubernetes.io': { serviceaccount: { uid: 'x'.repeat(129) } } }, { audiences: [] }],
  ])('reads %s', (_, payload, claims) => {
    expect(parseTokenClaims(jwt(payload))).toEqual(claims);
  });

  it.each([
    ['', 'nothing'],
    ['opaque', 'one part'],
    ['a.b', 'two parts'],
    ['a.b.c.d', 'four parts'],
    ['a.!!.c', 'characters that base64url does not have'],
    ['a.eyJ.c', 'half an object'],
    [jwt([]), 'a list'],
    [jwt(null), 'null'],
    [jwt('x'.repeat(20_000)), 'a text that is too long'],
  ])('returns undefined for %p: %s', (token) => {
    expect(parseTokenClaims(token)).toBeUndefined();
  });

  it('never throws for any string', () => {
    const payloads = fc.oneof(fc.string({ unit: 'binary' }), fc.json()).map((text) => `e30.${Buffer.from(text).toString('base64url')}.x`);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), payloads, fc.jsonValue().map(jwt)), (token) => {
        const claims = parseTokenClaims(token);
        for (const time of [claims?.issuedAt, claims?.notBefore, claims?.expiresAt]) expect(Number.isFinite(time ?? 0)).toBe(true);
      }),
    );
  });
});

describe('isClusterLocalIssuer', () => {
  it.each([
    ['https://kubernetes.default.svc', true],
    ['https://kubernetes.default.svc.cluster.local', true],
    ['https://svc.example.com', false],
    ['https://hub.example.com', false],
    ['https://oidc.eks.eu-west-1.amazonaws.com/id/ABC', false],
    ['unknown', false],
  ])('returns whether the issuer %s is local to a cluster: %j', (issuer, expected) => {
    expect(isClusterLocalIssuer(issuer)).toBe(expected);
  });
});
