import { describe, expect, it } from '@jest/globals';
import { formatFieldError } from '../../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import {
  keepSystemMetadata,
  validateCommonMetadata,
  validateCommonMetadataUpdate,
  validateMetadata,
  validateMetadataUpdate,
  validateNamespaceName,
  validateRbacName,
  validateSubdomainName,
  withIncrementedGeneration,
} from '../../kinds/metadata.ts';

const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const KEY =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const widget = (metadata: object, fields: object = {}): KubeObject => ({
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata,
  ...fields,
});

function errors(metadata: object, namespaced = true): readonly string[] {
  return validateMetadata(widget({ name: 'x', namespace: 'team-a', ...metadata }), { namespaced, validateName: validateSubdomainName }).map(
    formatFieldError,
  );
}

describe('validateMetadata', () => {
  it.each<[string, object, readonly string[]]>([
    ['accepts a name and a namespace', {}, []],
    ['rejects an absent name', { name: undefined }, ['metadata.name: Required value: name or generateName is required']],
    ['rejects an invalid name', { name: 'Bad_Name' }, [`metadata.name: Invalid value: "Bad_Name": ${SUBDOMAIN}`]],
    [
      'rejects a name of 254 characters',
      { name: 'a'.repeat(254) },
      [`metadata.name: Invalid value: "${'a'.repeat(254)}": must be no more than 253 characters`],
    ],
    ['rejects an invalid generateName', { generateName: 'Abc-' }, [`metadata.generateName: Invalid value: "Abc-": ${SUBDOMAIN}`]],
    ['accepts an invalid character before the dash of a generateName, as Kubernetes does', { generateName: 'A-' }, []],
    ['rejects an absent namespace', { namespace: undefined }, ['metadata.namespace: Required value']],
    ['rejects an invalid key of a label', { labels: { 'bad key': 'v' } }, [`metadata.labels: Invalid value: "bad key": ${KEY}`]],
    ['rejects an invalid value of a label', { labels: { a: 'b c' } }, [`metadata.labels: Invalid value: "b c": ${VALUE}`]],
    ['accepts keys of annotations in upper case', { annotations: { 'X/Y': 'any thing' } }, []],
    ['rejects an invalid key of an annotation', { annotations: { 'a b': '' } }, [`metadata.annotations: Invalid value: "a b": ${KEY}`]],
    [
      'rejects annotations of more than 256 KiB',
      { annotations: { a: 'x'.repeat(262_144) } },
      ['metadata.annotations: Too long: may not be more than 262144 bytes'],
    ],
    ['accepts annotations of 256 KiB', { annotations: { a: 'x'.repeat(262_143) } }, []],
    ['rejects an invalid finalizer', { finalizers: ['a b'] }, [`metadata.finalizers: Invalid value: "a b": ${KEY}`]],
  ])('%s', (_, metadata, expected) => {
    expect(errors(metadata)).toEqual(expected);
  });

  it('rejects a namespace for a cluster-scoped kind', () => {
    expect(errors({}, false)).toEqual(['metadata.namespace: Forbidden: not allowed on this type']);
  });

  it('rejects names that are not path segments, for every kind', () => {
    expect(validateCommonMetadata(widget({ name: '..', generateName: 'a/' }), false).map(formatFieldError)).toEqual([
      'metadata.generateName: Invalid value: "a/": may not contain \'/\'',
      'metadata.name: Invalid value: "..": may not be \'..\'',
    ]);
  });
});

