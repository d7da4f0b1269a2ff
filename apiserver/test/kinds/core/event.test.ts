import { describe, expect, it } from '@jest/globals';
import { coreEventKind } from '../../../kinds/core/event.ts';
import { eventsEventKind } from '../../../kinds/core/events-event.ts';
import { created, createdText, createErrors, type Fields, objectOf, updateErrors } from '../write.ts';

const NEW_STYLE = {
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController: 'example.dev/controller',
  reportingInstance: 'one',
  action: 'Issue',
  reason: 'Issued',
  regarding: { namespace: 'team-a', name: 'w' },
  type: 'Normal',
  note: 'done',
};

describe('a core event', () => {
  it('always has a time and a reporter, if empty ones', () => {
    expect(createdText(coreEventKind, { involvedObject: { namespace: 'team-a', name: 'w' }, reason: 'Issued' })).toBe(
      '{"kind":"Event","apiVersion":"v1","metadata":{"name":"x","namespace":"team-a"},"involvedObject":{"namespace":"team-a","name":"w"},"reason":"Issued","source":{},"firstTimestamp":null,"lastTimestamp":null,"eventTime":null,"reportingComponent":"","reportingInstance":""}',
    );
  });

  it.each<[string, Fields, readonly string[]]>([
    ['lives in the namespace of its object', { involvedObject: { namespace: 'team-a' } }, []],
    [
      'lives nowhere else',
      { involvedObject: { namespace: 'other' } },
      ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
    ],
    [
      'about a cluster-scoped object lives in default',
      { involvedObject: { kind: 'Node' } },
      ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
    ],
    ['about a cluster-scoped object is fine there', { metadata: { namespace: 'default' }, involvedObject: { kind: 'Node' } }, []],
    ['may have any name that fits into a path', { metadata: { name: 'E4' }, involvedObject: { namespace: 'team-a' } }, []],
    [
      'in the new style says who reports',
      { involvedObject: { namespace: 'team-a' }, eventTime: '2026-01-01T00:00:00.000000Z', message: 'm'.repeat(1025) },
      [
        'reportingComponent: Required value',
        'reportingComponent: Invalid value: "": name part must be non-empty',
        "reportingComponent: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        'reportingInstance: Required value',
        'action: Required value',
        'reason: Required value',
        'message: Invalid value: "": can have at most 1024 characters',
      ],
    ],
  ])('%s', (_, fields, expected) => {
    expect(createErrors(coreEventKind, fields)).toEqual(expected);
  });

  it('may change in every way', () => {
    const old = { involvedObject: { namespace: 'team-a', name: 'w' } };
    expect(updateErrors(coreEventKind, { involvedObject: { namespace: 'team-a', name: 'v' }, count: 5 }, old)).toEqual([]);
  });

  it('shows when it was seen, what it is about and how often it came', () => {
    const now = Date.parse('2026-01-01T01:00:00Z');
    const event = {
      involvedObject: { kind: 'Pod', namespace: 'team-a', name: 'p', fieldPath: 'spec' },
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:59:30Z',
      count: 3,
      type: 'Warning',
      reason: 'Failed',
      message: ' no luck \n',
      source: { component: 'kubelet', host: 'n1' },
    };
    expect(coreEventKind.table.cells(created(coreEventKind, event), now)).toEqual([
      '30s',
      'Warning',
      'Failed',
      'pod/p',
      'spec',
      'kubelet, n1',
      'no luck',
      '60m',
      3,
      'x',
    ]);
    const series = { ...event, series: { count: 7, lastObservedTime: '2026-01-01T00:59:50.000000Z' } };
    expect(coreEventKind.table.cells(created(coreEventKind, series), now)).toMatchObject({ 0: '10s', 8: 7 });
  });

  it('is found by its source, or by its reporter if it has none', () => {
    const source = coreEventKind.selectableFields['source'];
    expect(source?.(objectOf(coreEventKind, { source: { component: 'a' }, reportingComponent: 'b' }))).toBe('a');
    expect(source?.(objectOf(coreEventKind, { reportingComponent: 'b' }))).toBe('b');
  });
});

describe('an event of events.k8s.io', () => {
  it('is stored as a core event and served under its own names', () => {
    const event = objectOf(eventsEventKind, NEW_STYLE);
    const stored = eventsEventKind.conversion?.toStored(event);
    expect(stored).toMatchObject({
      apiVersion: 'v1',
      involvedObject: { name: 'w' },
      message: 'done',
      reportingComponent: 'example.dev/controller',
    });
    expect(stored && eventsEventKind.conversion?.fromStored(stored)).toEqual(event);
  });

  it.each<[string, Fields, readonly string[]]>([
    ['is fine in the new style', NEW_STYLE, []],
    [
      'needs time and type',
      { regarding: { namespace: 'team-a' } },
      ['eventTime: Required value', 'type: Invalid value: "": has invalid value: '],
    ],
    [
      'takes no deprecated fields',
      { ...NEW_STYLE, deprecatedCount: 1, deprecatedSource: { host: 'h' }, deprecatedFirstTimestamp: '2026-01-01T00:00:00Z' },
      [
        'firstTimestamp: Invalid value: "": needs to be unset',
        'count: Invalid value: "": needs to be unset',
        'source: Invalid value: "": needs to be unset',
      ],
    ],
    [
      'repeats at least twice in a series',
      { ...NEW_STYLE, series: { count: 1 } },
      ['series.count: Invalid value: "": should be at least 2', 'series.lastObservedTime: Required value'],
    ],
  ])('%s', (_, fields, expected) => {
    expect(createErrors(eventsEventKind, fields)).toEqual(expected);
  });

  it('changes in its series alone', () => {
    const series = { count: 3, lastObservedTime: '2026-01-02T00:00:00.000000Z' };
    expect(updateErrors(eventsEventKind, { ...NEW_STYLE, series }, NEW_STYLE)).toEqual([]);
    expect(
      updateErrors(eventsEventKind, { ...NEW_STYLE, regarding: { namespace: 'team-a', name: 'v' }, reason: 'Other' }, NEW_STYLE),
    ).toEqual([
      'involvedObject: Invalid value: {"Kind":"","Namespace":"team-a","Name":"v","UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}: field is immutable',
      'reason: Invalid value: "Other": field is immutable',
      'reason: Invalid value: "Other": field is immutable',
    ]);
  });

  it('is selected by its own names', () => {
    expect(Object.keys(eventsEventKind.selectableFields)).toEqual([
      'regarding.kind',
      'regarding.namespace',
      'regarding.name',
      'regarding.uid',
      'regarding.apiVersion',
      'regarding.resourceVersion',
      'regarding.fieldPath',
      'reason',
      'reportingController',
      'type',
    ]);
    expect(eventsEventKind.selectableFields['regarding.name']?.(objectOf(eventsEventKind, NEW_STYLE))).toBe('w');
  });
});
