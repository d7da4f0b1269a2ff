// Which changes matter. An object that came or went always does; the rest look at what an update changed.

import type { ApiObject, Stored } from '../api/resources.ts';
import type { Change } from '../kube/store.ts';
import { goJson } from '../std/go-text.ts';

export type Predicate<T extends ApiObject> = (change: Change<T>) => boolean;

/** What was asked for changed, deletion included. Only for kinds that count generations. */
export const generationChanged: Predicate<ApiObject> = onUpdate(
  (object, previous) => object.metadata.generation !== previous.metadata.generation,
);

/** An annotation whose name begins with `prefix` was set, changed or removed. */
export function annotationsChanged(prefix: string): Predicate<ApiObject> {
  const isMeant = (name: string) => name.startsWith(prefix);
  return onUpdate(({ metadata }, { metadata: previous }) =>
    differ(named(metadata.annotations, isMeant), named(previous.annotations, isMeant)),
  );
}

/**
 * The status changed to something else than what we wrote. `written` gives the last status that was sent for a key; to be
 * remembered before it is sent, since the watch may tell of it before the answer does.
 */
export function statusNotOurs<T extends ApiObject & WithStatus>(written: (key: string) => unknown): Predicate<T> {
  const isOther = onUpdate<T>((object, previous) => differ(object.status, previous.status));
  const isOurs = (change: Change<T>) => change.type === 'updated' && !differ(change.object.status, written(change.key));
  return (change) => !isOurs(change) && isOther(change);
}

/** A condition turned True, or is True on an object that is new. */
export function conditionTurnedTrue<T extends ApiObject & WithConditions>(type: string): Predicate<T> {
  const isTrue = ({ status }: T) =>
    status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
  return (change) => change.type !== 'deleted' && isTrue(change.object) && !(change.type === 'updated' && isTrue(change.previous));
}

/** Any one of them holds. */
export function anyOf<T extends ApiObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (change) => predicates.some((holds) => holds(change));
}

interface WithStatus {
  readonly status?: unknown;
}

interface WithConditions {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

function onUpdate<T extends ApiObject>(matters: (object: Stored<T>, previous: Stored<T>) => boolean): Predicate<T> {
  return (change) => change.type !== 'updated' || matters(change.object, change.previous);
}

/** As JSON values: the order of fields, which servers choose, does not count. */
function differ(a: unknown, b: unknown): boolean {
  return a !== b && goJson(a) !== goJson(b);
}

function named(entries: Readonly<Record<string, string>> = {}, isMeant: (name: string) => boolean): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(entries).filter(([name]) => isMeant(name)));
}
