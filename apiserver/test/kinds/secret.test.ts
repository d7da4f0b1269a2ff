import { describe, expect, it } from '@jest/globals';
import { secretKind } from '../../kinds/secret.ts';
import { createdObject, createdText, createErrors, updateErrors } from './write.ts';

const CONFIG_KEY =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

describe('secretKind', () => {
  it('merges stringData into data and sets the type Opaque', () => {
    expect(createdText(secretKind, { stringData: { a: 'plain' }, data: { a: 'eA==', b: 'Yg==' } })).toBe(
      '{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x","namespace":"team-a"},"data":{"a":"cGxhaW4=","b":"Yg=="},"type":"Opaque"}',
    );
  });

  it.each([
    ['bad key', [`data[bad key]: Invalid value: "bad key": ${CONFIG_KEY}`]],
    ['', [`data[]: Invalid value: "": ${CONFIG_KEY}`]],
    ['.', ['data[.]: Invalid value: ".": must not be \'.\'']],
    ['..a', ['data[..a]: Invalid value: "..a": must not start with \'..\'']],
    ['a_B-1.c', []],
  ])('validates the key %j', (key, expected) => {
    expect(createErrors(secretKind, { data: { [key]: 'eA==' } })).toEqual(expected);
  });

  it.each(['constructor', '__proto__', 'toString'])('accepts the type %s, which has no rules', (type) => {
    expect(createErrors(secretKind, { type })).toEqual([]);
  });

  it('rejects more than 1 MiB of data', () => {
    const content = (bytes: number) => ({ data: { a: Buffer.alloc(bytes).toString('base64') } });
    expect(createErrors(secretKind, content(1_048_576))).toEqual([]);
    expect(createErrors(secretKind, content(1_048_577))).toEqual(['data: Too long: may not be more than 1048576 bytes']);
  });

  it.each([
    ['kubernetes.io/tls', {}, ['data[tls.crt]: Required value', 'data[tls.key]: Required value']],
    ['kubernetes.io/service-account-token', {}, ['metadata.annotations[kubernetes.io/service-account.name]: Required value']],
    ['kubernetes.io/basic-auth', { password: 'eA==' }, []],
    ['kubernetes.io/basic-auth', { username: 'eA==' }, []],
    ['example.dev/anything', {}, []],
  ])('validates the type %s with %j', (type, data, expected) => {
    expect(createErrors(secretKind, { type, data })).toEqual(expected);
  });

  it('rejects a change to the type', () => {
    expect(updateErrors(secretKind, { type: 'kubernetes.io/basic-auth', data: { token: 'eA==' } }, { data: { token: 'eA==' } })).toEqual([
      'type: Invalid value: "kubernetes.io/basic-auth": field is immutable',
      'data[username]: Required value',
      'data[password]: Required value',
    ]);
  });

  it('rejects changes to an immutable Secret', () => {
    const frozen = { immutable: true, data: { a: 'eA==' } };
    expect(updateErrors(secretKind, { ...frozen, metadata: { labels: { x: 'y' } } }, frozen)).toEqual([]);
    expect(updateErrors(secretKind, { data: { a: 'eQ==' } }, frozen)).toEqual([
      'immutable: Forbidden: field is immutable when `immutable` is set',
      'data: Forbidden: field is immutable when `immutable` is set',
    ]);
  });

  it('rejects unqualified finalizers', () => {
    expect(createErrors(secretKind, { metadata: { finalizers: ['kubernetes', 'a/b', 'zz'] } })).toEqual([
      'metadata.finalizers[2]: Invalid value: "zz": name is neither a standard finalizer name nor is it fully qualified',
    ]);
  });

  it('selects Secrets by type and prints the number of keys', () => {
    const secret = createdObject(secretKind, { metadata: { creationTimestamp: '2026-01-01T00:00:00Z' }, data: { a: '', b: '' } });
    expect(secretKind.selectableFields['type']?.(secret)).toBe('Opaque');
    expect(secretKind.table.cells(secret, Date.parse('2026-01-01T00:05:00Z'))).toEqual(['x', 'Opaque', 2, '5m']);
    expect(secretKind.fieldLabelErrors).toBe('named');
  });
});
