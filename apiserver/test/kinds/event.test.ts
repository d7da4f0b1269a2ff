import { describe, expect, it } from '@jest/globals';
import { coreEventKind } from '../../kinds/event.ts';
import { createdObject, createdText, createErrors, type Fields, objectOf, updateErrors } from './write.ts';

describe('coreEventKind', () => {
  it('encodes absent times as null and absent reporters as empty', () => {
    expect(createdText(coreEventKind, { involvedObject: { namespace: 'team-a', name: 'w' }, reason: 'Issued' })).toBe(
      '{"kind":"Event","apiVersion":"v1","metadata":{"name":"x","namespace":"team-a"},"involvedObject":{"namespace":"team-a","name":"w"},"reason":"Issued","source":{},"firstTimestamp":null,"lastTimestamp":null,"eventTime":null,"reportingComponent":"","reportingInstance":""}',
    );
  });

  it.each<[string, Fields, readonly string[]]>([
    ['accepts an Event in the namespace of its object', { involvedObject: { namespace: 'team-a' } }, []],
    [
      'rejects an Event in a different namespace than its object',
      { involvedObject: { namespace: 'other' } },
      ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
    ],
    [
      'rejects an Event about a cluster-scoped object outside default',
      { involvedObject: { kind: 'Node' } },
      ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
    ],
    [
      'accepts an Event about a cluster-scoped object in default',
      { metadata: { namespace: 'default' }, involvedObject: { kind: 'Node' } },
      [],
    ],
    ['accepts any path segment as a name', { metadata: { name: 'E4' }, involvedObject: { namespace: 'team-a' } }, []],
  ])('%s', (_, fields, expected) => {
    expect(createErrors(coreEventKind, fields)).toEqual(expected);
  });

  it('accepts changes to the involved object and the count', () => {
    const old = { involvedObject: { namespace: 'team-a', name: 'w' } };
    expect(updateErrors(coreEventKind, { involvedObject: { namespace: 'team-a', name: 'v' }, count: 5 }, old)).toEqual([]);
  });

  it('prints last-seen time, object and count in tables', () => {
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
    expect(coreEventKind.table.cells(createdObject(coreEventKind, event), now)).toEqual([
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
    expect(coreEventKind.table.cells(createdObject(coreEventKind, series), now)).toMatchObject({ 0: '10s', 8: 7 });
  });

  it('selects Events by source, or by reportingComponent without a source', () => {
    const source = coreEventKind.selectableFields['source'];
    expect(source?.(objectOf(coreEventKind, { source: { component: 'a' }, reportingComponent: 'b' }))).toBe('a');
    expect(source?.(objectOf(coreEventKind, { reportingComponent: 'b' }))).toBe('b');
  });
});
