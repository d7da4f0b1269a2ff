// From changes to keys: which objects are to be looked at when something happens.

import { combineLatest, defer, first, from, ignoreElements, map, merge, type Observable, type OperatorFunction, switchMap } from 'rxjs';
import type { ApiObject, Resource, Stored } from '../api/resources.ts';
import type { Informer } from '../kube/informer.ts';
import type { Change } from '../kube/store.ts';
import type { Clock } from '../std/clock.ts';
import type { Request } from './work-queue.ts';

/** The object that changed. */
export function self(change: Change<ApiObject>): readonly string[] {
  return [change.key];
}

/** The owners of this kind that the object has, or had before the change. */
export function owner({ group, kind, namespaced }: Resource<unknown>): (change: Change<ApiObject>) => readonly string[] {
  return mapped(({ metadata: { namespace, ownerReferences = [] } }) =>
    ownerReferences
      .filter((reference) => reference.kind === kind && groupOf(reference.apiVersion) === group)
      .map(({ name }) => (namespaced && namespace ? `${namespace}/${name}` : name)),
  );
}

/** The keys that belong to the object, as it is and as it was before the change. */
export function mapped<T extends ApiObject>(keysOf: (object: Stored<T>) => Iterable<string>): (change: Change<T>) => readonly string[] {
  return (change) => [...new Set(statesOf(change).flatMap((object) => [...keysOf(object)]))];
}

/** The object as it is and, where it was changed, as it was before. */
export function statesOf<T extends ApiObject>(change: Change<T>): readonly Stored<T>[] {
  return change.type === 'updated' ? [change.object, change.previous] : [change.object];
}

/**
 * Follows the informers; when all of them are synced, passes on every key that is known and then `live$`, which is derived
 * from their changes. Nothing is lost between the two: what changes while the known keys are passed on is live already.
 */
export function whenSynced<K>(informers: readonly Followed[], knownKeys: () => Iterable<K>, live$: Observable<K>): Observable<K> {
  const allSynced$ = combineLatest(informers.map(({ synced$ }) => synced$)).pipe(first((each) => each.every(Boolean)));
  // An informer works only while someone listens, so someone must until live$ does.
  const running$ = merge(...informers.map(({ changes$ }) => changes$)).pipe(ignoreElements());
  const known$ = defer(() => from(knownKeys()));
  return merge(running$, allSynced$.pipe(switchMap(() => merge(live$, known$))));
}

/** The part of an informer that is followed. */
export type Followed = Pick<Informer<ApiObject>, 'changes$' | 'synced$'>;

/** Asks for each key to be looked at now. */
export function dueNow<K>(clock: Clock): OperatorFunction<K, Request<K>> {
  return map((key) => ({ key, dueAt: clock.now() }));
}

/** The group in `group/version`; the core group has none. */
function groupOf(apiVersion: string): string {
  return apiVersion.slice(0, Math.max(apiVersion.indexOf('/'), 0));
}
