import { describe, expect, it } from '@jest/globals';
import { AnchorFinalizer, Annotation } from '../../src/api/names.ts';
import { anchorNote, anchorsOf, formerAnchors, missingNote } from '../../src/domain/anchors.ts';
import { aToken } from '../support/builders.ts';

const revocable = aToken().with({ revocation: 'BoundSecret' });
const anchored = revocable.withMetadata({ finalizers: ['example.com/other', AnchorFinalizer] });
const noted = (text: string) => anchored.annotated(Annotation.anchors, text).build();
const HERE = { cluster: 'prod-eu', namespace: 'deploy' };
const THERE = { cluster: 'prod-us', namespace: 'other' };

describe('anchorsOf', () => {
  it('are none without the finalizer, whatever is noted', () => {
    expect(anchorsOf(revocable.annotated(Annotation.anchors, 'prod-us/other').build(), undefined)).toEqual([]);
  });

  it('are where the note says', () => {
    expect(anchorsOf(noted('prod-us/other prod-eu/deploy'), undefined)).toEqual([THERE, HERE]);
  });

  it.each(['', ' ', 'prod-us', '/', '../x', 'a/b/c', 'A/B', 'prod-us/o.ther'])('are where the spec says when the note is %j', (text) => {
    expect(anchorsOf(noted(text), undefined)).toEqual([HERE]);
  });
});

describe('formerAnchors', () => {
  it('are all that are not where the spec says', () => {
    expect([formerAnchors(noted('prod-us/other prod-eu/deploy')), formerAnchors(anchored.build())]).toEqual([[THERE], []]);
  });
});

describe('missingNote', () => {
  it('is none once it is made', () => {
    expect(missingNote(noted('prod-eu/deploy prod-us/other'), undefined)).toBeUndefined();
  });

  it.each([
    ['of a ManagedToken without any', revocable.build(), [AnchorFinalizer], 'prod-eu/deploy'],
    ['of one that has moved', noted('prod-us/other'), ['example.com/other', AnchorFinalizer], 'prod-eu/deploy prod-us/other'],
    ['of one that has the finalizer alone', anchored.build(), ['example.com/other', AnchorFinalizer], 'prod-eu/deploy'],
  ])('%s has the finalizer and every place', (_, token, finalizers, text) => {
    expect(missingNote(token, undefined)).toEqual({ finalizers, annotations: { [Annotation.anchors]: text } });
  });

  it('does not grow without end', () => {
    const places = Array.from({ length: 40 }, (_, index) => `prod-us/ns-${index}`);
    const text = missingNote(noted(places.join(' ')), undefined)?.annotations[Annotation.anchors] ?? '';
    expect([text.split(' ').length, text.startsWith('prod-eu/deploy ')]).toEqual([16, true]);
  });
});

describe('anchorNote', () => {
  it('of no place is no note, and no finalizer of ours', () => {
    expect(anchorNote(noted('prod-eu/deploy'), [])).toEqual({
      finalizers: ['example.com/other'],
      annotations: { [Annotation.anchors]: null },
    });
  });
});
