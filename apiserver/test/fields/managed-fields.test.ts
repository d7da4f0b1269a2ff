import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { KubeObject, ManagedFieldsEntry } from '../../../src/kubernetes/object.ts';
import { decodeFieldsV1, type FieldSet, pathsOf } from '../../fields/field-set.ts';
import { type TrackedUpdate, withoutTimeChanges, withTrackedUpdate } from '../../fields/managed-fields.ts';
import { toObjectType } from '../../fields/merge-type.ts';
import { collectFields } from '../../fields/owned-fields.ts';
import { GADGET, gadget, LEDGER, ledger } from './sample-kinds.ts';

const NOW = '2026-11-15T00:00:00Z';
const LATER = '2026-11-15T00:00:09Z';
const BUILT_IN = { schema: LEDGER, apiVersion: 'v1', now: NOW };
const CUSTOM = { schema: GADGET, apiVersion: 'fld.dev/v1', now: NOW };

/** Returns the paths that have no other paths below them. */
function leaves(set: FieldSet): readonly string[] {
  const paths = [...pathsOf(set)].map((path) => JSON.stringify(path).slice(0, -1));
  return paths.filter((path) => !paths.some((other) => other.startsWith(`${path},`)));
}

function create(object: KubeObject, manager = 'a', typing: Pick<TrackedUpdate, 'schema' | 'apiVersion' | 'now'> = BUILT_IN): KubeObject {
  const stored = withTrackedUpdate({ ...typing, live: undefined, next: object, manager });
  return { ...stored, metadata: { ...stored.metadata, uid: 'u' } };
}

function change(live: KubeObject, changes: Readonly<Record<string, unknown>>, update: Partial<TrackedUpdate> = {}): KubeObject {
  return withTrackedUpdate({ ...BUILT_IN, now: LATER, live, next: { ...live, ...changes }, manager: 'b', ...update });
}

function fieldsOf({ metadata }: KubeObject): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    (metadata.managedFields ?? []).map(({ manager = '', subresource = '', fieldsV1 }) => [
      [manager, subresource].filter(Boolean).join('/'),
      fieldsV1,
    ]),
  );
}

