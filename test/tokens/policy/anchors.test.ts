import { describe, expect, it } from '@jest/globals';
import { Annotation } from '../../../src/api/names.ts';
import { toIssuingCredential } from '../../../src/targets/registry.ts';
import {
  anchorsOf,
  findReplacedAnchor,
  findUnlistedAnchor,
  formerAnchors,
  hasRoomForAnchor,
  withWantedAnchor,
} from '../../../src/tokens/policy/anchors.ts';
import { parseRecord } from '../../../src/tokens/policy/record.ts';
import { aCluster, aToken } from '../../support/builders.ts';

const REGISTRATION = { serviceAccount: 'deployer', clusterUID: aCluster().metadata.uid ?? '', credential: '' };
const HERE = { cluster: 'prod-eu', namespace: 'deploy', ...REGISTRATION };
const THERE = { cluster: 'prod-us', namespace: 'other', ...REGISTRATION };
const revocable = aToken().with({ revocation: 'BoundSecret' });
const listed = (...anchors: readonly unknown[]) => revocable.withStatus({ anchors: anchors as (typeof HERE)[] }).build();
const many = Array.from({ length: 40 }, (_, index) => ({ cluster: 'prod-us', namespace: `ns-${index}`, ...REGISTRATION }));

describe('anchorsOf', () => {
  it('ignores annotations and finalizers, which tenants write', () => {
    const forged = revocable
      .withMetadata({ finalizers: ['tokens.purser.dev/anchor'] })
      .annotated('tokens.purser.dev/anchors', 'prod-us/other');
    expect(anchorsOf(forged.build())).toEqual([]);
  });

  it('returns each valid location once', () => {
    expect(anchorsOf(listed(THERE, HERE, THERE))).toEqual([THERE, HERE]);
  });

  it.each(['', '..', 'A', 'a/b', 'x'.repeat(64)])('skips a location with the namespace %j', (namespace) => {
    expect(anchorsOf(listed({ ...THERE, namespace }, HERE))).toEqual([HERE]);
  });

  it('returns at most 16 locations', () => {
    expect(anchorsOf(listed(...many))).toHaveLength(16);
  });
});

describe('formerAnchors', () => {
  it('returns the listed locations except the one in the spec', () => {
    expect(formerAnchors(listed(THERE, HERE))).toEqual([THERE]);
  });

  it('returns every listed location for a token without revocation', () => {
    expect(
      formerAnchors(
        aToken()
          .withStatus({ anchors: [THERE, HERE] })
          .build(),
      ),
    ).toEqual([THERE, HERE]);
  });
});

describe('withWantedAnchor', () => {
  it('keeps the list once it contains the location in the spec', () => {
    expect(withWantedAnchor(listed(THERE, HERE), toIssuingCredential({ cluster: aCluster() }))).toEqual([THERE, HERE]);
  });

  it('adds the location in the spec to the listed locations', () => {
    expect(withWantedAnchor(listed(THERE), toIssuingCredential({ cluster: aCluster() }))).toEqual([THERE, HERE]);
  });

  it('lists the location in the spec with the Cluster that replaced another one', () => {
    expect(withWantedAnchor(listed(HERE, THERE), toIssuingCredential({ cluster: aCluster('another') }))).toEqual([
      THERE,
      { ...HERE, clusterUID: 'another' },
    ]);
  });
});

describe('hasRoomForAnchor', () => {
  it.each([
    ['15 other locations', many.slice(0, 15), true],
    ['15 other locations and the one in the spec', [...many.slice(0, 15), HERE], true],
    ['16 other locations', many.slice(0, 16), false],
  ])('returns whether another location fits into a list with %s', (_, entries, expected) => {
    expect(hasRoomForAnchor(listed(...entries))).toBe(expected);
  });
});

describe('findReplacedAnchor', () => {
  const { spec, ...cluster } = aCluster();
  const otherCredential = {
    ...cluster,
    spec: { ...spec, authInfo: { controller: { kind: 'Secret' as const, namespace: 'a', name: 'b' } } },
  };

  it.each([
    ['the Cluster of the list', aCluster(), undefined],
    ['a Cluster that was re-created', aCluster('another'), HERE],
    ['a Cluster that refers to another credential', otherCredential, HERE],
  ])(
    'returns the listed location of the spec only if it was recorded for another Cluster object or credential: %s',
    (_, each, expected) => {
      expect(findReplacedAnchor(listed(THERE, HERE), toIssuingCredential({ cluster: each }))).toEqual(expected);
    },
  );
});

describe('findUnlistedAnchor', () => {
  const uid = aToken().build().metadata.uid ?? '';
  const record = (cluster: string, name = `purser-${uid}`) =>
    parseRecord({
      [Annotation.issuedAt]: '2026-01-01T00:00:00Z',
      [Annotation.expiresAt]: '2026-01-01T01:00:00Z',
      [Annotation.issuedFor]: JSON.stringify({
        cluster,
        clusterUID: '',
        credential: '',
        requester: 'default',
        subject: 'system:serviceaccount:deploy:deployer',
        accountUID: '',
        audiences: ['api'],
        boundTo: `Secret/${name}/anchor-uid`,
      }),
    });

  it('returns the location that only the record in the Secret names', () => {
    expect(findUnlistedAnchor(listed(THERE), record('prod-eu'))).toEqual({ cluster: 'prod-eu', namespace: 'deploy' });
  });

  it.each([
    ['a listed location', record('prod-eu')],
    ['the anchor of another object', record('prod-us', 'purser-other')],
    ['a cluster whose name is invalid', record('../x')],
    ['no record', undefined],
  ])('returns undefined for %s', (_, each) => {
    expect(findUnlistedAnchor(listed(HERE), each)).toBeUndefined();
  });
});
