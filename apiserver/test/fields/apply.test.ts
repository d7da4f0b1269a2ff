import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { type AppliedPatch, applyPatch } from '../../fields/apply.ts';
import { withTrackedUpdate } from '../../fields/managed-fields.ts';
import { resultOrStatus } from '../status.ts';
import { GADGET, gadget, LEDGER, ledger } from './sample-kinds.ts';

const NOW = '2026-11-15T00:00:00Z';
const LATER = '2026-11-15T00:00:09Z';
const BUILT_IN = { schema: LEDGER, apiVersion: 'v1', kind: 'Ledger', now: NOW, force: false };
const CUSTOM = { schema: GADGET, apiVersion: 'fld.dev/v1', kind: 'Gadget', now: NOW, force: false };

function apply(live: KubeObject | undefined, object: KubeObject, patch: Partial<AppliedPatch> = {}): KubeObject {
  const typing = object.kind === 'Gadget' ? CUSTOM : BUILT_IN;
  return applyPatch({ ...typing, live, applied: object, manager: 'a', ...patch });
}

function appliedObject(live: KubeObject | undefined, object: KubeObject, patch: Partial<AppliedPatch> = {}): KubeObject {
  const result = apply(live, object, patch);
  return { ...result, metadata: { ...result.metadata, uid: 'u' } };
}

function fieldsOf({ metadata }: KubeObject): Readonly<Record<string, unknown>> {
  return Object.fromEntries((metadata.managedFields ?? []).map(({ manager = '', fieldsV1 }) => [manager, fieldsV1]));
}

describe('applyPatch on create', () => {
  it('records the applied fields, but not the maps and structs that contain them', () => {
    const object = gadget({
      spec: {
        size: 1,
        name: null,
        tags: [],
        set: ['b', 'a'],
        ports: [{ port: 80, inner: { a: '1' } }],
        atomic: { x: '1' },
        map: { u: '1' },
        deep: { m: {} },
        free: { a: { b: 1 } },
      },
    });
    const result = apply(undefined, object);
    expect(result.metadata.managedFields).toEqual([
      {
        manager: 'a',
        operation: 'Apply',
        apiVersion: 'fld.dev/v1',
        time: NOW,
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:spec': {
            'f:atomic': {},
            'f:deep': { 'f:m': {} },
            'f:free': { 'f:a': { '.': {}, 'f:b': {} } },
            'f:map': { 'f:u': {} },
            'f:name': {},
            'f:ports': { 'k:{"port":80,"proto":"TCP"}': { '.': {}, 'f:inner': { 'f:a': {} }, 'f:port': {} } },
            'f:set': { 'v:"a"': {}, 'v:"b"': {} },
            'f:size': {},
            'f:tags': {},
          },
        },
      },
    ]);
  });

  it('fills in defaults, and records no owner for them', () => {
    const result = apply(undefined, ledger({ data: { a: '1' } }), { applyDefaults: (object) => ({ ...object, frozen: false }) });
    expect(result['frozen']).toBe(false);
    expect(fieldsOf(result)).toEqual({ a: { 'f:data': { 'f:a': {} } } });
  });
});

