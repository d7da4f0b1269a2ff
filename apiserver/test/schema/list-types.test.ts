import { describe, expect, it } from '@jest/globals';
import { formatFieldError } from '../../../src/kubernetes/field-error.ts';
import type { Value } from '../../../src/kubernetes/object.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { validateListTypes } from '../../schema/list-types.ts';

const set: Schema = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } };
const item: Schema = { type: 'object', properties: { k: { type: 'string' }, n: { type: 'integer' }, inner: set } };
const byKey: Schema = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'], items: item };
const byKeys: Schema = { ...byKey, 'x-kubernetes-list-map-keys': ['k', 'n'] };

describe('validateListTypes', () => {
  it.each<readonly [string, Schema, Value, readonly string[]]>([
    ['rejects each repeated item of a set once', set, ['a', 'b', 'a', 'a'], ['v[2]: Duplicate value: "a"']],
    ['rejects repeated keys', byKey, [{ k: 'a' }, { k: 'b' }, { k: 'a', n: 1 }], ['v[2]: Duplicate value: {"k":"a"}']],
    [
      'rejects repeated combinations of keys',
      byKeys,
      [
        { k: 'a', n: 1 },
        { k: 'a', n: 2 },
        { k: 'a', n: 1 },
      ],
      ['v[2]: Duplicate value: {"k":"a","n":1}'],
    ],
    ['treats absent keys as equal', byKey, [{ n: 1 }, { n: 2 }], ['v[1]: Duplicate value: {}']],
    [
      'rejects items of a map that are not objects',
      byKey,
      [{ k: 'a' }, 'x'],
      ['v[1]: Invalid value: "x": must be an object for an array of list-type map'],
    ],
    ['validates lists in items', byKey, [{ k: 'a', inner: ['x', 'x'] }], ['v[0].inner[1]: Duplicate value: "x"']],
    [
      'validates lists in map values',
      { type: 'object', additionalProperties: set },
      { key: ['x', 'x'] },
      ['v[key][1]: Duplicate value: "x"'],
    ],
    ['accepts repeated items in atomic lists', { type: 'array', items: item }, [{ k: 'a' }, { k: 'a' }], []],
  ])('%s', (_, schema, value, expected) => {
    expect(validateListTypes({ v: value }, { type: 'object', properties: { v: schema } }).map(formatFieldError)).toEqual(expected);
  });
});
