import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { encodeListFrame, formatBody, joinList } from '../../../src/kubernetes/wire/encode.ts';
import { formatList } from '../../../src/kubernetes/wire/list-pieces.ts';

const FORMATS = [
  { mediaType: 'json', pretty: false },
  { mediaType: 'json', pretty: true },
  { mediaType: 'yaml', pretty: false },
] as const;

const FRAMES = [
  encodeListFrame({ apiVersion: 'a/v1', kind: 'BList', metadata: { resourceVersion: '5' } }, false),
  encodeListFrame({ apiVersion: 'v1', kind: 'SecretList', metadata: { resourceVersion: '5' } }, true),
  { before: '{"kind":"Table","columnDefinitions":[{"name":"items: []\\nrows: []"}],"rows":[', after: ']}' },
];

describe('formatList', () => {
  it('yields pieces that join to the body of the whole list', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 3 })), fc.constantFrom(...FRAMES), (values, frame) => {
        const list = { ...frame, items: values.map((value) => JSON.stringify(value)) };
        for (const format of FORMATS) expect([...formatList(list, format)].join('')).toBe(formatBody(joinList(list), format));
      }),
    );
  });

  it('encodes items lazily', () => {
    let made = 0;
    const items = ['{"a":1}', '{"a":2}', '{"a":3}'].values().map((item) => {
      made += 1;
      return item;
    });
    for (const _ of formatList({ before: '{"items":[', items, after: ']}' }, { mediaType: 'yaml', pretty: false })) break;
    expect(made).toBe(1);
  });
});