describe('applyPatch on an existing object', () => {
  it('returns the same object for a repeated apply', () => {
    const live = appliedObject(undefined, ledger({ data: { a: '1' }, secrets: [{ name: 's' }] }));
    const again = apply(live, ledger({ data: { a: '1' }, secrets: [{ name: 's' }] }), { now: LATER });
    expect(again).toEqual(live);
  });

  it('removes fields that the manager no longer applies and no other manager owns', () => {
    const first = appliedObject(
      undefined,
      ledger({ data: { a: '1', b: '1' }, secrets: [{ name: 's' }, { name: 't' }] }, { labels: { x: '1' }, finalizers: ['e.io/a'] }),
    );
    const shared = appliedObject(first, ledger({ data: { b: '1' } }), { manager: 'b' });
    const object = apply(shared, ledger({ secrets: [{ name: 't' }] }));
    expect(object['data']).toEqual({ b: '1' });
    expect(object['secrets']).toEqual([{ name: 't' }]);
    expect(object.metadata).not.toHaveProperty('labels');
    expect(object.metadata).not.toHaveProperty('finalizers');
    expect(fieldsOf(object)).toEqual({
      a: { 'f:secrets': { 'k:{"name":"t"}': { '.': {}, 'f:name': {} } } },
      b: { 'f:data': { 'f:b': {} } },
    });
  });

  it('keeps entries of other managers in a map that the manager no longer applies', () => {
    const first = appliedObject(undefined, gadget({ spec: { map: { u: '1' } } }));
    const next = withTrackedUpdate({ ...CUSTOM, live: first, next: { ...first, spec: { map: { u: '1', v: '1' } } }, manager: 'u' });
    expect(apply(next, gadget({}))['spec']).toEqual({ map: { v: '1' } });
  });

  it('sets a list to null if another manager owns a field in its removed last entry', () => {
    const first = appliedObject(undefined, gadget({ spec: { size: 1, ports: [{ port: 80 }] } }));
    const next = withTrackedUpdate({
      ...CUSTOM,
      live: first,
      next: { ...first, spec: { size: 1, ports: [{ port: 80, note: 'n' }] } },
      manager: 'u',
    });
    expect(apply(next, gadget({ spec: { size: 1 } }))['spec']).toEqual({ size: 1, ports: null });
  });

  it('records a second owner of an unchanged field without a time', () => {
    const live = appliedObject(undefined, ledger({ data: { a: '1', b: '1' } }));
    const object = apply(live, ledger({ data: { a: '1' } }), { manager: 'b', now: LATER });
    expect(object.metadata.managedFields?.map(({ manager, time }) => [manager, time])).toEqual([
      ['b', undefined],
      ['a', NOW],
    ]);
  });

  it('sorts applied entries, and keeps the positions of other entries', () => {
    const live = appliedObject(undefined, gadget({ spec: { set: ['a', 'x', 'b', 'y', 'c'] } }));
    const merged = apply(live, gadget({ spec: { set: ['c', 'n', 'a'] } }), { manager: 'b' });
    expect(merged['spec']).toEqual({ set: ['x', 'b', 'y', 'c', 'n', 'a'] });
  });

  it('records before-first-apply as the owner of an untracked object', () => {
    const live = ledger({ spec: { holder: 'b', count: 5 } }, { uid: 'u', labels: { b: '1' } });
    expect(fieldsOf(apply(live, ledger({ data: { a: '1' } })))).toEqual({
      a: { 'f:data': { 'f:a': {} } },
      'before-first-apply': { 'f:metadata': { 'f:labels': { '.': {}, 'f:b': {} } }, 'f:spec': { 'f:count': {}, 'f:holder': {} } },
    });
  });

  it('does not record fields that the endpoint resets', () => {
    const live = appliedObject(undefined, gadget({ spec: { size: 1 } }));
    const status = gadget({ spec: { size: 1 }, status: { phase: 'A' } }, { labels: { a: '1' } });
    const object = apply(live, status, { manager: 'ctl', subresource: 'status', resetPaths: [['metadata'], ['spec']] });
    expect(object.metadata.managedFields).toContainEqual({
      manager: 'ctl',
      operation: 'Apply',
      apiVersion: 'fld.dev/v1',
      time: NOW,
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:status': { 'f:phase': {} } },
      subresource: 'status',
    });
  });

  it('empties a list of type map only with the second apply', () => {
    const live = appliedObject(undefined, gadget({ spec: { size: 1, ports: [{ port: 80 }] } }));
    const once = appliedObject(live, gadget({ spec: { size: 1, ports: [] } }));
    expect(once['spec']).toEqual({ size: 1 });
    expect(apply(once, gadget({ spec: { size: 1, ports: [] } }))['spec']).toEqual({ size: 1, ports: [] });
  });

  it('returns the same object for a repeated apply of random objects', () => {
    const spec = fc.record(
      {
        size: fc.nat(3),
        tags: fc.array(fc.constantFrom('a', 'b')),
        set: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1 }),
        map: fc.dictionary(fc.constantFrom('u', 'v'), fc.constantFrom('1', '2')),
        ports: fc.uniqueArray(fc.record({ port: fc.nat(2), note: fc.constantFrom('1', '2') }, { requiredKeys: ['port'] }), {
          selector: ({ port }) => port,
          minLength: 1,
        }),
        free: fc.dictionary(fc.constantFrom('p', 'q'), fc.constantFrom<unknown>(1, 'x', [1], { r: 1 }, {}, true)),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(spec, spec, spec, (first, second, third) => {
        const one = appliedObject(undefined, gadget({ spec: first }), { manager: 'b' });
        const two = appliedObject(one, gadget({ spec: second }), { force: true });
        const three = appliedObject(two, gadget({ spec: third }), { force: true });
        // Validation rejects an apply that leaves null.
        fc.pre(!JSON.stringify([two, three]).includes('null'));
        expect(apply(three, gadget({ spec: third }), { now: LATER })).toEqual(three);
      }),
    );
  });
});

