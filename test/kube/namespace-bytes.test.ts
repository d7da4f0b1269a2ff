import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ConfigMap, Stored } from '../../src/api/resources.ts';
import { isOverBudget, KeptObjects, keepWithin, type NamespaceBudget, recordBytes, recordedBytes } from '../../src/kube/namespace-bytes.ts';
import { objectKeyOf } from '../../src/kube/paths.ts';

const BUDGET: NamespaceBudget<ConfigMap> = { bytes: 100, small: 10, toStub: ({ metadata }) => ({ metadata }) };

function createObject(name: string, bytes: number, namespace = 'a'): Stored<ConfigMap> {
  return recordBytes({ metadata: { name, namespace, uid: `uid-${name}`, resourceVersion: '1' }, data: { size: `${bytes}` } }, bytes);
}

function keep(...objects: readonly Stored<ConfigMap>[]): KeptObjects<ConfigMap> {
  const kept = new KeptObjects(BUDGET);
  for (const object of objects) kept.set(object);
  return kept;
}

function stubsOf(kept: KeptObjects<ConfigMap>): string[] {
  return [...kept.all].flatMap(([key, object]) => (isOverBudget(object) ? [key] : [])).sort();
}

/** Returns the keys of the objects that exceed the budget of their namespace, if its smallest objects are kept whole. */
function expectedStubs(objects: readonly Stored<ConfigMap>[]): string[] {
  const totals = new Map<string, number>();
  const ordered = objects.toSorted((a, b) => recordedBytes(a) - recordedBytes(b) || (objectKeyOf(a) < objectKeyOf(b) ? -1 : 1));
  return ordered
    .filter((object) => {
      const { namespace } = object.metadata;
      const total = (totals.get(namespace) ?? 0) + recordedBytes(object);
      totals.set(namespace, total);
      return recordedBytes(object) > BUDGET.small && total > BUDGET.bytes;
    })
    .map(objectKeyOf)
    .sort();
}

/** Returns whether an object is whole and large enough to become a stub. */
function mayBeOver(object: Stored<ConfigMap>): boolean {
  return !isOverBudget(object) && recordedBytes(object) > BUDGET.small;
}