describe('validateMetadata of ownerReferences', () => {
  const owner = { apiVersion: 'v1', kind: 'K', name: 'n', uid: 'u' };

  it('reports every absent field of an owner, without an index', () => {
    expect(errors({ ownerReferences: [{}] })).toEqual([
      'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
      'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
      'metadata.ownerReferences.name: Invalid value: "": must not be empty',
      'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ]);
  });

  it.each(['a/', 'a/b/c', '/'])('rejects the apiVersion %s of an owner, which has no version', (apiVersion) => {
    expect(errors({ ownerReferences: [{ ...owner, apiVersion }] })).toEqual([
      `metadata.ownerReferences.apiVersion: Invalid value: "${apiVersion}": version must not be empty`,
    ]);
  });
});

describe('validateMetadataUpdate', () => {
  const old = { name: 'x', namespace: 'team-a', uid: 'u', generation: 2, creationTimestamp: '2026-01-01T00:00:00Z' };

  function changeErrors(next: object, before: object = old): readonly string[] {
    return validateMetadataUpdate(widget({ ...before, ...next }), widget(before)).map(formatFieldError);
  }

  it.each<[string, object, readonly string[]]>([
    ['accepts a change of labels', { labels: { a: 'b' } }, []],
    ['rejects a change of the uid', { uid: 'v' }, ['metadata.uid: Invalid value: "v": field is immutable']],
    ['rejects a change of the name', { name: 'y' }, ['metadata.name: Invalid value: "y": field is immutable']],
    ['rejects a change of the namespace', { namespace: undefined }, ['metadata.namespace: Invalid value: "": field is immutable']],
    [
      'rejects a change of the deletion fields',
      { deletionTimestamp: '2026-01-02T00:00:00Z', deletionGracePeriodSeconds: 5 },
      [
        'metadata.deletionTimestamp: Invalid value: "2026-01-02T00:00:00Z": field is immutable',
        'metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable',
      ],
    ],
    ['does not validate finalizers of an object that is not being deleted', { finalizers: ['a b'] }, []],
  ])('%s', (_, next, expected) => {
    expect(changeErrors(next)).toEqual(expected);
  });

  it('rejects new finalizers of a terminating object by the rules of all kinds and by the rules of its kind', () => {
    const deleting = { ...old, deletionTimestamp: '2026-01-02T00:00:00Z', finalizers: ['example.dev/hold'] };
    const next = widget({ ...deleting, finalizers: ['example.dev/hold', 'example.dev/more'] });
    const text =
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.dev/more"}';
    expect(validateMetadataUpdate(next, widget(deleting)).map(formatFieldError)).toEqual([text]);
    const all = [...validateCommonMetadataUpdate(next, widget(deleting), true), ...validateMetadataUpdate(next, widget(deleting))];
    expect(all.map(formatFieldError)).toEqual([text, text]);
  });
});

describe('validateNamespaceName and validateRbacName', () => {
  it('rejects dots in names of Namespaces', () => {
    expect(validateNamespaceName('a.b', false)).toEqual(['must not contain dots']);
  });

  it('accepts any path segment as the name of a role', () => {
    expect(validateRbacName('System:Role with spaces', false)).toEqual([]);
    expect(validateRbacName('a%b', false)).toEqual(["may not contain '%'"]);
  });
});

describe('keepSystemMetadata', () => {
  it('keeps the metadata that only the server writes', () => {
    const old = widget({
      name: 'x',
      uid: 'u',
      generation: 3,
      creationTimestamp: '2026-01-01T00:00:00Z',
      deletionTimestamp: '2026-01-02T00:00:00Z',
      deletionGracePeriodSeconds: 0,
    });
    expect(keepSystemMetadata(widget({ name: 'x', generation: 9, creationTimestamp: '2020-01-01T00:00:00Z' }), old)).toEqual(old);
  });

  it('keeps the uid that a client sends, so that it can be checked', () => {
    expect(keepSystemMetadata(widget({ name: 'x', uid: 'v' }), widget({ name: 'x', uid: 'u' })).metadata.uid).toBe('v');
  });
});

describe('withIncrementedGeneration', () => {
  const old = widget({ name: 'x', generation: 4 }, { spec: { size: 1 } });

  it('increments the generation for changes outside the metadata', () => {
    expect(withIncrementedGeneration(widget({ name: 'x' }, { spec: { size: 2 } }), old).metadata.generation).toBe(5);
  });

  it('keeps the generation for changes to metadata', () => {
    const next = widget({ name: 'x', generation: 4, labels: { a: 'b' } }, { spec: { size: 1 } });
    expect(withIncrementedGeneration(next, old)).toBe(next);
  });
});
