import { describe, expect, it } from '@jest/globals';
import { formatFieldError } from '../../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { encodeObjectJson } from '../../../src/kubernetes/wire/encode.ts';
import {
  type DefinitionVersion,
  type DraftDefinition,
  establish,
  customResourceDefinitionKind as kind,
  toDefinition,
} from '../../kinds/definition.ts';

const now = '2026-01-01T00:00:00Z';
const later = '2026-01-02T00:00:00Z';
const schema = { openAPIV3Schema: { type: 'object' as const } };
const v1: DefinitionVersion = { name: 'v1', served: true, storage: true, schema };

function draft(spec: object = {}, name = 'widgets.example.dev'): DraftDefinition {
  const names = { plural: 'widgets', kind: 'Widget' };
  const whole = { group: 'example.dev', scope: 'Namespaced', names, versions: [v1], ...spec };
  return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name }, spec: whole };
}

function createdObject(spec: object = {}, name?: string): KubeObject {
  return kind.rules.prepareForCreate(kind.rules.applyDefaults(draft(spec, name)));
}

function createErrors(spec: object, name?: string): readonly string[] {
  return kind.rules.validate(createdObject(spec, name)).map(formatFieldError);
}

function establishedDefinition(object: KubeObject) {
  return establish(toDefinition(object), now);
}

describe('customResourceDefinitionKind on create', () => {
  it('fills in default names and the storage version', () => {
    expect(encodeObjectJson(createdObject(), kind.schema)).toBe(
      '{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"widgets.example.dev","generation":1},' +
        '"spec":{"group":"example.dev","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"scope":"Namespaced",' +
        '"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}],"conversion":{"strategy":"None"}},' +
        '"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":["v1"]}}',
    );
  });

  it.each<readonly [string, object, readonly string[]]>([
    ['valid fields', {}, []],
    [
      'a group without a dot',
      { group: 'dev' },
      [
        'metadata.name: Invalid value: "widgets.example.dev": must be spec.names.plural+"."+spec.group',
        'spec.group: Invalid value: "dev": should be a domain with at least one dot',
      ],
    ],
    ['an unknown scope', { scope: 'Foo' }, ['spec.scope: Unsupported value: "Foo": supported values: "Cluster", "Namespaced"']],
    [
      'empty names',
      { names: { plural: 'widgets', kind: '' } },
      ['spec.names.singular: Required value', 'spec.names.kind: Required value', 'spec.names.listKind: Required value'],
    ],
    ['no schema', { versions: [{ ...v1, schema: undefined }] }, ['spec.versions[0].schema.openAPIV3Schema: Required value']],
    [
      'two versions',
      { versions: [v1, { ...v1, name: 'v2', storage: false }] },
      [
        'spec.versions: Forbidden: the local API server does not support definitions unless they have exactly one version, with storage: true; use a real cluster',
      ],
    ],
    [
      'no stored version',
      { versions: [{ ...v1, storage: false }] },
      [
        'spec.versions: Forbidden: the local API server does not support definitions unless they have exactly one version, with storage: true; use a real cluster',
      ],
    ],
    [
      'preserveUnknownFields',
      { preserveUnknownFields: true },
      ['spec.preserveUnknownFields: Forbidden: the local API server does not support preserveUnknownFields; use a real cluster'],
    ],
    [
      'a conversion webhook',
      { conversion: { strategy: 'Webhook' } },
      ['spec.conversion.strategy: Forbidden: the local API server does not support conversion webhooks; use a real cluster'],
    ],
    [
      'a scale subresource',
      { versions: [{ ...v1, subresources: { scale: {} } }] },
      ['spec.versions[0].subresources.scale: Forbidden: the local API server does not support the scale subresource; use a real cluster'],
    ],
    [
      'an invalid path of a column',
      { versions: [{ ...v1, additionalPrinterColumns: [{ name: 'a', type: 'string', jsonPath: 'z' }] }] },
      ['spec.versions[0]: Invalid value: "z": must be a simple json path starting with .'],
    ],
    [
      'anyOf in its schema',
      { versions: [{ ...v1, schema: { openAPIV3Schema: { type: 'object', properties: { a: { type: 'string', anyOf: [{}] } } } } }] },
      [
        'spec.versions[0].schema.openAPIV3Schema.properties[a].anyOf: Forbidden: the local API server does not support anyOf in schemas; use a real cluster',
      ],
    ],
    [
      'an unknown format',
      { versions: [{ ...v1, schema: { openAPIV3Schema: { type: 'object', properties: { a: { type: 'string', format: 'uuid' } } } } }] },
      [
        'spec.versions[0].schema.openAPIV3Schema.properties[a].format: Forbidden: the local API server does not support the format uuid; use a real cluster',
      ],
    ],
    [
      'a rule with messageExpression',
      {
        versions: [
          {
            ...v1,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-validations': [{ rule: 'self.', messageExpression: '"x"' }] } },
          },
        ],
      },
      [
        'spec.versions[0].schema.openAPIV3Schema.x-kubernetes-validations[0]: Forbidden: the local API server does not support messageExpression; use a real cluster',
      ],
    ],
  ])('validates a definition with %s', (_, spec, expected) => {
    expect(createErrors(spec)).toEqual(expected);
  });
});

