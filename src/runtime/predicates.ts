// Predicates on changes. Added and deleted objects always match; the predicates restrict updates. Predicates have no side effects.

import type { ApiObject, Stored } from '../api/resources.ts';
import type { Change } from '../kube/store.ts';
import { goJson } from '../std/go-text.ts';

export type Predicate<T extends ApiObject> = (change: Change<T>) => boolean;

/** Matches a change to the generation, including deletion; only for kinds with generations. */
export const generationChanged: Predicate<ApiObject> = onUpdate(
  (object, previous) => object.metadata.generation !== previous.metadata.generation,
);

/** Matches a change to an annotation with this prefix. */
export function annotationsChanged(prefix: string): Predicate<ApiObject> {
  const hasPrefix = (name: string) => name.startsWith(prefix);
  return onUpdate(({ metadata }, { metadata: previous }) =>
    differ(pick(metadata.annotations, hasPrefix), pick(previous.annotations, hasPrefix)),
  );
}

/** Matches a change to the value that `read` returns. */
export function fieldChanged<T extends ApiObject>(read: (object: T) => unknown): Predicate<T> {
  return onUpdate<T>((object, previous) => differ(read(object), read(previous)));
}

/** Matches a change to a label. */
export const labelsChanged: Predicate<ApiObject> = fieldChanged(({ metadata }) => metadata.labels);

/**
 * Matches a status that Purser did not write. `written` returns the last status that was sent for a key; record it before sending,
 * because the watch event may arrive before the response.
 */
export function statusNotOurs<T extends ApiObject & WithStatus>(written: (key: string) => unknown): Predicate<T> {
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
  return a !== b && goJson(a) !== goJson(b);
}

function pick(entries: Readonly<Record<string, string>> = {}, matches: (name: string) => boolean): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(entries).filter(([name]) => matches(name)));
}
