import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { formatFieldError } from '../../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { prune } from '../../../src/kubernetes/schema/prune.ts';
import { recordings } from '../../../test/support/golden.ts';
import { toCustomKind } from '../../kinds/custom.ts';
import { customResourceDefinitionKind, type DraftDefinition, toDefinition } from '../../kinds/definition.ts';
import type { Kind } from '../../kinds/kind.ts';
import { sampleDefinition } from '../sample-definition.ts';

const golden = recordings('resources');

function jsonOf(text: unknown): KubeObject {
  return JSON.parse(String(text)) as KubeObject;
}

function kindOf(draft: DraftDefinition): Kind {
  const kind = toCustomKind(toDefinition(customResourceDefinitionKind.rules.applyDefaults(draft)));
  if (kind === undefined) throw new Error('the definition serves no version');
  return kind;
}

const widgets = kindOf(jsonOf(golden.find(({ name }) => name === 'crd-create')?.request.body));

function decodedObject(kind: Kind, object: KubeObject): KubeObject {
  const { namespace = 'lab' } = object.metadata;
  const placed = { ...object, metadata: { ...object.metadata, ...(kind.namespaced && { namespace }) } };
  return kind.rules.applyDefaults(prune(placed, kind.schema).value);
}

function createdObject(kind: Kind, object: KubeObject): KubeObject {
  return kind.rules.prepareForCreate(decodedObject(kind, object));
}

function widget(spec: object, rest: object = {}, metadata: object = {}): KubeObject {
  return { apiVersion: 'example.dev/v1alpha1', kind: 'Widget', metadata: { name: 'one', ...metadata }, spec, ...rest };
}

interface InvalidStatus {
  readonly details: { readonly causes: readonly { readonly reason: string; readonly message: string; readonly field: string }[] };
}

describe('toCustomKind rules', () => {
  const rejected = golden.filter(({ name, response }) => name.startsWith('cr-create') && response.status === 422);

  it.each(rejected.map(({ name, request, response }) => [name, request, response] as const))(
    'rejects the request %s as recorded',
    (_, request, response) => {
      const errors = widgets.rules.validate(createdObject(widgets, jsonOf(request.body)));
      const { causes } = (JSON.parse(response.body ?? '') as InvalidStatus).details;
      const expected = causes.map(({ reason, message, field }) => `${reason} ${field}: ${message}`);
      expect(errors.map((error) => `${error.type} ${formatFieldError(error)}`).sort()).toEqual(expected.sort());
    },
  );

  const accepted = golden.filter(({ name, response }) => /^cr-create(?!-again|-missing)/.test(name) && response.status === 201);

  it.each(accepted.map(({ name, request, response }) => [name, request, response] as const))(
    'accepts the request %s as recorded',
    (_, request, response) => {
      const object = createdObject(widgets, jsonOf(request.body));
      const { status, spec } = jsonOf(response.body);
      expect(widgets.rules.validate({ ...object, metadata: { name: 'x', ...object.metadata } })).toEqual([]);
      expect([object['spec'], object['status']]).toEqual([spec, status]);
    },
  );

  it('ignores the status in the body of a create and of an update', () => {
    const live = { ...createdObject(widgets, widget({ size: 1, tags: ['a'] })), status: { phase: 'Up' } };
    const next = widgets.rules.prepareForUpdate({ ...live, status: { phase: 'Down' } }, live);
    expect(createdObject(widgets, widget({ size: 1 }, { status: { phase: 'mine' } }))['status']).toBeUndefined();
    expect(next).toEqual(live);
  });

  it('changes only the status through the status subresource', () => {
    const live = createdObject(widgets, widget({ size: 1, tags: ['a'] }));
    const next = { ...widget({ size: 9 }, { status: { phase: 'Up' } }, { labels: { a: 'b' }, managedFields: [{ manager: 'x' }] }) };
    expect(widgets.rules.prepareForStatusUpdate(next, live)).toEqual({
      ...live,
      metadata: { ...live.metadata, managedFields: [{ manager: 'x' }] },
      status: { phase: 'Up' },
    });
  });

  it('increments the generation for changes outside metadata and status', () => {
    const live = createdObject(widgets, widget({ size: 1, tags: ['a'] }));
    const spec = widgets.rules.prepareForUpdate({ ...live, spec: { size: 2, tags: ['a'] } }, live);
    const labels = widgets.rules.prepareForUpdate({ ...live, metadata: { ...live.metadata, labels: { a: 'b' } } }, live);
    expect([live, spec, labels].map(({ metadata }) => metadata.generation)).toEqual([1, 2, 1]);
  });

  it('evaluates transition rules on update', () => {
    const live = createdObject(widgets, widget({ size: 1, tags: ['a'], name: 'abc' }));
    const next = { ...live, spec: { size: 1, tags: ['a'], name: 'xyz' } };
    expect(widgets.rules.validateUpdate(next, live).map(formatFieldError)).toEqual(['spec: Invalid value: name is immutable']);
  });

  it('validates a status update by the schema of the status', () => {
    const live = createdObject(widgets, widget({ size: 1, tags: ['a'] }));
    expect(widgets.rules.validateStatusUpdate({ ...live, status: { phase: 5 } }, live).map(formatFieldError)).toEqual([
      'status.phase: Invalid value: "integer": phase in body must be of type string: "integer"',
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ]);
  });
});

