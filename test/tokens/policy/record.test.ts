import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Annotation } from '../../../src/api/names.ts';
import { computeDigest } from '../../../src/std/digest.ts';
import { toIssuingCredential } from '../../../src/targets/registry.ts';
import {
  createRecord,
  encodeIssuedFor,
  encodeRecord,
  findReissueReason,
  isForFormerAPI,
  parseIssuedFor,
  parseRecord,
  requestOf,
  type TokenRecord,
  toIssuedFor,
  toLifetime,
} from '../../../src/tokens/policy/record.ts';
import { aCluster, aGrant, aToken, at, NOON, TokenBuilder } from '../../support/builders.ts';

const pod = { apiVersion: 'v1', kind: 'Pod', name: 'web-0' } as const;
const anchored = aToken().with({ revocation: 'BoundSecret' });

const audiences = ['https://kubernetes.default.svc'];
const ISSUING_CREDENTIAL = toIssuingCredential({ cluster: aCluster() });

function withoutAudiences() {
  const token = aToken().build();
  const { audiences: _, ...spec } = token.spec;
  return new TokenBuilder({ ...token, spec });
}

function accepting(apiAudiences: readonly string[]) {
  return { ...aCluster(), status: { apiAudiences } };
}

function record(token: TokenBuilder, grant = aGrant(), previous?: TokenRecord) {
  return createRecord({
    token: token.build(),
    issuingCredential: ISSUING_CREDENTIAL,
    grant: grant.build(),
    tokenDigest: computeDigest(grant.text()),
    previous,
  });
}

describe('createRecord and parseRecord', () => {
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
    const read = parseRecord(encodeRecord(written, token.build()));
    expect(read).toEqual(written);
    expect(read && toLifetime(read, grant.build().claims)).toEqual({ issuedAt: written.issuedAt, expiresAt: written.expiresAt });
  });

  it.each([
    ['as granted', aGrant(), '13:00:00'],
    ['as in the response, when the token claims more', aGrant().claiming({ exp: NOON / 1000 + 86_400 }), '13:00:00'],
    ['as the token claims, when that is less', aGrant().claiming({ exp: NOON / 1000 + 600 }), '12:10:00'],
    ["by Purser's clock, when the target is ahead", aGrant().claiming({ iat: NOON / 1000 + 300, exp: NOON / 1000 + 3900 }), '13:00:00'],
  ])('records an expiry %s', (_, grant, time) => {
    expect(record(aToken(), grant).expiresAt).toBe(at(time));
  });

  it.each([
    ['a first token', aToken(), undefined, 0],
    ['the next token', aToken(), { ...record(aToken()), rotations: 6 }, 7],
    ['a token after the Secret was lost', aToken().withStatus({ issuedAt: '2026-02-01T00:00:00Z', rotations: 6 }), undefined, 7],
    ['a token after a withdrawal', aToken().withStatus({ rotations: 6 }), undefined, 7],
    ['an invalid number in status', aToken().withStatus({ issuedAt: '2026-02-01T00:00:00Z', rotations: 2 ** 53 }), undefined, 0],
  ])('records the number of rotations for %s', (_, token, previous, rotations) => {
    expect(record(token, aGrant(), previous).rotations).toBe(rotations);
  });

  it.each([
    ['a request to rotate', Annotation.rotateRequest, 'rotateRequest', 1_024],
    ['a request to revoke', Annotation.revokeRequest, 'revokeRequest', 1_024],
    ['an ID of the token', Annotation.credentialId, 'credentialId', 128],
  ] as const)('ignores %s that is too long for the status', (_, annotation, field, maxLength) => {
    const token = aToken();
    const annotations = encodeRecord(record(token), token.build());
    const read = (length: number) => parseRecord({ ...annotations, [annotation]: 'x'.repeat(length) });
    expect(read(maxLength)?.[field]).toBe('x'.repeat(maxLength));
    expect([read(maxLength + 1)?.[field], read(maxLength + 1)?.rotations]).toEqual([undefined, 0]);
  });

  it('returns undefined for a UID of the service account that is too long for the status', () => {
    const token = aToken();
    const { issuedFor, ...rest } = record(token);
    const read = (length: number) =>
      parseRecord(encodeRecord({ ...rest, issuedFor: { ...issuedFor, accountUID: 'x'.repeat(length) } }, token.build()));
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

describe('toIssuedFor and parseIssuedFor', () => {
  it.each([
    ['nothing', aToken(), { audiences }, ''],
    ['a Pod', aToken().with({ boundObjectRef: pod }), { audiences, boundUID: 'p1' }, 'Pod/web-0/p1'],
    ['the anchor', anchored, { audiences, boundUID: 's1' }, 'Secret/purser-b6b2c7a0-6a53-4b8e-9a3f-0c9d5a1f2e01/s1'],
  ])('records that the token is bound to %s', (_, token, granted, boundTo) => {
    expect(toIssuedFor(token.build(), ISSUING_CREDENTIAL, granted).boundTo).toBe(boundTo);
  });

  it('parses the result of encodeIssuedFor', () => {
    const issued = toIssuedFor(aToken().build(), ISSUING_CREDENTIAL, { audiences, accountUID: 'a1' });
    expect(parseIssuedFor(encodeIssuedFor(issued))).toEqual(issued);
  });

  it('records that the spec names no audiences', () => {
    const issued = toIssuedFor(withoutAudiences().build(), ISSUING_CREDENTIAL, { audiences });
    expect(parseIssuedFor(encodeIssuedFor(issued))).toMatchObject({ audiences, isForAPI: true });
  });

  it.each([undefined, '', '{', 'null', '7', '[]', '{}', '{"cluster":"x"}'])('returns undefined for %p', (text) => {
    expect(parseIssuedFor(text)).toBeUndefined();
  });

  it('throws no error for any string', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string({ unit: 'binary' })), (text) => {
        expect(() => parseIssuedFor(text)).not.toThrow();
      }),
    );
  });
});

