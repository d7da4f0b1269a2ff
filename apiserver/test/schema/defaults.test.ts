import { describe, expect, it } from '@jest/globals';
import type { Fields } from '../../../src/kubernetes/object.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { withDefaults } from '../../schema/defaults.ts';

const schema: Schema = {
  type: 'object',
  properties: {
    mode: { type: 'string', default: 'auto' },
    note: { type: 'string', nullable: true, default: 'x' },
    nested: { type: 'object', properties: { on: { type: 'boolean', default: true } } },
    filled: { type: 'object', default: {}, properties: { on: { type: 'boolean', default: true }, off: { type: 'boolean' } } },
    list: { type: 'array', items: { type: 'object', default: { a: 1 }, properties: { b: { type: 'integer', default: 2 } } } },
    map: {
      type: 'object',
      additionalProperties: { type: 'object', default: { a: 1 }, properties: { b: { type: 'integer', default: 2 } } },
    },
  },
};

const always = { mode: 'auto', note: 'x', filled: { on: true } };

describe('withDefaults', () => {
  it.each<[string, Fields, Fields]>([
    ['fills in absent fields, and fields of default objects', {}, always],
    ['keeps present fields', { mode: 'x', filled: { on: false } }, { ...always, mode: 'x', filled: { on: false } }],
    ['replaces null by the default of a field that is not nullable', { mode: null }, always],
    ['keeps null in a nullable field', { note: null }, { ...always, note: null }],
    ['fills in fields of present objects', { nested: {} }, { ...always, nested: { on: true } }],
    ['fills in list items', { list: [{}, null] }, { ...always, list: [{ b: 2 }, { a: 1, b: 2 }] }],
    ['fills in map values', { map: { x: {}, y: null } }, { ...always, map: { x: { b: 2 }, y: { a: 1, b: 2 } } }],
    ['keeps values of other types', { nested: 'no', list: 'no' }, { ...always, nested: 'no', list: 'no' }],
  ])('%s', (_, value, expected) => {
    expect(withDefaults(value, schema)).toEqual(expected);
  });
});
