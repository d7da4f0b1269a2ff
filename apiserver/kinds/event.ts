// Events (core/v1).

import { type FieldError, invalidValue } from '../../src/kubernetes/field-error.ts';
import type { Table } from '../../src/kubernetes/kind.ts';
import { validateDns1123Subdomain } from '../../src/kubernetes/names.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import {
  int32,
  microTime,
  objectStruct,
  pointer,
  struct,
  text,
  time,
  UID,
  withoutOmitempty,
} from '../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { createColumn, formatElapsed, NAME_COLUMN } from '../../src/kubernetes/table.ts';
import { createBuiltInKind, type Kind } from './kind.ts';

export interface ObjectReference {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly apiVersion?: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}

export const OBJECT_REFERENCE: Schema = struct(
  'v1.ObjectReference',
  { kind: text(), namespace: text(), name: text(), uid: UID, apiVersion: text(), resourceVersion: text(), fieldPath: text() },
  { 'x-kubernetes-map-type': 'atomic' },
);

export const LOCAL_OBJECT_REFERENCE: Schema = struct('v1.LocalObjectReference', { name: text() }, { 'x-kubernetes-map-type': 'atomic' });

interface Event extends KubeObject {
  readonly involvedObject?: ObjectReference;
  readonly reason?: string;
  readonly message?: string;
  readonly source?: { readonly component?: string; readonly host?: string };
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly count?: number;
  readonly type?: string;
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string | null };
  readonly reportingComponent?: string;
  readonly reportingInstance?: string;
}

const SCHEMA = objectStruct('v1.Event', {
  involvedObject: OBJECT_REFERENCE,
  reason: text(),
  message: text(),
  source: struct('v1.EventSource', { component: text(), host: text() }),
  firstTimestamp: time(),
  lastTimestamp: time(),
  count: int32(),
  type: text(),
  eventTime: microTime(),
  series: pointer(struct('v1.EventSeries', { count: int32(), lastObservedTime: microTime() })),
  action: text(),
  related: pointer(OBJECT_REFERENCE),
  reportingComponent: withoutOmitempty(text(), ''),
  reportingInstance: withoutOmitempty(text(), ''),
});

const EVENT_TABLE: Table = {
  columns: [
    createColumn('Last Seen', 'The time at which the most recent occurrence of this event was recorded.'),
    createColumn('Type', 'Type of this event (Normal, Warning), new types could be added in the future'),
    createColumn(
      'Reason',
      "This should be a short, machine understandable string that gives the reason for the transition into the object's current status.",
    ),
    createColumn('Object', 'The object that this event is about.'),
    createColumn(
      'Subobject',
      'If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if the object reference is to a container within a pod, this would take on a value like: "spec.containers{name}" (where "name" refers to the name of the container that triggered the event) or if no container name is specified "spec.containers[2]" (container with index 2 in this pod). This syntax is chosen only to have some well-defined way of referencing a part of an object.',
      'wide',
    ),
    createColumn('Source', 'The component reporting this event. Should be a short machine understandable string.', 'wide'),
    createColumn('Message', 'A human-readable description of the status of this operation.'),
    createColumn('First Seen', 'The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)', 'wide'),
    createColumn('Count', 'The number of times this event has occurred.', 'wide'),
    { ...NAME_COLUMN, priority: 1 },
  ],
  cells: (event: Event, now) => {
    const { type = '', reason = '', message = '', involvedObject = {} } = event;
    const { firstSeen, lastSeen, count } = summarizeOccurrences(event, now);
    return [
      lastSeen,
      type,
      reason,
      formatReference(involvedObject),
      involvedObject.fieldPath ?? '',
      formatSource(event),
      message.trim(),
      firstSeen,
      count,
      event.metadata.name,
    ];
  },
};

function summarizeOccurrences({ firstTimestamp, lastTimestamp, eventTime, series, count }: Event, now: number) {
  const firstSeen = formatElapsed(firstTimestamp ?? eventTime, now);
  if (series) return { firstSeen, lastSeen: formatElapsed(series.lastObservedTime, now), count: series.count ?? 0 };
  return { firstSeen, lastSeen: lastTimestamp ? formatElapsed(lastTimestamp, now) : firstSeen, count: count || 1 };
}

function formatReference({ kind = '', name = '' }: ObjectReference): string {
  return name === '' ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`;
}

function formatSource({ source, reportingComponent = '', reportingInstance = '' }: Event): string {
  const component = source?.component || reportingComponent;
  const instance = source?.host || reportingInstance;
  return instance === '' ? component : `${component}, ${instance}`;
}

const createInvolvedFieldReader = (field: keyof ObjectReference) => (event: Event) => event.involvedObject?.[field] ?? '';

const EVENT_FIELDS = {
  'involvedObject.kind': createInvolvedFieldReader('kind'),
  'involvedObject.namespace': createInvolvedFieldReader('namespace'),
  'involvedObject.name': createInvolvedFieldReader('name'),
  'involvedObject.uid': createInvolvedFieldReader('uid'),
  'involvedObject.apiVersion': createInvolvedFieldReader('apiVersion'),
  'involvedObject.resourceVersion': createInvolvedFieldReader('resourceVersion'),
  'involvedObject.fieldPath': createInvolvedFieldReader('fieldPath'),
  reason: ({ reason }: Event) => reason ?? '',
  reportingComponent: ({ reportingComponent }: Event) => reportingComponent ?? '',
  source: ({ source, reportingComponent }: Event) => source?.component || (reportingComponent ?? ''),
  type: ({ type }: Event) => type ?? '',
};

function validate({ metadata: { namespace: own = '' }, involvedObject: { namespace: involved = '' } = {} }: Event): readonly FieldError[] {
  const agrees = involved === '' ? own === '' || own === 'default' : own === involved;
  return [
    ...(agrees ? [] : [invalidValue('involvedObject.namespace', involved, 'does not match event.namespace')]),
    ...validateDns1123Subdomain(own).map((problem) => invalidValue('namespace', own, problem)),
  ];
}

export const coreEventKind: Kind = createBuiltInKind({
  kind: 'Event',
  namespaced: true,
  shortNames: ['ev'],
  schema: SCHEMA,
  selectableFields: EVENT_FIELDS,
  table: EVENT_TABLE,
  strategy: { validate, validateUpdate: validate },
});