describe('applyPatch with conflicts', () => {
  const base = appliedObject(undefined, ledger({ data: { k: '1', l: '2' } }));
  const live = withTrackedUpdate({
    ...BUILT_IN,
    live: base,
    next: { ...base, data: { k: '1', l: '2', m: '1' } },
    manager: 'u',
    subresource: 'status',
  });
  const cause = (message: string, field: string) => ({ reason: 'FieldManagerConflict', message: `conflict with ${message}`, field });

  it('reports the conflicting field and its manager', () => {
    expect(resultOrStatus(() => apply(live, ledger({ data: { k: '9' } }), { manager: 'b' }))).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Apply failed with 1 conflict: conflict with "a": .data.k',
      reason: 'Conflict',
      details: { causes: [cause('"a"', '.data.k')] },
      code: 409,
    });
  });

  it('groups conflicts by owner, with the version and subresource of updates', () => {
    expect(resultOrStatus(() => apply(live, ledger({ data: { l: '9', m: '9', k: '9' } }), { manager: 'b' }))).toMatchObject({
      message:
        'Apply failed with 3 conflicts: conflicts with "a":\n- .data.k\n- .data.l\nconflicts with "u" with subresource "status" using v1:\n- .data.m',
      details: { causes: [cause('"a"', '.data.k'), cause('"a"', '.data.l'), cause('"u" with subresource "status" using v1', '.data.m')] },
    });
  });

  it('takes ownership of fields from other managers with force', () => {
    expect(fieldsOf(apply(live, ledger({ data: { k: '9', l: '2' } }), { manager: 'b', force: true }))).toEqual({
      a: { 'f:data': { 'f:l': {} } },
      b: { 'f:data': { 'f:k': {}, 'f:l': {} } },
      u: { 'f:data': { 'f:m': {} } },
    });
  });
});

describe('applyPatch by kubectl after client-side apply', () => {
  const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
  const last = { apiVersion: 'v1', kind: 'Ledger', metadata: { annotations: {}, name: 'l' }, data: { a: '1', b: '1' } };
  const object = ledger({ data: { a: '1', b: '2' } }, { annotations: { [annotation]: `${JSON.stringify(last)}\n` } });
  const live = withTrackedUpdate({ ...BUILT_IN, live: undefined, next: object, manager: 'kubectl-client-side-apply' });

  it('takes the fields of client-side apply, and updates the annotation', () => {
    const result = apply(live, ledger({ data: { a: '9' } }), { manager: 'kubectl' });
    expect(result.metadata.annotations).toEqual({
      [annotation]: '{"apiVersion":"v1","data":{"a":"9"},"kind":"Ledger","metadata":{"name":"l"}}\n',
    });
    expect(fieldsOf(result)).toMatchObject({
      kubectl: { 'f:data': { 'f:a': {} } },
      'kubectl-client-side-apply': { 'f:data': { '.': {}, 'f:b': {} } },
    });
  });

  it('rejects fields that changed after client-side apply', () => {
    expect(() => apply(live, ledger({ data: { a: '9', b: '9' } }), { manager: 'kubectl' })).toThrow(
      'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.b',
    );
  });

  it('rejects other managers that change fields of client-side apply', () => {
    expect(() => apply(live, ledger({ data: { a: '9' } }), { manager: 'other' })).toThrow('Apply failed with 1 conflict');
  });
});

