import { describe, expect, it } from '@jest/globals';
import { type PrinterColumn, toCustomTable } from '../../src/kubernetes/custom-table.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';

const now = Date.parse('2026-01-01T00:00:00Z');

const widget: KubeObject = {
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata: { name: 'one', creationTimestamp: '2025-12-31T23:59:44Z' },
  spec: { n: 5, num: 1.5, big: 3000000.5, on: true, list: ['a', 'b'], map: { k: 'v' }, soon: 'soon', empty: '', nul: null },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};

function cell(type: string, jsonPath: string): unknown {
  const column: PrinterColumn = { name: 'C', type, jsonPath };
  return toCustomTable([column]).cells(widget, now)[1];
}

describe('toCustomTable', () => {
  it('shows name and age by default', () => {
    const table = toCustomTable();
    expect(table.columns.map(({ name, type, format }) => [name, type, format])).toEqual([
      ['Name', 'string', 'name'],
      ['Age', 'date', ''],
    ]);
    expect(table.cells(widget, now)).toEqual(['one', '16s']);
  });

  it('describes columns without a description by their path', () => {
    const columns = [
      { name: 'A', type: 'string', jsonPath: '.a' },
      { name: 'B', type: 'integer', jsonPath: '.b', description: 'mine', format: 'int32', priority: 1 },
    ];
    expect(toCustomTable(columns).columns.slice(1)).toEqual([
      { name: 'A', type: 'string', format: '', description: 'Custom resource definition column (in JSONPath format): .a', priority: 0 },
      { name: 'B', type: 'integer', format: 'int32', description: 'mine', priority: 1 },
    ]);
  });

  it('omits a column with an invalid path and all columns after it', () => {
    const columns = ['.a', '..b', '.c'].map((jsonPath) => ({ name: jsonPath, type: 'string', jsonPath }));
    expect(toCustomTable(columns).columns.map(({ name }) => name)).toEqual(['Name', '.a']);
  });

  it.each([
    ['integer', '.spec.n', 5],
    ['integer', '.spec.num', 1],
    ['integer', '.spec.soon', null],
    ['number', '.spec.num', 1.5],
    ['number', '.spec.on', null],
    ['boolean', '.spec.on', true],
    ['boolean', '.spec.n', null],
    ['string', '.spec.soon', 'soon'],
    ['string', '.spec.n', '5'],
    ['string', '.spec.big', '3.0000005e+06'],
    ['string', '.spec.on', 'true'],
    ['string', '.spec.list', '["a","b"]'],
    ['string', '.spec.map', '{"k":"v"}'],
    ['string', '.spec.list[*]', 'a'],
    ['string', '.spec.nul', '<no value>'],
    ['string', '.spec.missing', null],
    ['string', '.spec.list[7]', null],
    ['string', '.status.conditions[?(@.type=="Ready")].status', 'True'],
    ['date', '.metadata.creationTimestamp', '16s'],
    ['date', '.spec.soon', '<invalid>'],
    ['date', '.spec.empty', '<unknown>'],
    ['date', '.spec.n', null],
  ])('shows a %s column of %s as %j', (type, jsonPath, expected) => {
    expect(cell(type, jsonPath)).toEqual(expected);
  });
});
