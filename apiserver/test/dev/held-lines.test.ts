import { expect, it } from '@jest/globals';
import { HeldLines } from '../../dev/held-lines.ts';

it('holds lines until the release, and writes all lines in order', () => {
  const written: string[] = [];
  const lines = new HeldLines((line) => written.push(line));
  lines.write('a');
  lines.write('b');
  expect(written).toEqual([]);
  lines.release();
  expect(written).toEqual(['a', 'b']);
  lines.write('c');
  lines.release();
  expect(written).toEqual(['a', 'b', 'c']);
});
