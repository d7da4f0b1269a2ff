import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  encodeIssuedFor,
  isForFormerAPI,
  isIssuedWith,
  issuedForOf,
  parseIssuedFor,
  supersededBy,
} from '../../../src/targets/policy/issued-for.ts';
import { issuerOf } from '../../../src/targets/registry.ts';
import { aCluster, aToken, TokenBuilder } from '../../support/builders.ts';

const pod = { apiVersion: 'v1', kind: 'Pod', name: 'web-0' } as const;
const anchored = aToken().with({ revocation: 'BoundSecret' });

const audiences = ['https://kubernetes.default.svc'];
const ISSUER = issuerOf({ cluster: aCluster() });

function withoutAudiences() {
  const token = aToken().build();
  const { audiences: _, ...spec } = token.spec;
  return new TokenBuilder({ ...token, spec });
}

function accepting(apiAudiences: readonly string[]) {
  return { ...aCluster(), status: { apiAudiences } };
}

describe('issuedForOf and parseIssuedFor', () => {
  it.each([
    ['nothing', aToken(), { audiences }, ''],
    ['a Pod', aToken().with({ boundObjectRef: pod }), { audiences, boundUID: 'p1' }, 'Pod/web-0/p1'],
    ['the anchor', anchored, { audiences, boundUID: 's1' }, 'Secret/purser-b6b2c7a0-6a53-4b8e-9a3f-0c9d5a1f2e01/s1'],
  ])('records that the token is bound to %s', (_, token, granted, boundTo) => {
    expect(issuedForOf(token.build(), ISSUER, granted).boundTo).toBe(boundTo);
  });

  it('parses an encoded record', () => {
    const issued = issuedForOf(aToken().build(), ISSUER, { audiences, accountUID: 'a1' });
    expect(parseIssuedFor(encodeIssuedFor(issued))).toEqual(issued);
  });

  it('records that the spec names no audiences', () => {
    const issued = issuedForOf(withoutAudiences().build(), ISSUER, { audiences });
    expect(parseIssuedFor(encodeIssuedFor(issued))).toMatchObject({ audiences, isForAPI: true });
  });

  it.each([undefined, '', '{', 'null', '7', '[]', '{}', '{"cluster":"x"}'])('returns undefined for %p', (text) => {
    expect(parseIssuedFor(text)).toBeUndefined();
  });

  it('returns undefined for any other string', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string({ unit: 'binary' })), (text) => {
        expect(() => parseIssuedFor(text)).not.toThrow();
      }),
    );
  });
});

describe('isForFormerAPI', () => {
  const issued = issuedForOf(withoutAudiences().build(), ISSUER, { audiences });
  const named = issuedForOf(aToken().build(), ISSUER, { audiences });

  it.each([
    ['a changed audience', accepting(['other']), true],
    ['a further audience', accepting([...audiences, 'other']), true],
    ['the same audiences', accepting(audiences), false],
    ['unknown audiences', aCluster(), false],
    ['no Cluster', undefined, false],
  ])('compares with %s', (_, cluster, isFormer) => {
    expect(isForFormerAPI(issued, withoutAudiences().build(), cluster)).toBe(isFormer);
  });

  it('ignores tokens for audiences of the spec', () => {
    expect(isForFormerAPI(issued, aToken().build(), accepting(['other']))).toBe(false);
    expect(isForFormerAPI(named, withoutAudiences().build(), accepting(['other']))).toBe(false);
  });
});

describe('isIssuedWith', () => {
  const referring = (key: string, { clusterUID, secretUID = 's1' }: { clusterUID?: string; secretUID?: string } = {}) => {
    const { spec, ...cluster } = aCluster(clusterUID);
    const [namespace = '', name = ''] = key.split('/');
    const registered = { ...cluster, spec: { ...spec, authInfo: { controller: { kind: 'Secret' as const, namespace, name } } } };
    const credential = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name, uid: secretUID, resourceVersion: '1' } } as const;
    return issuerOf({ cluster: registered, credential });
  };
  const issued = issuedForOf(aToken().build(), referring('purser-system/target-1-credential'), { audiences });

  it.each([
    ['the same credential', referring('purser-system/target-1-credential'), true],
    ['another credential', referring('purser-system/other'), false],
    // Both names have the same FNV-1a hash.
    ['a credential whose name was chosen for a short hash', referring('fleet/credential-vdmwaayc'), false],
    ['another Secret of the same name', referring('purser-system/target-1-credential', { secretUID: 's2' }), false],
    ['a Cluster that was re-created', referring('purser-system/target-1-credential', { clusterUID: 'another' }), false],
    ["Purser's own service account on the hub", ISSUER, false],
  ])('compares with %s', (_, issuer, isSame) => {
    expect(isIssuedWith(issued, issuer)).toBe(isSame);
  });
});

describe('supersededBy', () => {
  const bound = aToken().with({ boundObjectRef: pod });
  const issued = issuedForOf(aToken().build(), ISSUER, { audiences });
  const issuedForAPI = issuedForOf(withoutAudiences().build(), ISSUER, { audiences });
  const issuedForPod = issuedForOf(bound.build(), ISSUER, { audiences, boundUID: 'p1' });

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
  ])('compares with %s', (_, before, token, reason) => {
    expect(supersededBy(before, token.build(), aCluster())).toBe(reason);
  });

  it('detects a re-created Cluster', () => {
    expect(supersededBy(issued, aToken().build(), aCluster('another'))).toBe('ClusterReplaced');
  });

  it('ignores a missing Cluster', () => {
    expect(supersededBy(issued, aToken().build(), undefined)).toBeUndefined();
  });
});
