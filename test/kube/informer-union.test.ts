import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { BehaviorSubject, Subject } from 'rxjs';
import type { ConfigMap, Stored } from '../../src/api/resources.ts';
import { type Informer, type Problem, unionOf } from '../../src/kube/informer.ts';
import type { ListWatchEvent } from '../../src/kube/list-watch.ts';
import { type Batch, type Change, ObjectStore } from '../../src/kube/store.ts';

/** An informer that is told what happens. */
class Told implements Informer<ConfigMap> {
  readonly store = new ObjectStore<ConfigMap>();
  readonly changes$ = new Subject<Change<ConfigMap>>();
  readonly batches$ = new Subject<Batch<ConfigMap>>();
  readonly synced$ = new BehaviorSubject(false);
  readonly problems$ = new Subject<Problem>();

  get synced(): boolean {
    return this.synced$.value;
  }

  tell(event: ListWatchEvent<ConfigMap>): void {
    for (const change of this.store.apply(event)) this.changes$.next(change);
    this.synced$.next(true);
  }
}

function object(namespace: string, name: string, colour = 'red'): Stored<ConfigMap> {
  return { metadata: { namespace, name, uid: `${namespace}-${name}`, resourceVersion: colour }, data: { colour } };
}

const colours = ({ data }: ConfigMap) => Object.values(data ?? {});

describe('unionOf', () => {
  it('is synced when all informers are, and emits the changes of each', () => {
    const [a, b] = [new Told(), new Told()];
    const union = unionOf([a, b]);
    const synced: boolean[] = [];
    const seen: string[] = [];
    union.synced$.subscribe((is) => synced.push(is));
    union.changes$.subscribe(({ type, key }) => seen.push(`${type} ${key}`));
    a.tell({ type: 'listed', objects: [object('a', 'x')], resourceVersion: '1' });
    expect([union.synced, synced]).toEqual([false, [false]]);
    b.tell({ type: 'listed', objects: [], resourceVersion: '1' });
    b.tell({ type: 'applied', object: object('b', 'x'), resourceVersion: '2' });

    expect([union.synced, synced]).toEqual([true, [false, true]]);
    expect(seen).toEqual(['added a/x', 'added b/x']);
  });

  it('returns a single informer itself', () => {
    const only = new Told();

    expect(unionOf([only])).toBe(only);
  });

  it('reads like one store with all objects', () => {
    const event = fc.record({
      place: fc.constantFrom('a', 'b', 'c'),
      name: fc.constantFrom('x', 'y'),
      colour: fc.constantFrom('red', 'blue'),
      isDeleted: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const told = new Map(['a', 'b', 'c'].map((place) => [place, new Told()]));
        const { store } = unionOf([...told.values()]);
        const whole = new ObjectStore<ConfigMap>();
        const lookups = [store.index(colours), whole.index(colours)] as const;
        for (const [index, { place, name, colour, isDeleted }] of events.entries()) {
          const changed = object(place, name, `${colour}-${index}`);
          const happens = { type: isDeleted ? 'deleted' : 'applied', object: changed, resourceVersion: String(index) } as const;
          told.get(place)?.tell(happens);
          whole.apply(happens);
        }

        expect(store.size).toBe(whole.size);
        expect(store.keys().toSorted()).toEqual(whole.keys().toSorted());
        for (const key of ['a/x', 'b/y', 'd/x']) expect([store.get(key), store.has(key)]).toEqual([whole.get(key), whole.has(key)]);
        for (const found of whole.list()) {
          expect(store.list()).toContainEqual(found);
          expect(lookups[0](colours(found)[0] ?? '')).toEqual(lookups[1](colours(found)[0] ?? ''));
        }
      }),
    );
  });
});