describe('establish', () => {
  it('accepts the names of a definition and establishes it', () => {
    const definition = establishedDefinition(createdObject());
    expect(definition.status).toEqual({
      storedVersions: ['v1'],
      conditions: [
        { type: 'NamesAccepted', status: 'True', lastTransitionTime: now, reason: 'NoConflicts', message: 'no conflicts found' },
        {
          type: 'Established',
          status: 'True',
          lastTransitionTime: now,
          reason: 'InitialNamesAccepted',
          message: 'the initial names have been accepted',
        },
      ],
      acceptedNames: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    });
  });

  it('returns an established definition itself', () => {
    const definition = establishedDefinition(createdObject());
    expect(establish(definition, later)).toBe(definition);
  });
});

describe('customResourceDefinitionKind on update and delete', () => {
  const old = establishedDefinition(createdObject());

  function updatedObject(spec: object): KubeObject {
    return kind.rules.prepareForUpdate(kind.rules.applyDefaults({ ...draft(spec), metadata: old.metadata }), old);
  }

  it('increments the generation for a change to the spec, and keeps the status', () => {
    const next = toDefinition(updatedObject({ versions: [{ ...v1, subresources: { status: {} } }] }));
    expect(next.metadata.generation).toBe(2);
    expect(next.status?.acceptedNames).toEqual(old.status?.acceptedNames);
    expect(updatedObject({}).metadata.generation).toBe(1);
  });

  it('rejects changes to scope, kind, group and plural', () => {
    const next = updatedObject({ scope: 'Cluster', group: 'other.dev', names: { plural: 'others', kind: 'Other' } });
    expect(kind.rules.validateUpdate(next, old).map(formatFieldError)).toEqual([
      'spec.scope: Invalid value: "Cluster": field is immutable',
      'spec.names.kind: Invalid value: "Other": field is immutable',
      'spec.group: Invalid value: "other.dev": field is immutable',
      'spec.names.plural: Invalid value: "others": field is immutable',
    ]);
  });

  it('rejects a change to the version name', () => {
    const next = updatedObject({ versions: [{ ...v1, name: 'v2' }] });
    expect(kind.rules.validateUpdate(next, old).map(formatFieldError)).toEqual([
      'spec.versions[0].name: Forbidden: the local API server does not support a change of the stored version; use a real cluster',
    ]);
  });

  it('marks a deleted definition as terminating, with a finalizer', () => {
    const terminating = kind.rules.toTerminating?.(old, later);
    expect(terminating?.metadata).toEqual({
      ...old.metadata,
      deletionTimestamp: later,
      finalizers: ['customresourcecleanup.apiextensions.k8s.io'],
    });
    expect(toDefinition(terminating ?? old).status?.conditions?.at(-1)).toEqual({
      type: 'Terminating',
      status: 'True',
      lastTransitionTime: later,
      reason: 'InstanceDeletionPending',
      message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    });
  });
});
