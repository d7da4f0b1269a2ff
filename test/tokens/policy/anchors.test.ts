import { describe, expect, it } from '@jest/globals';
import { Annotation } from '../../../src/api/names.ts';
import { anchorsOf, formerAnchors, unlistedAnchor, withWantedAnchor } from '../../../src/tokens/policy/anchors.ts';
import { parseRecord } from '../../../src/tokens/policy/record.ts';
import { aToken } from '../../support/builders.ts';

const HERE = { cluster: 'prod-eu', namespace: 'deploy' };
const THERE = { cluster: 'prod-us', namespace: 'other' };
const revocable = aToken().with({ revocation: 'BoundSecret' });
const listed = (...anchors: readonly unknown[]) => revocable.withStatus({ anchors: anchors as (typeof HERE)[] }).build();
const many = Array.from({ length: 40 }, (_, index) => ({ cluster: 'prod-us', namespace: `ns-${index}` }));

describe('anchorsOf', () => {
  it('ignores annotations and finalizers, which tenants write', () => {
    const forged = revocable
      .withMetadata({ finalizers: ['tokens.purser.dev/anchor'] })
      .annotated('tokens.purser.dev/anchors', 'prod-us/other');
    expect(anchorsOf(forged.build())).toEqual([]);
  });

  it('returns each valid place once', () => {
    expect(anchorsOf(listed(THERE, HERE, THERE))).toEqual([THERE, HERE]);
  });

  it.each(['', '..', 'A', 'a/b', 'x'.repeat(64)])('skips a place with the namespace %j', (namespace) => {
    expect(anchorsOf(listed({ cluster: 'prod-us', namespace }, HERE))).toEqual([HERE]);
  });

  it('returns at most 16 places', () => {
    expect(anchorsOf(listed(...many))).toHaveLength(16);
  });
});

describe('formerAnchors', () => {
  it('returns the listed places other than that of the spec', () => {
    expect(formerAnchors(listed(THERE, HERE))).toEqual([THERE]);
  });

  it('returns every listed place of a token without revocation', () => {
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
  it('keeps the list once it has the place of the spec', () => {
    expect(withWantedAnchor(listed(THERE, HERE))).toEqual([THERE, HERE]);
  });

  it('adds the place of the spec to the listed ones', () => {
    expect(withWantedAnchor(listed(THERE))).toEqual([THERE, HERE]);
  });

  it('returns undefined when 16 other places are listed', () => {
    expect(withWantedAnchor(listed(...many.slice(0, 16)))).toBeUndefined();
  });
});

describe('unlistedAnchor', () => {
  const uid = aToken().build().metadata.uid ?? '';
  const record = (cluster: string, name = `purser-${uid}`) =>
    parseRecord({
      [Annotation.issuedAt]: '2026-01-01T00:00:00Z',
      [Annotation.expiresAt]: '2026-01-01T01:00:00Z',
      [Annotation.issuedFor]: JSON.stringify({
        cluster,
        clusterUID: '',
        credential: '',
        subject: 'system:serviceaccount:deploy:deployer',
        accountUID: '',
        audiences: ['api'],
        boundTo: `Secret/${name}/anchor-uid`,
      }),
    });

  it('returns the place that only the record of the Secret names', () => {
    expect(unlistedAnchor(listed(THERE), record('prod-eu'))).toEqual(HERE);
  });

  it.each([
    ['a listed place', record('prod-eu')],
    ['the anchor of another object', record('prod-us', 'purser-other')],
    ['a cluster whose name is invalid', record('../x')],
    ['no record', undefined],
  ])('returns undefined for %s', (_, each) => {
    expect(unlistedAnchor(listed(HERE), each)).toBeUndefined();
  });
});
