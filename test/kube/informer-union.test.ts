import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { BehaviorSubject, Subject } from 'rxjs';
import type { ConfigMap, Stored } from '../../src/api/resources.ts';
import { combineInformers, type Informer, type ListWatchProblem } from '../../src/kube/informer.ts';
import type { ListWatchEvent } from '../../src/kube/list-watch.ts';
import { type Batch, type Change, ObjectStore } from '../../src/kube/store.ts';

/** An informer that applies the events of a test. */
class ManualInformer implements Informer<ConfigMap> {
  readonly store = new ObjectStore<ConfigMap>();
  readonly changes$ = new Subject<Change<ConfigMap>>();
  readonly batches$ = new Subject<Batch<ConfigMap>>();
  readonly synced$ = new BehaviorSubject(false);
  readonly problems$ = new Subject<ListWatchProblem>();

  get synced(): boolean {
    return this.synced$.value;
  }

  apply(event: ListWatchEvent<ConfigMap>): void {
    for (const change of this.store.apply(event)) this.changes$.next(change);
    this.synced$.next(true);
  }
}

function object(namespace: string, name: string, color = 'red'): Stored<ConfigMap> {
  return { metadata: { namespace, name, uid: `${namespace}-${name}`, resourceVersion: color }, data: { color } };
}

function byKey({ metadata: a }: Stored<ConfigMap>, { metadata: b }: Stored<ConfigMap>): number {
  return `${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1;
}

const colors = ({ data }: ConfigMap) => Object.values(data ?? {});

describe('combineInformers', () => {
  it('becomes synced with the last informer, and emits the changes of all informers', () => {
    const [a, b] = [new ManualInformer(), new ManualInformer()];
    const union = combineInformers([a, b]);
    const synced: boolean[] = [];
    const seen: string[] = [];
    union.synced$.subscribe((is) => synced.push(is));
    union.changes$.subscribe(({ type, key }) => seen.push(`${type} ${key}`));
    a.apply({ type: 'listed', objects: [object('a', 'x')], resourceVersion: '1' });
    expect([union.synced, synced]).toEqual([false, [false]]);
    b.apply({ type: 'listed', objects: [], resourceVersion: '1' });
    b.apply({ type: 'applied', object: object('b', 'x'), resourceVersion: '2' });

    expect([union.synced, synced]).toEqual([true, [false, true]]);
    expect(seen).toEqual(['added a/x', 'added b/x']);
  });

  it('returns the informer itself if there is only one', () => {
    const only = new ManualInformer();

    expect(combineInformers([only])).toBe(only);
  });

  it('returns the same objects as one store with all objects', () => {
    const event = fc.record({
      place: fc.constantFrom('a', 'b', 'c'),
      name: fc.constantFrom('x', 'y'),
      color: fc.constantFrom('red', 'blue'),
      isDeleted: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const informers = new Map(['a', 'b', 'c'].map((place) => [place, new ManualInformer()]));
        const { store } = combineInformers([...informers.values()]);
        const whole = new ObjectStore<ConfigMap>();
        const lookups = [store.index(colors), whole.index(colors)] as const;
        const firsts = [store, whole].map((each) => each.first(() => 'all', byKey));
        for (const [index, { place, name, color, isDeleted }] of events.entries()) {
          const changed = object(place, name, `${color}-${index}`);
          const happens = { type: isDeleted ? 'deleted' : 'applied', object: changed, resourceVersion: String(index) } as const;
          informers.get(place)?.apply(happens);
          whole.apply(happens);
        }

        expect(store.size).toBe(whole.size);
        expect(store.keys().toSorted()).toEqual(whole.keys().toSorted());
        for (const key of ['a/x', 'b/y', 'd/x']) expect([store.get(key), store.has(key)]).toEqual([whole.get(key), whole.has(key)]);
        expect(firsts[0]?.('all')).toEqual(firsts[1]?.('all'));
        for (const found of whole.list()) {
          expect(store.list()).toContainEqual(found);
          expect(lookups[0](colors(found)[0] ?? '')).toEqual(lookups[1](colors(found)[0] ?? ''));
        }
      }),
    );
  });
});
