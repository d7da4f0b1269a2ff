import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Cluster } from '../../../src/api/cluster.gen.ts';
import { ClusterCollection } from '../../../src/facade/listwatch/collection.ts';
import { PublishedCluster } from '../../../src/facade/listwatch/item.ts';

function published(name: string, version = '1'): PublishedCluster {
  const metadata = { name, resourceVersion: version, uid: `uid-${name}` };
  return new PublishedCluster({ metadata, spec: {} } as Cluster, []);
}

const name = fc.integer({ min: 0, max: 999 }).map((number) => `c-${number}`);
const change = fc.record({ type: fc.constantFrom('with' as const, 'with' as const, 'without' as const), name });

describe('a collection of clusters', () => {
  it('keeps the order of names, and what it was when it changes', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 600 }), fc.array(change, { maxLength: 200 }), (names, changes) => {
        const model = new Map(names.map((each) => [each, published(each)]));
        let collection = ClusterCollection.of(model.values());
        const first = collection;
        const before = [...first.from('')].map((cluster) => cluster.name);
        for (const each of changes) {
          const cluster = published(each.name, '2');
          collection = each.type === 'with' ? collection.with(cluster) : collection.without(each.name);
          if (each.type === 'with') model.set(each.name, cluster);
          else model.delete(each.name);
          expect(collection.get(each.name)).toBe(model.get(each.name));
        }
        const sorted = [...model.keys()].sort();
        expect([...collection.from('')].map((cluster) => cluster.name)).toEqual(sorted);
        expect([...collection.from('c-5')].map((cluster) => cluster.name)).toEqual(sorted.filter((each) => each >= 'c-5'));
        expect(collection.size).toBe(model.size);
        expect([...first.from('')].map((cluster) => cluster.name)).toEqual(before);
        const bytes = Buffer.concat(collection.blocks.map((block) => block.bytes)).toString();
        expect(JSON.parse(`[${bytes.slice(0, -1)}]`)).toEqual([...collection.from('')].map(({ object }) => object));
      }),
      { numRuns: 50 },
    );
  });

  it('writes another version into the bytes of a cluster', () => {
    const cluster = published('a', '17');
    expect(Buffer.concat(cluster.parts('4611686018427387906')).toString()).toBe(
      cluster.bytes.toString().replace('"resourceVersion":"17"', '"resourceVersion":"4611686018427387906"'),
    );
  });
});
