import { describe, expect, it } from '@jest/globals';
import { fieldErrorText } from '../../../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../../../src/kubernetes/object.ts';
import { objectText } from '../../../../src/kubernetes/wire/encode.ts';
import { established, customResourceDefinitionKind as kind } from '../../../kinds/definition/definition.ts';
import { asDefinition, type DefinitionVersion, type DraftDefinition } from '../../../kinds/definition/types.ts';

const now = '2026-01-01T00:00:00Z';
const later = '2026-01-02T00:00:00Z';
const schema = { openAPIV3Schema: { type: 'object' as const } };
const v1: DefinitionVersion = { name: 'v1', served: true, storage: true, schema };

function draft(spec: object = {}, name = 'widgets.example.dev'): DraftDefinition {
  const names = { plural: 'widgets', kind: 'Widget' };
  const whole = { group: 'example.dev', scope: 'Namespaced', names, versions: [v1], ...spec };
  return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name }, spec: whole };
}

function created(spec: object = {}, name?: string): KubeObject {
  return kind.rules.prepareForCreate(kind.rules.defaulted(draft(spec, name)));
}

function createErrors(spec: object, name?: string): readonly string[] {
  return kind.rules.validate(created(spec, name)).map(fieldErrorText);
}

function accepted(object: KubeObject, others: readonly KubeObject[] = []) {
  const all = [object, ...others].map((each) => asDefinition(each));
  return established(asDefinition(object), all, now);
}

