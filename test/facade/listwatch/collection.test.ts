import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Visibility } from '../../../src/access/visibility.ts';
import { Collection, Item } from '../../../src/facade/listwatch/collection.ts';
import { formatFacadeVersionAt } from '../../../src/facade/listwatch/version.ts';

function itemOf(name: string, version = '1', namespace?: string): Item {
  const metadata = { name, ...(namespace && { namespace }), resourceVersion: version, uid: `uid-${name}` };
  return new Item({ apiVersion: 'v1', kind: 'Thing', metadata }, 0);
}

const name = fc.integer({ min: 0, max: 999 }).map((number) => `c-${number}`);
const change = fc.record({ type: fc.constantFrom('with' as const, 'with' as const, 'without' as const), name });

describe('Collection', () => {
  it('keeps items sorted by key, and never changes an earlier collection', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 600 }), fc.array(change, { maxLength: 200 }), (names, changes) => {
        const model = new Map(names.map((each) => [each, itemOf(each)]));
        let collection = Collection.of(model.values());
        const first = collection;
        const before = [...first.from('')].map((item) => item.key);
        for (const each of changes) {
          const item = itemOf(each.name, '2');
          collection = each.type === 'with' ? collection.with(item) : collection.without(each.name);
          if (each.type === 'with') model.set(each.name, item);
          else model.delete(each.name);
          expect(collection.get(each.name)).toBe(model.get(each.name));
        }
        const sorted = [...model.keys()].sort();
        expect([...collection.from('')].map((item) => item.key)).toEqual(sorted);
        expect([...collection.from('c-5')].map((item) => item.key)).toEqual(sorted.filter((each) => each >= 'c-5'));
        expect(collection.size).toBe(model.size);
        expect([...first.from('')].map((item) => item.key)).toEqual(before);
        const bytes = Buffer.concat(collection.blocks.map((block) => block.bytes)).toString();
        expect(JSON.parse(`[${bytes.slice(0, -1)}]`)).toEqual(
          [...collection.from('')].map((item) => item.at(formatFacadeVersionAt(item.revision, Visibility.everything))),
        );
      }),
      { numRuns: 50 },
    );
  });

  it('yields the items of visible sets and names in order, each once, starting at a key', () => {
    const set = fc.constantFrom(undefined, 'set:a', 'set:b', 'set:c');
    const members = fc.uniqueArray(fc.record({ name, set }), { selector: (each) => each.name, maxLength: 400 });
    const granted = fc.uniqueArray(fc.oneof(name, fc.constantFrom('set:a', 'set:b', 'set:x')), { maxLength: 30 });
    fc.assert(
      fc.property(members, granted, fc.oneof(fc.constant(''), name), fc.array(change, { maxLength: 20 }), (all, names, start, changes) => {
        let collection = Collection.of(all.map((each) => new Item(itemOf(each.name).object, 0, each.set)));
        const visibility = new Visibility(new Set(names));
        // Blocks that have been read are shared with later collections.
        expect([...collection.findVisible(visibility)].every((item) => visibility.includesObject(item))).toBe(true);
        for (const each of changes) {
          const item = new Item(itemOf(each.name).object, 0, 'set:a');
          collection = each.type === 'with' ? collection.with(item) : collection.without(each.name);
        }
        const expected = [...collection.from('')].filter((item) => item.key >= start && visibility.includesObject(item));
        expect([...collection.findVisible(visibility, '', start)]).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });

  it('yields the items of visible namespaces and names in order, each once, in one namespace or in all', () => {
    const namespace = fc.constantFrom('a', 'a-b', 'b', 'c');
    const short = fc.constantFrom('v', 'w', 'x', 'y', 'z');
    const keyed = fc.tuple(namespace, short).map((parts) => parts.join('/'));
    const granted = fc.oneof(
      keyed,
      namespace.map((each) => `${each}/`),
      short.map((each) => `*/${each}`),
      fc.constantFrom('a', 'a/x/', '/', 'none/'),
    );
    const names = fc.oneof(fc.uniqueArray(keyed, { maxLength: 20 }), fc.uniqueArray(granted, { maxLength: 6 }));
    const start = fc.oneof(fc.constant(''), keyed);
    fc.assert(
      fc.property(fc.uniqueArray(keyed), names, fc.option(namespace, { nil: '' }), start, (keys, some, within, from) => {
        const collection = Collection.of(keys.map((key) => itemOf(key.split('/')[1] ?? '', '1', key.split('/')[0])));
        const visibility = new Visibility(new Set(some));
        const isListed = (key: string) => key >= from && key.startsWith(within === '' ? '' : `${within}/`);
        const expected = [...collection.from('')].filter((item) => isListed(item.key) && visibility.includesObject(item));
        expect([...collection.findVisible(visibility, within, from)]).toEqual(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it('yields the visible items of one namespace, starting at a key', () => {
    const keys = ['a/x', 'b-2/x', 'b/x', 'b/y', 'b/z', 'c/x'];
    const collection = Collection.of(keys.map((key) => itemOf(key.split('/')[1] ?? '', '1', key.split('/')[0])));
    const visible = (visibility: Visibility, start?: string) => [...collection.findVisible(visibility, 'b', start)].map(({ key }) => key);
    expect(visible(Visibility.everything)).toEqual(['b/x', 'b/y', 'b/z']);
    expect(visible(Visibility.everything, 'b/y')).toEqual(['b/y', 'b/z']);
    expect(visible(Visibility.everything, 'a/x')).toEqual(['b/x', 'b/y', 'b/z']);
    expect(visible(Visibility.everything, 'c/x')).toEqual([]);
    expect(visible(new Visibility(new Set(['a/x', 'b/y', 'b-2/x'])))).toEqual(['b/y']);
  });

  it('keeps the bytes of each item in a separate buffer, so that the log does not keep old lists', () => {
    const item = itemOf('a');
    const { blocks } = Collection.of([item, itemOf('b')]);
    expect(blocks.map(({ bytes }) => bytes.length)).toEqual([2 * item.bytes.length + 2]);
    expect(item.bytes.buffer.byteLength).toBe(item.bytes.length);
  });

  it('encodes an item with another resourceVersion', () => {
    const item = itemOf('a', '17');
    expect(Buffer.concat(item.toParts('1702034567')).toString()).toBe(
      item.bytes.toString().replace('"resourceVersion":"1700000001"', '"resourceVersion":"1702034567"'),
    );
  });
});
