// Triggers of reconciles: the changes that predicates match, mapped to the keys to reconcile.

import { combineLatest, defer, first, from, ignoreElements, map, merge, type Observable, type OperatorFunction, switchMap } from 'rxjs';
import type { ApiObject, Resource, Stored } from '../api/resources.ts';
import type { Informer } from '../kube/informer.ts';
import type { Change } from '../kube/store.ts';
import type { Clock } from '../std/clock.ts';
import { encodeGoJson } from '../std/go-text.ts';
import type { Request } from './work-queue.ts';

/** Returns the key of the changed object. */
export function toSelfKeys(change: Change<ApiObject>): readonly string[] {
  return [change.key];
}

/** Returns a function that maps a change to the keys of the owners of this kind, before and after the change. */
export function mapToOwnerKeys({ group, kind, namespaced }: Resource<unknown>): (change: Change<ApiObject>) => readonly string[] {
  return mapToKeys(({ metadata: { namespace, ownerReferences = [] } }) =>
    ownerReferences
      .filter((reference) => reference.kind === kind && parseGroup(reference.apiVersion) === group)
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
 * Subscribes to the informers. Once all are synced, subscribes to `live$`, and emits its keys and all known keys. No change is lost,
 * because the subscription to `live$` precedes the read of the known keys.
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

/** Maps each key to a request that is due now. */
export function requestNow<K>(clock: Clock): OperatorFunction<K, Request<K>> {
  return map((key) => ({ key, dueAt: clock.now() }));
}

/** Returns the group of an apiVersion; empty for the core group. */
function parseGroup(apiVersion: string): string {
  return apiVersion.slice(0, Math.max(apiVersion.indexOf('/'), 0));
}

/** Condition on a change, without side effects. Unless documented otherwise, added and deleted objects match. */
export type Predicate<T extends ApiObject> = (change: Change<T>) => boolean;

/** Matches a change to the generation, which a deletion request increments as well. Use it only for kinds with generations. */
export const generationChanged: Predicate<ApiObject> = onUpdate(
  (object, previous) => object.metadata.generation !== previous.metadata.generation,
);

/** Matches a change to an annotation with this prefix. */
export function annotationsChanged(prefix: string): Predicate<ApiObject> {
  const hasPrefix = (name: string) => name.startsWith(prefix);
  return onUpdate(
    ({ metadata: { annotations } }, { metadata: { annotations: previous } }) =>
      annotations !== previous && differ(pick(annotations, hasPrefix), pick(previous, hasPrefix)),
  );
}

/** Matches a change to the value that `read` returns. */
export function fieldChanged<T extends ApiObject>(read: (object: T) => unknown): Predicate<T> {
  return onUpdate<T>((object, previous) => differ(read(object), read(previous)));
}

/** Matches a change to a label. */
export const labelsChanged: Predicate<ApiObject> = fieldChanged(({ metadata }) => metadata.labels);

/**
 * Matches a status that Purser did not write. `written` returns the last status that was sent for a key; record each status before sending
 * it, because the watch event may arrive before the response.
 */
export function statusChangedByOthers<T extends ApiObject & WithStatus>(written: (key: string) => unknown): Predicate<T> {
  const isOther = onUpdate<T>((object, previous) => differ(object.status, previous.status));
  const isOurs = (change: Change<T>) => change.type === 'updated' && !differ(change.object.status, written(change.key));
  return (change) => !isOurs(change) && isOther(change);
}

/** Matches a condition that became True, or that is True on an added object. */
export function conditionTurnedTrue<T extends ApiObject & WithConditions>(type: string): Predicate<T> {
  const isTrue = ({ status }: T) =>
    status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
  return (change) => change.type !== 'deleted' && isTrue(change.object) && !(change.type === 'updated' && isTrue(change.previous));
}

/** Matches if any of the predicates matches. */
export function anyOf<T extends ApiObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.some((predicate) => predicate(change));
}

interface WithStatus {
  readonly status?: unknown;
}

interface WithConditions {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

function onUpdate<T extends ApiObject>(matches: (object: Stored<T>, previous: Stored<T>) => boolean): Predicate<T> {
  return (change) => change.type !== 'updated' || matches(change.object, change.previous);
}

/** Returns whether two JSON values differ, apart from the order of fields, which servers choose. */
function differ(a: unknown, b: unknown): boolean {
  return a !== b && encodeGoJson(a) !== encodeGoJson(b);
}

function pick(entries: Readonly<Record<string, string>> = {}, matches: (name: string) => boolean): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(entries).filter(([name]) => matches(name)));
}
