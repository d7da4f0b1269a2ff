import { describe, expect, it } from '@jest/globals';
import { moveActive, scrollToRow, selectVisibleRows } from '../../../src/ui/model/rows.ts';

describe('selectVisibleRows', () => {
  it.each([
    [0, 0, { first: 0, end: 0 }],
    [5, 0, { first: 0, end: 5 }],
    [10_000, 0, { first: 0, end: 23 }],
    [10_000, 4_800, { first: 92, end: 123 }],
    [10_000, 1e9, { first: 10_000, end: 10_000 }],
  ])('draws only the visible rows of %d rows at %d pixels', (count, scrollTop, range) => {
    expect(selectVisibleRows(count, 48, scrollTop, 720)).toEqual(range);
  });
});

describe('moveActive', () => {
  it.each([
    ['ArrowDown', -1, 0],
    ['ArrowDown', 9, 9],
    ['ArrowUp', 0, 0],
    ['PageDown', 1, 6],
    ['PageUp', 1, 0],
    ['End', 0, 9],
    ['Home', 5, 0],
    ['x', 5, undefined],
    ['constructor', 5, undefined],
  ])('moves with %s from row %d to %p', (key, active, next) => {
    expect(moveActive(key, active, 10, 5)).toBe(next);
  });

  it('returns no row for an empty list', () => {
    expect(moveActive('ArrowDown', -1, 0, 5)).toBeUndefined();
  });
});

describe('scrollToRow', () => {
  it.each([
    [0, 100, 0],
    [3, 100, 100],
    [20, 0, 288],
  ])('scrolls to row %d from %d pixels', (index, from, to) => {
    expect(scrollToRow(index, 48, from, 720)).toBe(to);
  });
});