describe('a new CustomResourceDefinition', () => {
  it('is written as Go writes it, with its names and its storage version filled in', () => {
    const items = { properties: { b: { type: 'string' }, a: { minLength: 0, type: 'string' } }, odd: 1, type: 'object' };
    const openAPIV3Schema = { properties: { list: { items, type: 'array' } }, type: 'object' };
    const text = objectText(created({ versions: [{ ...v1, schema: { openAPIV3Schema } }] }), kind.schema);
    expect(text).toBe(
      '{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"widgets.example.dev","generation":1},' +
        '"spec":{"group":"example.dev","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"scope":"Namespaced",' +
        '"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"list":{"type":"array",' +
        '"items":{"type":"object","properties":{"a":{"type":"string","minLength":0},"b":{"type":"string"}}}}}}}}],"conversion":{"strategy":"None"}},' +
        '"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":["v1"]}}',
    );
  });

  const DNS_1035 =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
  const version =
    '{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}';

  it.each<readonly [string, object, readonly string[]]>([
    ['is well-formed', {}, []],
    [
      'has a group with a dot',
      { group: 'dev' },
      [
        'metadata.name: Invalid value: "widgets.example.dev": must be spec.names.plural+"."+spec.group',
        'spec.group: Invalid value: "dev": should be a domain with at least one dot',
      ],
    ],
    ['has a scope', { scope: 'Foo' }, ['spec.scope: Unsupported value: "Foo": supported values: "Cluster", "Namespaced"']],
    [
      'has names',
      { names: { plural: 'widgets', kind: '' } },
      ['spec.names.singular: Required value', 'spec.names.kind: Required value', 'spec.names.listKind: Required value'],
    ],
    [
      'has names that fit',
      { names: { plural: 'widgets', kind: '1x', shortNames: ['_'] } },
      [
        `spec.names.singular: Invalid value: "1x": ${DNS_1035}`,
        `spec.names.kind: Invalid value: "1x": may have mixed case, but should otherwise match: ${DNS_1035}`,
        `spec.names.listKind: Invalid value: "1xList": may have mixed case, but should otherwise match: ${DNS_1035}`,
        `spec.names.shortNames[0]: Invalid value: "_": ${DNS_1035}`,
      ],
    ],
    [
      'tells lists from objects',
      { names: { plural: 'widgets', kind: 'Widget', listKind: 'Widget' } },
      ['spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same'],
    ],
    [
      'is stored in one version',
      { versions: [{ ...v1, storage: false }] },
      [
        `spec.versions: Invalid value: [${version}]: must have exactly one version marked as storage version`,
        'status.storedVersions: Invalid value: null: must have at least one stored version',
      ],
    ],
    ['has a schema', { versions: [{ ...v1, schema: undefined }] }, ['spec.versions[0].schema.openAPIV3Schema: Required value']],
    [
      'deprecates with a word',
      { versions: [{ ...v1, deprecated: true, deprecationWarning: '' }] },
      ['spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string'],
    ],
    [
      'deprecates before it warns',
      { versions: [{ ...v1, deprecationWarning: 'x' }] },
      ['spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions'],
    ],
    [
      'does not preserve unknown fields as a whole',
      { preserveUnknownFields: true },
      [
        'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ],
    ],
    [
      'converts by known means',
      { conversion: { strategy: 'Foo' } },
      ['spec.conversion.strategy: Unsupported value: "Foo": supported values: "None", "Webhook"'],
    ],
    [
      'prints known columns',
      { versions: [{ ...v1, additionalPrinterColumns: [{ name: 'a', type: 'x', format: 'y', jsonPath: 'z' }] }] },
      [
        'spec.additionalPrinterColumns[0].type: Invalid value: "x": must be one of boolean,date,integer,number,string',
        'spec.additionalPrinterColumns[0].format: Invalid value: "y": must be one of byte,date,date-time,double,float,int32,int64,password',
        'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "z": must be a simple json path starting with .',
      ],
    ],
    [
      'selects by known fields',
      { versions: [{ ...v1, selectableFields: [{ jsonPath: '.spec.x' }, { jsonPath: 'x' }] }] },
      [
        'spec.selectableFields[0].jsonPath: Invalid value: ".spec.x": is an invalid path: does not refer to a valid field',
        'spec.selectableFields[1].jsonPath: Invalid value: "x": is an invalid path: expected [ or . but got: x',
      ],
    ],
    [
      'reports differing schemas by version',
      { versions: [v1, { name: 'v2', served: true, schema: { openAPIV3Schema: { type: 'string' } } }] },
      ['spec.versions[1].schema.openAPIV3Schema.type: Invalid value: "string": must be object at the root'],
    ],
  ])('%s', (_, spec, expected) => {
    expect(createErrors(spec)).toEqual(expected);
  });

  it('needs approval for groups of Kubernetes itself', () => {
    expect(createErrors({ group: 'example.k8s.io' }, 'widgets.example.k8s.io')).toEqual([
      'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
    ]);
  });

  it('warns of formats that mean nothing, once', () => {
    const odd = {
      openAPIV3Schema: { type: 'object', properties: { a: { type: 'string', format: 'foo' }, b: { type: 'string', format: 'uuid' } } },
    };
    const object = created({ versions: [{ ...v1, schema: odd }] });
    expect(kind.rules.warnings(object)).toEqual(['unrecognized format "foo"']);
    expect(kind.rules.warnings(object, object)).toEqual([]);
  });
});

describe('established', () => {
  it('accepts the names of a definition and establishes it', () => {
    const definition = accepted(created());
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

  it('changes nothing twice', () => {
    const definition = accepted(created());
    expect(established(definition, [definition], later)).toBe(definition);
  });

  it('refuses names that another definition of the group has', () => {
    const first = accepted(created());
    const second = accepted(created({ names: { plural: 'gadgets', kind: 'Widget', shortNames: ['widget'] } }, 'gadgets.example.dev'), [
      first,
    ]);
    expect(second.status?.acceptedNames).toEqual({ plural: 'gadgets', kind: '' });
    expect(second.status?.conditions?.map(({ type, status, reason, message }) => [type, status, reason, message])).toEqual([
      ['NamesAccepted', 'False', 'ListKindConflict', '"WidgetList" is already in use'],
      ['Established', 'False', 'NotAccepted', 'not all names are accepted'],
    ]);
  });

  it('leaves the same names to other groups', () => {
    const first = accepted(created());
    const other = accepted(created({ group: 'other.dev' }, 'widgets.other.dev'), [first]);
    expect(other.status?.acceptedNames?.kind).toBe('Widget');
  });
});

describe('a CustomResourceDefinition that changes', () => {
  const old = accepted(created());

  function updated(spec: object): KubeObject {
    return kind.rules.prepareForUpdate(kind.rules.defaulted({ ...draft(spec), metadata: old.metadata }), old);
  }

  it('counts its generation, keeps its status and notes new storage versions', () => {
    const v2 = { ...v1, name: 'v2' };
    const next = asDefinition(updated({ versions: [{ ...v1, storage: false }, v2] }));
    expect(next.metadata.generation).toBe(2);
    expect(next.status?.storedVersions).toEqual(['v1', 'v2']);
    expect(next.status?.acceptedNames).toEqual(old.status?.acceptedNames);
    expect(updated({}).metadata.generation).toBe(1);
  });

  it('keeps what others rely on', () => {
    const next = updated({ scope: 'Cluster', group: 'other.dev', names: { plural: 'others', kind: 'Other' } });
    expect(kind.rules.validateUpdate(next, old).map(fieldErrorText)).toEqual([
      'spec.scope: Invalid value: "Cluster": field is immutable',
      'spec.names.kind: Invalid value: "Other": field is immutable',
      'spec.group: Invalid value: "other.dev": field is immutable',
      'spec.names.plural: Invalid value: "others": field is immutable',
    ]);
  });

  it('keeps versions in which objects may be stored', () => {
    const next = updated({ versions: [{ ...v1, name: 'v2' }] });
    expect(kind.rules.validateUpdate(next, old).map(fieldErrorText)).toEqual([
      'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions',
    ]);
  });

  it('goes only after its objects', () => {
    const going = kind.rules.terminating?.(old, later);
    expect(going?.metadata).toEqual({
      ...old.metadata,
      deletionTimestamp: later,
      finalizers: ['customresourcecleanup.apiextensions.k8s.io'],
    });
    expect(asDefinition(going ?? old).status?.conditions?.at(-1)).toEqual({
      type: 'Terminating',
      status: 'True',
      lastTransitionTime: later,
      reason: 'InstanceDeletionPending',
      message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    });
  });
});
