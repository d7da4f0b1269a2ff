import { expect, it } from '@jest/globals';
import { DeferredLog } from '../../dev/deferred-log.ts';

it('defers lines until the release, and writes all lines in order', () => {
  const written: string[] = [];
  const lines = new DeferredLog((line) => written.push(line));
  lines.write('a');
  lines.write('b');
  expect(written).toEqual([]);
  lines.release();
  expect(written).toEqual(['a', 'b']);
  lines.write('c');
  lines.release();
  expect(written).toEqual(['a', 'b', 'c']);
});
