import { describe, expect, it } from '@jest/globals';
import { prune } from '../../../src/kubernetes/schema/prune.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';

const schema: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer' },
        note: { type: 'string', nullable: true },
        mode: { type: 'string', default: 'auto' },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { strict: { type: 'object', properties: {} } } },
        labels: { type: 'object', additionalProperties: { type: 'object', properties: { a: { type: 'string' } } } },
        list: { type: 'array', items: { type: 'object', properties: { k: { type: 'string' } } } },
      },
    },
  },
};

function widget(spec: object, rest: object = {}) {
  return { apiVersion: 'example.dev/v1', kind: 'Widget', metadata: { name: 'one' }, spec, ...rest };
}

describe('prune', () => {
  it.each([
    ['keeps known fields', { size: 1, list: [{ k: 'a' }] }, { size: 1, list: [{ k: 'a' }] }, []],
    ['drops unknown fields', { size: 1, zzz: { deep: 1 } }, { size: 1 }, ['spec.zzz']],
    ['names list items by index', { list: [{ k: 'a', x: 1 }, { y: 2 }] }, { list: [{ k: 'a' }, {}] }, ['spec.list[0].x', 'spec.list[1].y']],
    ['names map values by key', { labels: { 'a.b': { a: '1', b: 2 } } }, { labels: { 'a.b': { a: '1' } } }, ['spec.labels.a.b.b']],
    [
      'keeps everything below a preserving schema, except where a schema is given',
      { free: { x: { y: 1 }, strict: { z: 1 } } },
      { free: { x: { y: 1 }, strict: {} } },
      ['spec.free.strict.z'],
    ],
    [
      'drops nulls that are neither nullable nor defaulted',
      { size: null, note: null, mode: null, list: [null] },
      { note: null, mode: null, list: [null] },
      [],
    ],
    ['keeps scalars in place of objects for validation', { labels: 5, list: 'x' }, { labels: 5, list: 'x' }, []],
    ['keeps fields that share a name with Object.prototype only if known', { constructor: 1 }, {}, ['spec.constructor']],
  ])('%s', (_, spec, expected, unknown) => {
    const pruned = prune(widget(spec), schema);
    expect(pruned.value).toEqual(widget(expected));
    expect(pruned.unknown).toEqual(unknown);
  });

  it('reports unknown fields of the metadata first, then other unknown fields by path', () => {
    const { unknown, value } = prune({ ...widget({ b: 1 }), metadata: { zzz: 1, name: 'one', aaa: 1 }, a: 1 }, schema);
    expect(unknown).toEqual(['metadata.aaa', 'metadata.zzz', 'a', 'spec.b']);
    expect(value).toEqual(widget({}));
  });

  it('keeps all fields below fieldsV1 in managedFields, and drops unknown fields of the entries', () => {
    const metadata = { name: 'one', managedFields: [{ manager: 'x', fieldsV1: { 'f:spec': { 'f:size': {} } }, odd: 1 }] };
    const { unknown, value } = prune({ apiVersion: 'example.dev/v1', kind: 'Widget', metadata }, schema);
    expect(unknown).toEqual(['metadata.managedFields[0].odd']);
    expect(value.metadata).toEqual({ name: 'one', managedFields: [{ manager: 'x', fieldsV1: { 'f:spec': { 'f:size': {} } } }] });
  });
});
