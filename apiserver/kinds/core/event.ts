// Events of the core API, which is also the form in which all events are stored.

import type { Table } from '../../../src/kubernetes/kind.ts';
import { always, int32, microTime, objectStruct, pointer, struct, text, time } from '../../../src/kubernetes/schema/go-struct.ts';
import { column, NAME_COLUMN, since } from '../../../src/kubernetes/table.ts';
import { builtInKind } from '../built-in-kind.ts';
import type { Kind } from '../kind.ts';
import { type Event, validateAnyEvent } from './event-rules.ts';
import { OBJECT_REFERENCE, type ObjectReference } from './object-reference.ts';

export const EVENT_SOURCE = struct('v1.EventSource', { component: text(), host: text() });

const SCHEMA = objectStruct('v1.Event', {
  involvedObject: OBJECT_REFERENCE,
  reason: text(),
  message: text(),
  source: EVENT_SOURCE,
  firstTimestamp: time(),
  lastTimestamp: time(),
  count: int32(),
  type: text(),
  eventTime: microTime(),
  series: pointer(struct('v1.EventSeries', { count: int32(), lastObservedTime: microTime() })),
  action: text(),
  related: pointer(OBJECT_REFERENCE),
  reportingComponent: always(text(), ''),
  reportingInstance: always(text(), ''),
});

/** The table of events in both APIs, from the stored form. */
export const EVENT_TABLE: Table = {
  columns: [
    column('Last Seen', 'The time at which the most recent occurrence of this event was recorded.'),
    column('Type', 'Type of this event (Normal, Warning), new types could be added in the future'),
    column(
      'Reason',
      "This should be a short, machine understandable string that gives the reason for the transition into the object's current status.",
    ),
    column('Object', 'The object that this event is about.'),
    column(
      'Subobject',
      'If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if the object reference is to a container within a pod, this would take on a value like: "spec.containers{name}" (where "name" refers to the name of the container that triggered the event) or if no container name is specified "spec.containers[2]" (container with index 2 in this pod). This syntax is chosen only to have some well-defined way of referencing a part of an object.',
      'wide',
    ),
    column('Source', 'The component reporting this event. Should be a short machine understandable string.', 'wide'),
    column('Message', 'A human-readable description of the status of this operation.'),
    column('First Seen', 'The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)', 'wide'),
    column('Count', 'The number of times this event has occurred.', 'wide'),
    { ...NAME_COLUMN, priority: 1 },
  ],
  cells: (event: Event, now) => {
    const { type = '', reason = '', message = '', involvedObject = {} } = event;
    const { firstSeen, lastSeen, count } = occurrences(event, now);
    return [
      lastSeen,
      type,
      reason,
      targetOf(involvedObject),
      involvedObject.fieldPath ?? '',
      sourceOf(event),
      message.trim(),
      firstSeen,
      count,
      event.metadata.name,
    ];
  },
};

function occurrences({ firstTimestamp, lastTimestamp, eventTime, series, count }: Event, now: number) {
  const firstSeen = since(firstTimestamp ?? eventTime, now);
  if (series) return { firstSeen, lastSeen: since(series.lastObservedTime, now), count: series.count ?? 0 };
  return { firstSeen, lastSeen: lastTimestamp ? since(lastTimestamp, now) : firstSeen, count: count || 1 };
}

function targetOf({ kind = '', name = '' }: ObjectReference): string {
  return name === '' ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`;
}

function sourceOf({ source, reportingComponent = '', reportingInstance = '' }: Event): string {
  const component = source?.component || reportingComponent;
  const instance = source?.host || reportingInstance;
  return instance === '' ? component : `${component}, ${instance}`;
}

const involved = (field: 'kind' | 'namespace' | 'name' | 'uid' | 'apiVersion' | 'resourceVersion' | 'fieldPath') => (event: Event) =>
  event.involvedObject?.[field] ?? '';

/** Fields that events can be selected by, under their names in the core API. */
export const EVENT_FIELDS = {
  'involvedObject.kind': involved('kind'),
  'involvedObject.namespace': involved('namespace'),
  'involvedObject.name': involved('name'),
  'involvedObject.uid': involved('uid'),
  'involvedObject.apiVersion': involved('apiVersion'),
  'involvedObject.resourceVersion': involved('resourceVersion'),
  'involvedObject.fieldPath': involved('fieldPath'),
  reason: ({ reason }: Event) => reason ?? '',
  reportingComponent: ({ reportingComponent }: Event) => reportingComponent ?? '',
  source: ({ source, reportingComponent }: Event) => source?.component || (reportingComponent ?? ''),
  type: ({ type }: Event) => type ?? '',
};

export const coreEventKind: Kind = builtInKind({
  kind: 'Event',
  namespaced: true,
  shortNames: ['ev'],
  schema: SCHEMA,
  selectableFields: EVENT_FIELDS,
  table: EVENT_TABLE,
  strategy: {
    createOnUpdate: true,
    validate: (event) => validateAnyEvent(event, 'reportingComponent'),
    validateUpdate: (next) => validateAnyEvent(next, 'reportingComponent'),
  },
});
