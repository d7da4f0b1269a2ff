import { describe, expect, it } from '@jest/globals';
import { of, toArray } from 'rxjs';
import type { ConfigMap, Stored } from '../../src/api/resources.ts';
import type { ListWatchEvent } from '../../src/kube/list-watch.ts';
import { type Change, ObjectStore, reflectBatches } from '../../src/kube/store.ts';

function object(name: string, resourceVersion: string, more: { readonly uid?: string; readonly value?: string } = {}): Stored<ConfigMap> {
  return { metadata: { name, namespace: 'ns', resourceVersion, uid: more.uid ?? `uid-${name}` }, data: { value: more.value ?? '' } };
}

function byName({ metadata: a }: Stored<ConfigMap>, { metadata: b }: Stored<ConfigMap>): number {
  return a.name < b.name ? -1 : 1;
}

function createListedEvent(...objects: readonly Stored<ConfigMap>[]): ListWatchEvent<ConfigMap> {
  return { type: 'listed', objects, resourceVersion: '100' };
}

function formatChanges(changes: readonly Change<ConfigMap>[]): string[] {
  return changes.map(({ type, key, object: { metadata } }) => `${type} ${key} ${metadata.resourceVersion}`);
}

describe('ObjectStore', () => {
  it('replaces the stored objects before it returns the changes, including missed deletions', () => {
    const store = new ObjectStore<ConfigMap>();
    store.apply(createListedEvent(object('a', '1'), object('b', '2'), object('c', '3')));
    const changes = store.apply(createListedEvent(object('b', '2'), object('c', '9'), object('d', '4')));
    expect(store.keys()).toEqual(['ns/b', 'ns/c', 'ns/d']);
    expect(formatChanges(changes)).toEqual(['deleted ns/a 1', 'updated ns/c 9', 'added ns/d 4']);
  });

  it('contains all objects of a new list before subscribers receive the changes', () => {
    const store = new ObjectStore<ConfigMap>();
    store.apply(createListedEvent(object('a', '1')));
    const sizes: number[] = [];
    of(createListedEvent(object('a', '2'), object('b', '2')))
      .pipe(reflectBatches(store, () => sizes.push(store.size)))
      .subscribe(() => sizes.push(store.size));
    expect(sizes).toEqual([2, 2]);
  });

  it('distinguishes a re-created object from an updated one', () => {
    const store = new ObjectStore<ConfigMap>();
    store.apply(createListedEvent(object('a', '1', { uid: 'first' })));
    expect(formatChanges(store.apply(createListedEvent(object('a', '5', { uid: 'second' }))))).toEqual(['deleted ns/a 1', 'added ns/a 5']);
  });

  it('returns no change for a repeated event', () => {
    const store = new ObjectStore<ConfigMap>();
    store.apply(createListedEvent(object('a', '1')));
    expect(store.apply({ type: 'applied', object: object('a', '1'), resourceVersion: '1' })).toEqual([]);
    expect(store.apply({ type: 'deleted', object: object('b', '2'), resourceVersion: '2' })).toEqual([]);
  });

  it('returns the previous object of an update and the last object of a deletion', () => {
    const store = new ObjectStore<ConfigMap>();
    store.apply(createListedEvent(object('a', '1')));
    const [updated] = store.apply({ type: 'applied', object: object('a', '2'), resourceVersion: '2' });
    expect(updated).toMatchObject({ type: 'updated', previous: { metadata: { resourceVersion: '1' } } });
    const [deleted] = store.apply({ type: 'deleted', object: object('a', '3'), resourceVersion: '3' });
    expect(deleted).toMatchObject({ type: 'deleted', object: { metadata: { resourceVersion: '3' } } });
    expect(store.get('ns/a')).toBeUndefined();
  });

  it('returns the resource version of the last event, even of a bookmark', () => {
    const store = new ObjectStore<ConfigMap>();
    expect(store.resourceVersion).toBeUndefined();
    store.apply(createListedEvent());
    expect(store.resourceVersion).toBe('100');
    expect(store.apply({ type: 'bookmark', resourceVersion: '107' })).toEqual([]);
    expect(store.resourceVersion).toBe('107');
  });

  it('indexes existing and later objects', () => {
    const store = new ObjectStore<ConfigMap>();
    store.apply(createListedEvent(object('a', '1', { value: 'red' })));
    const byValue = store.index(({ data }) => (data?.['value'] ? [data['value']] : []));
    const names = (value: string) => byValue(value).map(({ metadata }) => metadata.name);
    expect(names('red')).toEqual(['a']);
    store.apply({ type: 'applied', object: object('b', '2', { value: 'red' }), resourceVersion: '2' });
    store.apply({ type: 'applied', object: object('a', '3', { value: 'blue' }), resourceVersion: '3' });
    expect([names('red'), names('blue')]).toEqual([['b'], ['a']]);
    store.apply(createListedEvent(object('a', '4', { uid: 're-created', value: 'green' })));
    expect([names('red'), names('blue'), names('green')]).toEqual([[], [], ['a']]);
    store.apply({ type: 'deleted', object: object('a', '5'), resourceVersion: '5' });
    expect(names('green')).toEqual([]);
  });

  it('returns at most the requested number of objects for an index value', () => {
    const store = new ObjectStore<ConfigMap>();
    store.apply(createListedEvent(...['a', 'b', 'c'].map((name) => object(name, '1', { value: 'red' }))));
    const byValue = store.index(({ data }) => (data?.['value'] ? [data['value']] : []));
    const names = (limit?: number) => byValue('red', limit).map(({ metadata }) => metadata.name);
    expect([names(2), names(3), names()]).toEqual([
      ['a', 'b'],
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ]);
  });

  it('removes a deleted object from its index values, even if the deletion event has other values', () => {
    const store = new ObjectStore<ConfigMap>();
    const valueOf = ({ data }: ConfigMap) => data?.['value'] ?? '';
    const byValue = store.index((each) => [valueOf(each), valueOf(each)]);
    const count = store.tally((each) => [valueOf(each), valueOf(each)]);
    const first = store.first(valueOf, byName);
    store.apply(createListedEvent(object('a', '1', { value: 'x' }), object('b', '1', { value: 'x' })));
    store.apply({ type: 'deleted', object: object('a', '2', { value: 'y' }), resourceVersion: '2' });
    expect([byValue('x').length, count('x'), first('x')?.metadata.name]).toEqual([1, 1, 'b']);
    store.apply({ type: 'deleted', object: object('b', '3', { value: 'y' }), resourceVersion: '3' });
    expect([byValue('x').length, count('x'), first('x'), byValue('y').length, count('y')]).toEqual([0, 0, undefined, 0, 0]);
  });

  it('indexes an object with 5,000 values, and updates the index when they change', () => {
    const store = new ObjectStore<ConfigMap>();
    const valuesOf = ({ data = {} }: ConfigMap) => (data['value'] ?? '').split(',');
    const byValue = store.index(valuesOf);
    const values = (from: number) => Array.from({ length: 5_000 }, (_, index) => `v${from + index}`);
    for (const from of [0, 2_500]) store.apply(createListedEvent(object('a', String(from + 1), { value: values(from).join(',') })));
    expect([0, 2_499, 2_500, 7_499].map((value) => byValue(`v${value}`).length)).toEqual([0, 0, 1, 1]);
  });

  it('counts the objects of an index value', () => {
    const store = new ObjectStore<ConfigMap>();
    store.apply(createListedEvent(object('a', '1', { value: 'red' }), object('b', '2', { value: 'red' })));
    const count = store.tally(({ data }) => (data?.['value'] ? [data['value']] : []));
    expect([count('red'), count('blue')]).toEqual([2, 0]);
    store.apply({ type: 'applied', object: object('b', '3', { value: 'blue' }), resourceVersion: '3' });
    store.apply({ type: 'deleted', object: object('a', '4'), resourceVersion: '4' });
    expect([count('red'), count('blue')]).toEqual([0, 1]);
  });

  it('returns the first object of an index value in the given order, after each change', () => {
    const store = new ObjectStore<ConfigMap>();
    store.apply(createListedEvent(object('b', '1', { value: 'red' }), object('c', '1', { value: 'red' })));
    const first = store.first(({ data }) => data?.['value'] || undefined, byName);
    const names = () => ['red', 'blue'].map((value) => first(value)?.metadata.name);
    expect(names()).toEqual(['b', undefined]);
    store.apply({ type: 'applied', object: object('a', '2', { value: 'red' }), resourceVersion: '2' });
    expect(names()).toEqual(['a', undefined]);
    store.apply({ type: 'applied', object: object('a', '3', { value: 'blue' }), resourceVersion: '3' });
    expect(names()).toEqual(['b', 'a']);
    store.apply({ type: 'applied', object: object('a', '4'), resourceVersion: '4' });
    store.apply({ type: 'deleted', object: object('b', '5'), resourceVersion: '5' });
    expect(names()).toEqual(['c', undefined]);
    store.apply(createListedEvent());
    expect(names()).toEqual([undefined, undefined]);
  });

  it('compares a few of 20,000 objects of one index value after a change, and none for a lookup', () => {
    const store = new ObjectStore<ConfigMap>();
    let comparisons = 0;
    const first = store.first(
      () => 'red',
      (a, b) => {
        comparisons += 1;
        return byName(a, b);
      },
    );
    store.apply(createListedEvent(...Array.from({ length: 20_000 }, (_, index) => object(`o-${10_000 + index}`, '1'))));
    comparisons = 0;
    store.apply({ type: 'applied', object: object('o-20000', '2'), resourceVersion: '2' });
    store.apply({ type: 'deleted', object: object('o-10000', '3'), resourceVersion: '3' });
    expect(comparisons).toBeLessThan(150);
    comparisons = 0;
    expect([first('red')?.metadata.name, comparisons]).toEqual(['o-10001', 0]);
  });

  it('emits changes in the order of the events', () => {
    const store = new ObjectStore<ConfigMap>();
    const events = [createListedEvent(object('a', '1')), { type: 'applied', object: object('b', '2'), resourceVersion: '2' }] as const;
    let all: readonly Change<ConfigMap>[] = [];
    of(...events)
      .pipe(
        reflectBatches(store, () => undefined),
        toArray(),
      )
      .subscribe((batches) => (all = batches.flatMap(({ changes }) => changes)));
    expect(formatChanges(all)).toEqual(['added ns/a 1', 'added ns/b 2']);
  });
});
