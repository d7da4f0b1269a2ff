import { describe, expect, it } from '@jest/globals';
import { configMapKind } from '../../kinds/config-map.ts';
import { createdObject, createErrors, updateErrors } from './write.ts';

describe('configMapKind', () => {
  it('rejects a key in both data and binaryData, and invalid keys', () => {
    expect(createErrors(configMapKind, { data: { a: 'x' }, binaryData: { a: 'eA==', '..': '' } })).toEqual([
      'data[a]: Invalid value: "a": duplicate of key present in binaryData',
      'binaryData[..]: Invalid value: "..": must not be \'..\'',
    ]);
  });

  it('rejects more than 1 MiB of text and bytes together', () => {
    const half = 524_288;
    const content = (more: number) => ({ data: { a: 'x'.repeat(half + more) }, binaryData: { b: Buffer.alloc(half).toString('base64') } });
    expect(createErrors(configMapKind, content(0))).toEqual([]);
    expect(createErrors(configMapKind, content(1))).toEqual(['[]: Too long: may not be more than 1048576 bytes']);
  });

  it('rejects changes to an immutable ConfigMap', () => {
    expect(updateErrors(configMapKind, { data: { a: '2' }, binaryData: { z: '' } }, { immutable: true, data: { a: '1' } })).toEqual([
      'immutable: Forbidden: field is immutable when `immutable` is set',
      'data: Forbidden: field is immutable when `immutable` is set',
      'binaryData: Forbidden: field is immutable when `immutable` is set',
    ]);
  });

  it('prints the number of keys in tables', () => {
    const object = createdObject(configMapKind, { data: { a: '' }, binaryData: { b: '' } });
    expect(configMapKind.table.cells(object, 0)).toEqual(['x', 2, '<unknown>']);
  });
});
