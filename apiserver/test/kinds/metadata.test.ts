import { describe, expect, it } from '@jest/globals';
import { fieldErrorText } from '../../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import {
  labelName,
  rbacName,
  subdomainName,
  validateAnyMetadata,
  validateAnyMetadataUpdate,
  validateMetadata,
  validateMetadataUpdate,
} from '../../kinds/metadata.ts';

const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const KEY =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const widget = (metadata: object): KubeObject => ({ apiVersion: 'example.dev/v1', kind: 'Widget', metadata });

function errors(metadata: object, namespaced = true): readonly string[] {
  return validateMetadata(widget({ name: 'x', namespace: 'team-a', ...metadata }), { namespaced, nameProblems: subdomainName }).map(
    fieldErrorText,
  );
}

describe('validateMetadata', () => {
  it.each<[string, object, readonly string[]]>([
    ['is fine with a name and a namespace', {}, []],
    ['needs a name', { name: undefined }, ['metadata.name: Required value: name or generateName is required']],
    ['needs a valid name', { name: 'Bad_Name' }, [`metadata.name: Invalid value: "Bad_Name": ${SUBDOMAIN}`]],
    [
      'counts a long name in characters',
      { name: 'a'.repeat(254) },
      [`metadata.name: Invalid value: "${'a'.repeat(254)}": must be no more than 253 characters`],
    ],
    ['checks the prefix of a generated name', { generateName: 'Abc-' }, [`metadata.generateName: Invalid value: "Abc-": ${SUBDOMAIN}`]],
    ['lets a bad character before the dash of a prefix pass, as Kubernetes does', { generateName: 'A-' }, []],
    ['needs a namespace', { namespace: undefined }, ['metadata.namespace: Required value']],
    ['checks keys of labels', { labels: { 'bad key': 'v' } }, [`metadata.labels: Invalid value: "bad key": ${KEY}`]],
    ['checks values of labels', { labels: { a: 'b c' } }, [`metadata.labels: Invalid value: "b c": ${VALUE}`]],
    ['takes annotations in any case', { annotations: { 'X/Y': 'any thing' } }, []],
    ['checks keys of annotations', { annotations: { 'a b': '' } }, [`metadata.annotations: Invalid value: "a b": ${KEY}`]],
    [
      'limits annotations as a whole',
      { annotations: { a: 'x'.repeat(262_144) } },
      ['metadata.annotations: Too long: may not be more than 262144 bytes'],
    ],
    ['takes as many annotations as fit', { annotations: { a: 'x'.repeat(262_143) } }, []],
    ['checks finalizers', { finalizers: ['a b'] }, [`metadata.finalizers: Invalid value: "a b": ${KEY}`]],
  ])('%s', (_, metadata, expected) => {
    expect(errors(metadata)).toEqual(expected);
  });

  it('rejects a namespace for a cluster-scoped kind', () => {
    expect(errors({}, false)).toEqual(['metadata.namespace: Forbidden: not allowed on this type']);
  });

  it('rejects names that are not path segments for every kind', () => {
    expect(validateAnyMetadata(widget({ name: '..', generateName: 'a/' }), false).map(fieldErrorText)).toEqual([
      'metadata.generateName: Invalid value: "a/": may not contain \'/\'',
      'metadata.name: Invalid value: "..": may not be \'..\'',
    ]);
  });
});

describe('validateMetadata of ownerReferences', () => {
  const owner = { apiVersion: 'v1', kind: 'K', name: 'n', uid: 'u' };

  it('reports every missing field without an index', () => {
    expect(errors({ ownerReferences: [{}] })).toEqual([
      'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
      'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
      'metadata.ownerReferences.name: Invalid value: "": must not be empty',
      'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ]);
  });

  it.each(['a/', 'a/b/c', '/'])('need a version: %s has none', (apiVersion) => {
    expect(errors({ ownerReferences: [{ ...owner, apiVersion }] })).toEqual([
      `metadata.ownerReferences.apiVersion: Invalid value: "${apiVersion}": version must not be empty`,
    ]);
  });
});

describe('validateMetadataUpdate', () => {
  const old = { name: 'x', namespace: 'team-a', uid: 'u', generation: 2, creationTimestamp: '2026-01-01T00:00:00Z' };

  function changeErrors(next: object, before: object = old): readonly string[] {
    return validateMetadataUpdate(widget({ ...before, ...next }), widget(before)).map(fieldErrorText);
  }

  it.each<[string, object, readonly string[]]>([
    ['may change labels', { labels: { a: 'b' } }, []],
    ['may not change the uid', { uid: 'v' }, ['metadata.uid: Invalid value: "v": field is immutable']],
    ['may not change the name', { name: 'y' }, ['metadata.name: Invalid value: "y": field is immutable']],
    ['may not change the namespace', { namespace: undefined }, ['metadata.namespace: Invalid value: "": field is immutable']],
    [
      'may not delete',
      { deletionTimestamp: '2026-01-02T00:00:00Z', deletionGracePeriodSeconds: 5 },
      [
        'metadata.deletionTimestamp: Invalid value: "2026-01-02T00:00:00Z": field is immutable',
        'metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable',
      ],
    ],
    ['does not look at finalizers while the object lives', { finalizers: ['a b'] }, []],
  ])('%s', (_, next, expected) => {
    expect(changeErrors(next)).toEqual(expected);
  });

  it('rejects new finalizers on a deleted object, and reports them twice', () => {
    const deleting = { ...old, deletionTimestamp: '2026-01-02T00:00:00Z', finalizers: ['example.dev/hold'] };
    const next = widget({ ...deleting, finalizers: ['example.dev/hold', 'example.dev/more'] });
    const text =
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.dev/more"}';
    expect(validateMetadataUpdate(next, widget(deleting)).map(fieldErrorText)).toEqual([text]);
    const all = [...validateAnyMetadataUpdate(next, widget(deleting), true), ...validateMetadataUpdate(next, widget(deleting))];
    expect(all.map(fieldErrorText)).toEqual([text, text]);
  });
});

describe('name rules', () => {
  it('rejects dots in names of Namespaces', () => {
    expect(labelName('a.b', false)).toEqual(['must not contain dots']);
  });

  it('accepts any path segment as a name of a role', () => {
    expect(rbacName('System:Role with spaces', false)).toEqual([]);
    expect(rbacName('a%b', false)).toEqual(["may not contain '%'"]);
  });
});