describe('withTrackedUpdate of a new object', () => {
  it.each([
    ['a map and its entries', ledger({ data: { b: '1', a: '2' } }), { 'f:data': { '.': {}, 'f:a': {}, 'f:b': {} } }],
    [
      'the fields of a struct by value',
      ledger({ spec: { holder: 'x', names: { plural: 'p' } } }),
      { 'f:spec': { 'f:holder': {}, 'f:names': { 'f:plural': {} } } },
    ],
    ['a struct behind a pointer and its fields', ledger({ link: { to: 'x' } }), { 'f:link': { '.': {}, 'f:to': {} } }],
    ['atomic lists as one field each', ledger({ rules: ['x'], pulls: [{ name: 'p' }] }), { 'f:pulls': {}, 'f:rules': {} }],
    ['an empty list of a field that is always encoded', ledger({ rules: [] }), { 'f:rules': {} }],
    [
      'a list and its entries by key',
      ledger({ secrets: [{ name: 's' }] }),
      { 'f:secrets': { '.': {}, 'k:{"name":"s"}': { '.': {}, 'f:name': {} } } },
    ],
    [
      'metadata that clients write',
      ledger(
        {},
        {
          namespace: 'n',
          uid: 'u',
          resourceVersion: '1',
          generation: 1,
          creationTimestamp: NOW,
          labels: { a: '1' },
          finalizers: ['e.io/a'],
        },
      ),
      { 'f:metadata': { 'f:finalizers': { '.': {}, 'v:"e.io/a"': {} }, 'f:labels': { '.': {}, 'f:a': {} } } },
    ],
    [
      'each owner reference as one field',
      ledger({}, { ownerReferences: [{ apiVersion: 'v1', kind: 'K', name: 'n', uid: '1' }] }),
      { 'f:metadata': { 'f:ownerReferences': { '.': {}, 'k:{"uid":"1"}': {} } } },
    ],
  ])('records ownership of %s', (_, object, fields) => {
    expect(withTrackedUpdate({ ...BUILT_IN, live: undefined, next: object, manager: 'a' }).metadata.managedFields).toEqual([
      { manager: 'a', operation: 'Update', apiVersion: 'v1', time: NOW, fieldsType: 'FieldsV1', fieldsV1: fields },
    ]);
  });

  it('records ownership of objects in a custom resource', () => {
    const object = gadget({
      spec: { size: 1, deep: { m: { g: {} } }, atomic: { x: '1' }, free: { l: [1], o: { p: 1 } }, ports: [{ port: 80 }] },
      status: { phase: 'A' },
    });
    expect(fieldsOf(create(object, 'a', CUSTOM))).toEqual({
      a: {
        'f:spec': {
          '.': {},
          'f:atomic': {},
          'f:deep': { '.': {}, 'f:m': { '.': {}, 'f:g': {} } },
          'f:free': { '.': {}, 'f:l': {}, 'f:o': { '.': {}, 'f:p': {} } },
          'f:ports': { '.': {}, 'k:{"port":80,"proto":"TCP"}': { '.': {}, 'f:port': {} } },
          'f:size': {},
        },
        'f:status': { '.': {}, 'f:phase': {} },
      },
    });
  });

  it('does not record fields that the endpoint resets', () => {
    const object = gadget({ spec: { size: 1 }, status: { phase: 'A' } }, { labels: { a: '1' } });
    const track = (resetPaths: TrackedUpdate['resetPaths'], subresource = '') =>
      fieldsOf(withTrackedUpdate({ ...CUSTOM, live: undefined, next: object, manager: 'a', resetPaths: resetPaths ?? [], subresource }));
    expect(track([['status']])).toEqual({
      a: { 'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } }, 'f:spec': { '.': {}, 'f:size': {} } },
    });
    expect(track([['metadata'], ['spec']], 'status')).toEqual({ 'a/status': { 'f:status': { '.': {}, 'f:phase': {} } } });
  });

  it('records the manager "unknown" for an empty name', () => {
    expect(fieldsOf(create(ledger({ frozen: false }), ''))).toEqual({ unknown: { 'f:frozen': {} } });
  });

  it('records no owners for an object that violates its schema', () => {
    const object = withTrackedUpdate({ ...CUSTOM, live: undefined, next: gadget({ spec: { size: 'x' } }), manager: 'a' });
    expect(object.metadata).not.toHaveProperty('managedFields');
  });

  it('records exactly the leaves of the object', () => {
    const spec = fc.record(
      {
        size: fc.integer(),
        tags: fc.array(fc.string()),
        set: fc.uniqueArray(fc.string(), { minLength: 1 }),
        map: fc.dictionary(fc.string(), fc.string(), { minKeys: 1 }),
        atomic: fc.record({ x: fc.string() }, { requiredKeys: [] }),
        deep: fc.record({ n: fc.string() }),
        ports: fc.uniqueArray(fc.record({ port: fc.nat(9), note: fc.string() }), { selector: ({ port }) => port, minLength: 1 }),
        free: fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(spec, (value) => {
        const object = { spec: value };
        const { metadata } = withTrackedUpdate({ ...CUSTOM, live: undefined, next: gadget(object), manager: 'a' });
        expect(leaves(decodeFieldsV1(metadata.managedFields?.[0]?.fieldsV1))).toEqual(leaves(collectFields(toObjectType(GADGET), object)));
      }),
    );
  });
});

describe('withTrackedUpdate of an existing object', () => {
  it('moves changed and added fields to the writer and drops removed fields', () => {
    const live = create(ledger({ data: { a: '1', b: '1', c: '1' } }));
    expect(fieldsOf(change(live, { data: { a: '1', b: '2', d: '1' } }))).toEqual({
      a: { 'f:data': { '.': {}, 'f:a': {} } },
      b: { 'f:data': { 'f:b': {}, 'f:d': {} } },
    });
  });

  it('adds fields to the entry of the manager and updates its time', () => {
    const live = create(ledger({ data: { a: '1' } }));
    const next = change(live, { data: { a: '1', b: '1' } }, { manager: 'a' });
    expect(next.metadata.managedFields).toEqual([
      {
        manager: 'a',
        operation: 'Update',
        apiVersion: 'v1',
        time: LATER,
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { '.': {}, 'f:a': {}, 'f:b': {} } },
      },
    ]);
  });

  it('keeps the times of all owners if nothing changes', () => {
    const live = create(ledger({ data: { a: '1' } }));
    expect(change(live, {}).metadata.managedFields).toEqual(live.metadata.managedFields);
  });

  it('keeps the times of managers that lose fields', () => {
    const live = create(ledger({ data: { a: '1', b: '1' } }));
    expect(change(live, { data: { a: '1' } }).metadata.managedFields).toEqual([expect.objectContaining({ manager: 'a', time: NOW })]);
  });

  it('records the owners of a subresource separately', () => {
    const live = create(gadget({ spec: { size: 1 } }), 'a', CUSTOM);
    const next = change(
      live,
      { status: { phase: 'A' } },
      { ...CUSTOM, manager: 'a', subresource: 'status', resetPaths: [['metadata'], ['spec']] },
    );
    expect(fieldsOf(next)).toEqual({ a: { 'f:spec': { '.': {}, 'f:size': {} } }, 'a/status': { 'f:status': { '.': {}, 'f:phase': {} } } });
  });

  it('sorts entries by operation, time, manager and version', () => {
    const entry = (manager: string, time: string, operation: 'Apply' | 'Update' = 'Update'): ManagedFieldsEntry => ({
      manager,
      operation,
      apiVersion: 'v1',
      time,
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:data': { [`f:${manager}`]: {} } },
    });
    const live = ledger(
      { data: { x: '1', y: '1', z: '1', w: '1' } },
      { uid: 'u', managedFields: [entry('x', LATER), entry('y', NOW), entry('w', NOW), entry('z', LATER, 'Apply')] },
    );
    expect(change(live, {}).metadata.managedFields?.map(({ manager }) => manager)).toEqual(['z', 'w', 'y', 'x']);
  });

  it('does not start to track an existing untracked object', () => {
    expect(change(ledger({}, { uid: 'u' }), { data: { a: '1' } }).metadata).not.toHaveProperty('managedFields');
  });

  it('drops owners that wrote in another version', () => {
    const managedFields: ManagedFieldsEntry[] = [
      { manager: 'x', operation: 'Update', apiVersion: 'v7', fieldsType: 'FieldsV1', fieldsV1: { 'f:data': { 'f:a': {} } } },
    ];
    const live = ledger({ data: { a: '1' } }, { uid: 'u', managedFields });
    expect(fieldsOf(change(live, { data: { a: '2' } }))).toEqual({ b: { 'f:data': { 'f:a': {} } } });
  });
});

describe('withTrackedUpdate with managedFields of the client', () => {
  const live = create(ledger({ data: { a: '1', b: '1' } }));
  const send = (managedFields: unknown, changes: Readonly<Record<string, unknown>> = {}): KubeObject => {
    return change(live, { metadata: { ...live.metadata, managedFields }, ...changes });
  };

  it('stores valid managedFields of the client', () => {
    const fieldsV1 = { 'f:data': { 'f:a': {} } };
    const entry = { manager: 'me', operation: 'Update', apiVersion: 'v1', time: '2019-12-31T23:00:00Z', fieldsType: 'FieldsV1', fieldsV1 };
    expect(send([entry]).metadata.managedFields).toEqual([entry]);
  });

  it.each([
    [null],
    [[]],
    [[{}]],
    ['x'],
    [[5]],
    [[{ manager: 'm', operation: 'Other', apiVersion: 'v1', fieldsType: 'FieldsV1' }]],
    [[{ manager: 'm', operation: 'Update', fieldsType: 'FieldsV1' }]],
    [[{ manager: 'm', operation: 'Update', apiVersion: 'v1' }]],
    [[{ manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV2' }]],
    [[{ manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { data: {} } }]],
  ])('ignores the managedFields %j', (managedFields) => {
    expect(send(managedFields).metadata.managedFields).toEqual(live.metadata.managedFields);
  });

  it('ignores managedFields in the update of a subresource', () => {
    const next = change(live, { metadata: { ...live.metadata, managedFields: [{}] } }, { subresource: 'status' });
    expect(next.metadata.managedFields).toEqual(live.metadata.managedFields);
  });
});

describe('withoutTimeChanges', () => {
  const live = create(ledger({ data: { a: '1' } }));
  const [entry = {}] = live.metadata.managedFields ?? [];
  const later = { ...live, metadata: { ...live.metadata, managedFields: [{ ...entry, time: LATER }] } };

  it('returns the old times if nothing else changed', () => {
    expect(withoutTimeChanges(later, live)).toEqual(live);
  });

  it('returns the new times after a change', () => {
    const changed = { ...later, data: { a: '2' } };
    expect(withoutTimeChanges(changed, live)).toBe(changed);
  });
});
