// An informer whose events a test supplies; its store and its changes are real.

import { BehaviorSubject, finalize, mergeMap, type Observable, Subject, share } from 'rxjs';
import type { ApiObject } from '../../src/api/resources.ts';
import type { ListWatchEvent } from '../../src/kube/list-watch.ts';
import { type Batch, type Change, ObjectStore, reflectBatches } from '../../src/kube/store.ts';
import { stored } from '../support/stored.ts';

export class HandInformer<T extends ApiObject> {
  readonly store = new ObjectStore<T>();
  readonly synced$ = new BehaviorSubject(false);
  readonly #events$ = new Subject<ListWatchEvent<T>>();
  readonly batches$: Observable<Batch<T>> = this.#events$.pipe(
    reflectBatches(this.store, () => this.synced$.next(true)),
    finalize(() => this.synced$.next(false)),
    share(),
  );
  readonly changes$: Observable<Change<T>> = this.batches$.pipe(mergeMap(({ changes }) => changes));

  /** True while a list-watch would run. */
  get runs(): boolean {
    return this.#events$.observed;
  }

  get synced(): boolean {
    return this.synced$.value;
  }

  list(...objects: readonly T[]): void {
    this.#events$.next({ type: 'listed', objects: objects.map(stored), resourceVersion: '1' });
  }

  apply(object: T): void {
    this.#events$.next({ type: 'applied', object: stored(object), resourceVersion: object.metadata.resourceVersion ?? '' });
  }

  bookmark(): void {
    this.#events$.next({ type: 'bookmark', resourceVersion: this.store.resourceVersion ?? '1' });
  }

  delete(object: T): void {
    this.#events$.next({ type: 'deleted', object: stored(object), resourceVersion: object.metadata.resourceVersion ?? '' });
  }
}
