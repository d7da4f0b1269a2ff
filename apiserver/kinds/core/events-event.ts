// Events of events.k8s.io: stored as core events, under other names.

import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { always, int32, microTime, objectStruct, pointer, struct, text, time } from '../../../src/kubernetes/schema/go-struct.ts';
import { builtInKind } from '../built-in-kind.ts';
import type { Kind } from '../kind.ts';
import { EVENT_FIELDS, EVENT_SOURCE, EVENT_TABLE } from './event.ts';
import { type Event, validateAnyEvent, validateEventChange, validateNewEvent } from './event-rules.ts';
import { OBJECT_REFERENCE } from './object-reference.ts';

const SCHEMA = objectStruct('v1.Event', {
  eventTime: microTime(),
  series: pointer(struct('v1.EventSeries', { count: always(int32(), 0), lastObservedTime: microTime() })),
  reportingController: text(),
  reportingInstance: text(),
  action: text(),
  reason: text(),
  regarding: OBJECT_REFERENCE,
  related: pointer(OBJECT_REFERENCE),
  note: text(),
  type: text(),
  deprecatedSource: EVENT_SOURCE,
  deprecatedFirstTimestamp: time(),
  deprecatedLastTimestamp: time(),
  deprecatedCount: int32(),
});

/** Names in events.k8s.io/v1 of what core/v1 calls otherwise. */
const CORE_NAMES: Readonly<Record<string, string>> = {
  regarding: 'involvedObject',
  note: 'message',
  reportingController: 'reportingComponent',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
};

const EVENTS_NAMES = Object.fromEntries(Object.entries(CORE_NAMES).map(([own, core]) => [core, own]));

function renamed(event: KubeObject, names: Readonly<Record<string, string>>, apiVersion: string): KubeObject {
  const { metadata, kind, apiVersion: _, ...fields } = event;
  return { ...Object.fromEntries(Object.entries(fields).map(([name, value]) => [names[name] ?? name, value])), kind, apiVersion, metadata };
}

function toCore(event: KubeObject): Event {
  return renamed(event, CORE_NAMES, 'v1');
}

function fromCore(event: KubeObject): KubeObject {
  return renamed(event, EVENTS_NAMES, 'events.k8s.io/v1');
}

const SELECTABLE = Object.fromEntries(
  Object.entries(EVENT_FIELDS)
    .filter(([field]) => field !== 'source')
    .map(([field, value]) => [
      field.replace('involvedObject', 'regarding').replace('reportingComponent', 'reportingController'),
      (event: KubeObject) => value(toCore(event)),
    ]),
);

export const eventsEventKind: Kind = builtInKind({
  group: 'events.k8s.io',
  kind: 'Event',
  namespaced: true,
  shortNames: ['ev'],
  schema: SCHEMA,
  selectableFields: SELECTABLE,
  table: { columns: EVENT_TABLE.columns, cells: (event, now) => EVENT_TABLE.cells(toCore(event), now) },
  conversion: { storedAs: { group: '', plural: 'events' }, fromStored: fromCore, toStored: toCore },
  strategy: {
    createOnUpdate: true,
    validate: (event) => {
      const core = toCore(event);
      return [...validateAnyEvent(core, 'reportingController'), ...validateNewEvent(core)];
    },
    validateUpdate: (next, old) => {
      const core = toCore(next);
      return [...validateAnyEvent(core, 'reportingController'), ...validateEventChange(core, toCore(old))];
    },
  },
});