describe('isForFormerAPI', () => {
  const issued = toIssuedFor(withoutAudiences().build(), ISSUING_CREDENTIAL, { audiences });
  const named = toIssuedFor(aToken().build(), ISSUING_CREDENTIAL, { audiences });

  it.each([
    ['a changed audience', accepting(['other']), true],
    ['a further audience', accepting([...audiences, 'other']), true],
    ['the same audiences', accepting(audiences), false],
    ['unknown audiences', aCluster(), false],
    ['no Cluster', undefined, false],
  ])('returns whether a token is for former audiences of the API server: %s', (_, cluster, isFormer) => {
    expect(isForFormerAPI(issued, withoutAudiences().build(), cluster)).toBe(isFormer);
  });

  it('ignores tokens for audiences of the spec', () => {
    expect(isForFormerAPI(issued, aToken().build(), accepting(['other']))).toBe(false);
    expect(isForFormerAPI(named, withoutAudiences().build(), accepting(['other']))).toBe(false);
  });
});

describe('findReissueReason', () => {
  const bound = aToken().with({ boundObjectRef: pod });
  const issued = toIssuedFor(aToken().build(), ISSUING_CREDENTIAL, { audiences });
  const issuedForAPI = toIssuedFor(withoutAudiences().build(), ISSUING_CREDENTIAL, { audiences });
  const issuedForPod = toIssuedFor(bound.build(), ISSUING_CREDENTIAL, { audiences, boundUID: 'p1' });

  it.each([
    ['the same spec', issued, aToken(), undefined],
    ['no audiences', issued, withoutAudiences(), 'SpecChanged'],
    ['no audiences, as before', issuedForAPI, withoutAudiences(), undefined],
    ['the audiences that the API server granted before', issuedForAPI, aToken(), undefined],
    ['different audiences than the API server granted before', issuedForAPI, aToken().with({ audiences: ['vault'] }), 'SpecChanged'],
    ['another lifetime', issued, aToken().with({ expirationSeconds: 600 }), undefined],
    ['another cluster', issued, aToken().with({ clusterName: 'x' }), 'SpecChanged'],
    ['another namespace', issued, aToken().with({ serviceAccount: { namespace: 'x', name: 'deployer' } }), 'SpecChanged'],
    ['another service account', issued, aToken().with({ serviceAccount: { namespace: 'deploy', name: 'x' } }), 'SpecChanged'],
    ['fewer audiences', issued, aToken().with({ audiences: [] }), 'SpecChanged'],
    ['a binding', issued, bound, 'SpecChanged'],
    ['a removed binding', issuedForPod, aToken(), 'SpecChanged'],
    ['the same Pod', issuedForPod, bound, undefined],
    ['the same Pod by its UID', issuedForPod, aToken().with({ boundObjectRef: { ...pod, uid: 'p1' } }), undefined],
    ['another Pod of that name', issuedForPod, aToken().with({ boundObjectRef: { ...pod, uid: 'p2' } }), 'SpecChanged'],
    [
      'a Pod whose name starts with the same letters',
      issuedForPod,
      aToken().with({ boundObjectRef: { ...pod, name: 'web' } }),
      'SpecChanged',
    ],
    ['a Secret of that name', issuedForPod, aToken().with({ boundObjectRef: { ...pod, kind: 'Secret' } }), 'SpecChanged'],
  ])('returns the reason, if any, to reissue the token for %s', (_, before, token, reason) => {
    expect(findReissueReason(before, token.build(), aCluster())).toBe(reason);
  });

  it('returns ClusterReplaced for a re-created Cluster', () => {
    expect(findReissueReason(issued, aToken().build(), aCluster('another'))).toBe('ClusterReplaced');
  });

  it('returns undefined for a missing Cluster', () => {
    expect(findReissueReason(issued, aToken().build(), undefined)).toBeUndefined();
  });
});