describe('toCustomKind', () => {
  const spec = { type: 'object', properties: { color: { type: 'string', default: 'red' }, n: { type: 'integer' } } } as const;
  const definition = sampleDefinition(
    { plural: 'gears', kind: 'Gear', scope: 'Cluster' },
    {
      schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
      selectableFields: [{ jsonPath: '.spec.color' }, { jsonPath: '.spec.n' }],
    },
  );
  const gears = kindOf(definition);

  it('returns the kind of the served version', () => {
    expect(gears.version).toBe('v1');
    expect(gears).toMatchObject({ kind: 'Gear', listKind: 'GearList', singular: 'gear', namespaced: false, builtIn: false });
  });

  it('returns the values of selectable fields as text', () => {
    const gear = { apiVersion: 'example.dev/v1', kind: 'Gear', metadata: { name: 'one' }, spec: { color: 'red', n: 5 } };
    const bare = { ...gear, spec: undefined };
    expect(gears.selectableFields['spec.color']?.(gear)).toBe('red');
    expect(gears.selectableFields['spec.n']?.(gear)).toBe('5');
    expect(gears.selectableFields['spec.n']?.(bare)).toBe('');
  });

  it('prunes stored objects and fills in their defaults', () => {
    const stored = { apiVersion: 'example.dev/v1', kind: 'Gear', metadata: { name: 'one' }, spec: { gone: 1 } };
    expect(gears.fromStored?.(stored)).toEqual({ ...stored, spec: { color: 'red' } });
  });

  it('returns a stored object itself if the schema changes nothing', () => {
    const stored = { apiVersion: 'example.dev/v1', kind: 'Gear', metadata: { name: 'one' }, spec: { color: 'blue' } };
    expect(gears.fromStored?.(stored)).toBe(stored);
  });
});

describe('crds/', () => {
  const files = readdirSync('crds').filter((file) => file.endsWith('.yaml'));
  const drafts = files.map((file) => [file, parse(readFileSync(`crds/${file}`, 'utf8')) as DraftDefinition] as const);

  it.each(drafts)('contains a valid definition in %s', (_, draft) => {
    const { rules } = customResourceDefinitionKind;
    const definition = rules.prepareForCreate(rules.applyDefaults(draft));
    expect(rules.validate(definition).map(formatFieldError)).toEqual([]);
    expect(kindOf(draft).kind).toBe(draft.spec?.names?.kind);
  });
});
