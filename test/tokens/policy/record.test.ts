import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Annotation } from '../../../src/api/names.ts';
import { digestOf } from '../../../src/std/digest.ts';
import { issuerOf } from '../../../src/targets/registry.ts';
import {
  createRecord,
  lifetimeOf,
  parseRecord,
  recordAnnotations,
  requestOf,
  type TokenRecord,
} from '../../../src/tokens/policy/record.ts';
import { aCluster, aGrant, aToken, at, NOON, type TokenBuilder } from '../../support/builders.ts';

function record(token: TokenBuilder, grant = aGrant(), previous?: TokenRecord) {
  return createRecord({
    token: token.build(),
    issuer: issuerOf({ cluster: aCluster() }),
    grant: grant.build(),
    tokenDigest: digestOf(grant.text()),
    previous,
  });
}

describe('parseRecord', () => {
  it.each([
    ['a JWT', aGrant()],
    ['an opaque token', aGrant().opaque()],
    ['a request that left between two seconds', aGrant().sentAt(NOON + 789)],
    ['a lifetime with a fraction', aGrant().opaque().expiringIn('600.5s')],
    ['a lifetime of centuries', aGrant().expiringIn(2 ** 32 * 1000)],
    ['no lifetime at all', aGrant().opaque().expiringIn('-5s')],
  ])('reads the record as it was written for %s', (_, grant) => {
    const token = aToken().annotated(Annotation.rotate, 'now').annotated(Annotation.revoke, 'once');
    const written = record(token, grant);
    const read = parseRecord(recordAnnotations(written, token.build()));
    expect(read).toEqual(written);
    expect(read && lifetimeOf(read, grant.build().claims)).toEqual({ issuedAt: written.issuedAt, expiresAt: written.expiresAt });
  });

  it.each([
    ['as granted', aGrant(), '13:00:00'],
    ['as in the response, when the token claims more', aGrant().claiming({ exp: NOON / 1000 + 86_400 }), '13:00:00'],
    ['as the token claims, when that is less', aGrant().claiming({ exp: NOON / 1000 + 600 }), '12:10:00'],
    ["by Purser's clock, when the target is ahead", aGrant().claiming({ iat: NOON / 1000 + 300, exp: NOON / 1000 + 3900 }), '13:00:00'],
  ])('reads an expiry %s', (_, grant, time) => {
    expect(record(aToken(), grant).expiresAt).toBe(at(time));
  });

  it.each([
    ['a first token', aToken(), undefined, 0],
    ['the next token', aToken(), { ...record(aToken()), rotations: 6 }, 7],
    ['a token after the Secret was lost', aToken().withStatus({ issuedAt: '2026-02-01T00:00:00Z', rotations: 6 }), undefined, 7],
    ['a token after a withdrawal', aToken().withStatus({ rotations: 6 }), undefined, 7],
    ['an invalid number in status', aToken().withStatus({ issuedAt: '2026-02-01T00:00:00Z', rotations: 2 ** 53 }), undefined, 0],
  ])('returns the number of rotations for %s', (_, token, previous, rotations) => {
    expect(record(token, aGrant(), previous).rotations).toBe(rotations);
  });

  it.each([
    ['a request to rotate', Annotation.rotateRequest, 'rotateRequest', 1_024],
    ['a request to revoke', Annotation.revokeRequest, 'revokeRequest', 1_024],
    ['an ID of the token', Annotation.credentialId, 'credentialId', 128],
  ] as const)('ignores %s that is too long for the status', (_, annotation, field, maxLength) => {
    const token = aToken();
    const annotations = recordAnnotations(record(token), token.build());
    const read = (length: number) => parseRecord({ ...annotations, [annotation]: 'x'.repeat(length) });
    expect(read(maxLength)?.[field]).toBe('x'.repeat(maxLength));
    expect([read(maxLength + 1)?.[field], read(maxLength + 1)?.rotations]).toEqual([undefined, 0]);
  });

  it('returns undefined for a UID of the service account that is too long for the status', () => {
    const token = aToken();
    const { issuedFor, ...rest } = record(token);
    const read = (length: number) =>
      parseRecord(recordAnnotations({ ...rest, issuedFor: { ...issuedFor, accountUID: 'x'.repeat(length) } }, token.build()));
    expect([read(0)?.issuedFor.accountUID, read(128)?.issuedFor.accountUID]).toEqual(['', 'x'.repeat(128)]);
    expect(read(129)).toBeUndefined();
  });

  it('returns a record or undefined for any annotations, without an error', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...Object.values(Annotation)), fc.oneof(fc.json(), fc.string({ unit: 'binary' }))),
        (annotations) => {
          expect(() => parseRecord(annotations)).not.toThrow();
        },
      ),
    );
    expect(parseRecord()).toBeUndefined();
  });
});

describe('requestOf', () => {
  it.each([
    ['the value of the annotation', 'monday', 'monday'],
    ['undefined for an empty value', '', undefined],
  ])('returns %s', (_, value, request) => {
    expect(requestOf(aToken().annotated(Annotation.rotate, value).build(), Annotation.rotate)).toBe(request);
  });

  it('returns undefined without the annotation', () => {
    expect(requestOf(aToken().build(), Annotation.rotate)).toBeUndefined();
  });
});