describe('KeptObjects', () => {
  it('keeps all objects in a namespace within its budget', () => {
    expect(stubsOf(keep(createObject('x', 40), createObject('y', 60)))).toEqual([]);
  });

  it('keeps a marked stub of the largest object of a namespace over its budget, even if other objects arrive later', () => {
    const kept = keep(createObject('large', 60), createObject('x', 40), createObject('y', 20));
    expect(stubsOf(kept)).toEqual(['a/large']);
    expect(kept.all.get('a/large')).toEqual({ metadata: createObject('large', 0).metadata, isOverBudget: true });
  });

  it('returns the objects that become stubs because another object arrives', () => {
    const kept = keep(createObject('large', 60), createObject('x', 40));
    const [own, ...others] = kept.set(createObject('y', 20));
    expect([own?.key, own?.previous]).toEqual(['a/y', undefined]);
    expect(others).toMatchObject([{ key: 'a/large', object: { isOverBudget: true }, previous: { data: { size: '60' } } }]);
  });

  it('keeps small objects in a namespace over its budget, and all objects in other namespaces', () => {
    expect(stubsOf(keep(createObject('x', 90), createObject('y', 99), createObject('small', 10), createObject('y', 99, 'b')))).toEqual([
      'a/y',
    ]);
  });

  it('keeps other objects whole if one object exceeds the budget alone', () => {
    const kept = keep(createObject('x', 50), createObject('huge', 101), createObject('y', 50));
    expect([stubsOf(kept), kept.canRestore]).toEqual([['a/huge'], false]);
  });

  it('counts each object once, even if it changes often', () => {
    const kept = new KeptObjects(BUDGET);
    for (let change = 0; change < 10; change++) kept.set(createObject('x', 90));
    expect(stubsOf(kept)).toEqual([]);
    kept.set(createObject('x', 20));
    expect(stubsOf(keep(...kept.all.values(), createObject('y', 80)))).toEqual([]);
  });

  it('counts a re-created object instead of the deleted one', () => {
    const kept = keep(createObject('x', 90));
    const { metadata, ...rest } = createObject('x', 90);
    kept.set(recordBytes({ ...rest, metadata: { ...metadata, uid: 'another' } }, 90));
    expect(stubsOf(kept)).toEqual([]);
  });

  it('reports that a stub can be restored after enough objects in its namespace are deleted', () => {
    const kept = keep(createObject('x', 50), createObject('y', 30), createObject('z', 60), createObject('x', 99, 'b'));
    expect(kept.canRestore).toBe(false);
    expect(kept.delete('a/y')).toMatchObject({ data: { size: '30' } });
    expect(kept.canRestore).toBe(false);
    kept.delete('a/x');
    expect(kept.canRestore).toBe(true);
    kept.set(createObject('z', 60));
    expect([stubsOf(kept), kept.canRestore]).toEqual([[], false]);
  });

  it.each([
    ['keeps', 'fits barely', 58],
    ['restores', 'fits with room to spare', 56],
    ['keeps', 'is barely small', 6],
    ['restores', 'is small', 5],
  ])('%s a stub if its changed object %s; a new list keeps the object whole', (action, _, bytes) => {
    const isStub = action === 'keeps';
    const kept = keep(createObject('x', 40), createObject('y', 70));
    kept.set(createObject('y', bytes));
    expect([stubsOf(kept), kept.canRestore]).toEqual([isStub ? ['a/y'] : [], isStub]);
    expect(stubsOf(keep(createObject('x', 40), createObject('y', bytes)))).toEqual([]);
  });

  it('keeps the smallest objects in each namespace whole, in any order of arrival', () => {
    const objects = fc.uniqueArray(
      fc.record({ name: fc.integer({ max: 30, min: 0 }), bytes: fc.integer({ max: 120, min: 0 }), namespace: fc.constantFrom('a', 'b') }),
      { selector: ({ name, namespace }) => `${namespace}/${name}`, maxLength: 20 },
    );
    fc.assert(
      fc.property(objects, objects, fc.nat(), (first, then, seed) => {
        const kept = new KeptObjects(BUDGET);
        const current = new Map<string, Stored<ConfigMap>>();
        for (const { name, bytes, namespace } of [...first, ...then]) {
          const object = createObject(`${name}`, bytes, namespace);
          kept.set(object);
          current.set(objectKeyOf(object), object);
        }
        for (const key of [...current.keys()].filter((_, index) => (seed >> (index % 30)) % 2 === 1)) {
          kept.delete(key);
          current.delete(key);
        }
        const expected = expectedStubs([...current.values()]);
        // A stub remains one until the object arrives again, which `canRestore` requests.
        expect(kept.canRestore).toBe(stubsOf(kept).join() !== expected.join());
        expect(
          [...kept.all.values()].reduce((sum, object) => sum + (mayBeOver(object) ? recordedBytes(object) : 0), 0),
        ).toBeLessThanOrEqual(200);
        expect(stubsOf(keep(...current.values()))).toEqual(expected);
        expect(stubsOf(keep(...[...current.values()].reverse()))).toEqual(expected);
        expect(stubsOf(keep(...keep(...current.values()).all.values()))).toEqual(expected);
        for (const key of current.keys()) kept.delete(key);
        expect([kept.all.size, kept.canRestore]).toEqual([0, false]);
      }),
    );
  });
});

describe('keepWithin', () => {
  const toStub = ({ name }: { readonly name: string; readonly text?: string }) => ({ name });

  it('returns an object of the maximum size, and records its size', () => {
    const object = { name: 'a', text: 'x' };
    const bytes = JSON.stringify(object).length;
    expect([keepWithin(bytes, object, toStub), recordedBytes(object)]).toEqual([object, bytes]);
  });

  it('returns a marked stub of a larger object, and records the size of the stub', () => {
    const stub = keepWithin(20, { name: 'a', text: 'x'.repeat(20) }, toStub);
    expect([stub, recordedBytes(stub)]).toEqual([{ name: 'a', isTooLarge: true }, JSON.stringify(stub).length]);
  });
});
