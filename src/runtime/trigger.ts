// Maps changes to the keys to reconcile.

import { combineLatest, defer, first, from, ignoreElements, map, merge, type Observable, type OperatorFunction, switchMap } from 'rxjs';
import type { ApiObject, Resource, Stored } from '../api/resources.ts';
import type { Informer } from '../kube/informer.ts';
import type { Change } from '../kube/store.ts';
import type { Clock } from '../std/clock.ts';
import type { Request } from './work-queue.ts';

/** Returns the key of the changed object. */
export function self(change: Change<ApiObject>): readonly string[] {
  return [change.key];
}

/** Returns a function that maps a change to the keys of the owners of this kind, before and after the change. */
export function owner({ group, kind, namespaced }: Resource<unknown>): (change: Change<ApiObject>) => readonly string[] {
  return mapToKeys(({ metadata: { namespace, ownerReferences = [] } }) =>
    ownerReferences
      .filter((reference) => reference.kind === kind && groupOf(reference.apiVersion) === group)
      .map(({ name }) => (namespaced && namespace ? `${namespace}/${name}` : name)),
  );
}

/** Returns a function that maps a change to the keys that `keysOf` returns for the object, before and after the change. */
export function mapToKeys<T extends ApiObject>(keysOf: (object: Stored<T>) => Iterable<string>): (change: Change<T>) => readonly string[] {
  return (change) => [...new Set(statesOf(change).flatMap((object) => [...keysOf(object)]))];
}

/** Returns the object and, for an update, its previous state. */
export function statesOf<T extends ApiObject>(change: Change<T>): readonly Stored<T>[] {
  return change.type === 'updated' ? [change.object, change.previous] : [change.object];
}

/**
 * Subscribes to the informers and, once all are synced, emits all known keys and `live$`, which derives from their changes. No change is
 * lost in between: `live$` is subscribed first.
 */
export function whenSynced<K>(informers: readonly FollowedInformer[], knownKeys: () => Iterable<K>, live$: Observable<K>): Observable<K> {
  const allSynced$ = combineLatest(informers.map(({ synced$ }) => synced$)).pipe(first((each) => each.every(Boolean)));
  // An informer runs only while it has subscribers.
  const running$ = merge(...informers.map(({ changes$ }) => changes$)).pipe(ignoreElements());
  const known$ = defer(() => from(knownKeys()));
  return merge(running$, allSynced$.pipe(switchMap(() => merge(live$, known$))));
}

/** The part of an informer that `whenSynced` uses. */
export type FollowedInformer = Pick<Informer<ApiObject>, 'changes$' | 'synced$'>;

/** Requests each key now. */
export function dueNow<K>(clock: Clock): OperatorFunction<K, Request<K>> {
  return map((key) => ({ key, dueAt: clock.now() }));
}

/** Returns the group of an apiVersion; empty for the core group. */
function groupOf(apiVersion: string): string {
  return apiVersion.slice(0, Math.max(apiVersion.indexOf('/'), 0));
}
