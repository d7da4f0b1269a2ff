// One thing said of one object, however often, and the Event that says it.

import type { ApiObject, Event } from '../api/resources.ts';
import { rfc3339 } from '../std/timestamp.ts';
import { nameOf } from './paths.ts';

export interface Note {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, from our closed set of reasons. */
  readonly reason: string;
  readonly message: string;
}

export interface Series {
  readonly subject: Subject;
  readonly note: Note;
  readonly firstAt: number;
  lastAt: number;
  count: number;
  /** The name of its Event, once there is one. */
  written: string | undefined;
}

/** What an Event is about. */
export type Subject = NonNullable<Event['involvedObject']> & { readonly name: string };

/** Who speaks. */
export interface Speaker {
  /** Shown as From. */
  readonly component: string;
  readonly instance: string;
}

const MAX_MESSAGE_CHARS = 1_024;
const MAX_NAME_CHARS = 253;

/** With the uid: `kubectl describe` shows only events of this very object, not of a namesake before it. */
export function subjectOf(object: ApiObject): Subject {
  const { name, namespace } = nameOf(object);
  const { apiVersion, kind, metadata } = object;
  return {
    ...(apiVersion && { apiVersion }),
    ...(kind && { kind }),
    name,
    ...(namespace && { namespace }),
    ...(metadata.uid && { uid: metadata.uid }),
  };
}

/** Events of cluster-scoped objects live in `default`. */
export function namespaceOf(subject: Subject): string {
  return subject.namespace ?? 'default';
}

/** The Event of a series, as it is first written; `random` makes its name its own. */
export function eventOf(series: Series, { component, instance }: Speaker, random: number): Event & { metadata: { name: string } } {
  const { subject, note, firstAt, lastAt, count } = series;
  return {
    metadata: { name: eventName(subject.name, lastAt, random), namespace: namespaceOf(subject) },
    involvedObject: subject,
    type: note.type,
    reason: note.reason,
    message: note.message.slice(0, MAX_MESSAGE_CHARS),
    firstTimestamp: rfc3339(firstAt),
    lastTimestamp: rfc3339(lastAt),
    count,
    source: { component },
    reportingComponent: component,
    reportingInstance: instance,
  };
}

function eventName(name: string, at: number, random: number): string {
  const suffix = (BigInt(at) * 1_000_000n + BigInt(Math.floor(random * 1_000_000))).toString(16);
  const cut = name.slice(0, MAX_NAME_CHARS - suffix.length - 1);
  // A name may be cut behind a dash or a dot, where none may end.
  return `${cut.replace(/[-.]+$/, '')}.${suffix}`;
}