describe('applyPatch with a malformed object', () => {
  it.each([
    [{ managedFields: [] }, 'metadata.managedFields must be nil'],
    [{ managedFields: [{}] }, 'metadata.managedFields must be nil'],
  ])('rejects the metadata %j', (metadata, message) => {
    expect(() => apply(undefined, ledger({}, metadata))).toThrow(expect.objectContaining({ message, code: 400 }));
  });

  it.each([
    [{ apiVersion: 'v1', kind: 'Secret' }, '/v1, Kind=Secret'],
    [{ apiVersion: 'apps/v1', kind: 'Ledger' }, 'apps/v1, Kind=Ledger'],
    [{ apiVersion: 'a/b/c', kind: 'Ledger' }, '/, Kind='],
    [{ apiVersion: undefined, kind: 'Ledger' }, '/, Kind=Ledger'],
    [{ apiVersion: 'v1', kind: 5 }, '/v1, Kind='],
  ])('rejects the type %j', (type, printed) => {
    expect(() => apply(undefined, { ...ledger({}), ...type } as KubeObject, BUILT_IN)).toThrow(
      expect.objectContaining({ message: `invalid object type: ${printed}`, code: 400 }),
    );
  });

  it.each([
    [{ foo: 1 }, '.foo: field not declared in schema'],
    [{ spec: { foo: 1 } }, '.spec.foo: field not declared in schema'],
    [{ spec: { size: 'x' } }, '.spec.size: expected numeric (int or float), got string'],
    [{ spec: { size: true } }, '.spec.size: expected numeric (int or float), got bool'],
    [{ spec: { name: 5 } }, '.spec.name: expected string, got &value.valueUnstructured{Value:5}'],
    [{ spec: { name: [1] } }, '.spec.name: expected string, got &value.valueUnstructured{Value:[1]}'],
    [
      { spec: { map: { k: { a: [1, 'b', null, 1.5, true] } } } },
      '.spec.map.k: expected string, got &value.valueUnstructured{Value:map[a:[1 b <nil> 1.5 true]]}',
    ],
    [{ spec: 's' }, '.spec: expected map, got &{s}'],
    [{ spec: { tags: { a: 1 } } }, '.spec.tags: expected list, got &{map[a:1]}'],
    [{ spec: { tags: [5] } }, '.spec.tags[0]: expected string, got &value.valueUnstructured{Value:5}'],
    [{ spec: { set: ['a', 'a'] } }, '.spec.set: duplicate entries for key [="a"]'],
    [{ spec: { set: [{}] } }, ".spec.set: element 0: associative list without keys has an element that's a map type"],
    [{ spec: { set: [null] } }, ".spec.set: element 0: associative list without keys has an element that's an explicit null"],
    [{ spec: { ports: [{ port: 1 }, { port: 1, proto: 'TCP' }] } }, '.spec.ports: duplicate entries for key [port=1,proto="TCP"]'],
    [{ spec: { ports: [5] } }, '.spec.ports: element 0: associative list with keys may not have non-map elements'],
    [{ spec: { ports: [{ port: 1, inner: 's' }] } }, '.spec.ports[port=1,proto="TCP"].inner: expected map, got &{s}'],
    [
      { spec: { set: ['a', 'a'], size: 'x' } },
      'errors:\n  .spec.set: duplicate entries for key [="a"]\n  .spec.size: expected numeric (int or float), got string',
    ],
  ])('rejects the fields %j', (fields, problem) => {
    const message = `failed to create typed patch object (ns/g; fld.dev/v1, Kind=Gadget): ${problem}`;
    expect(resultOrStatus(() => apply(undefined, gadget(fields, { namespace: 'ns' })))).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      code: 500,
    });
  });

  it('rejects metadata that is not an object', () => {
    const object = { ...ledger({}), metadata: 'x' } as unknown as KubeObject;
    expect(() => apply(undefined, object)).toThrow(
      'failed to create typed patch object (/; /v1, Kind=Ledger): .metadata: expected map, got &{x}',
    );
  });
});
