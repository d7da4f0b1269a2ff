import { expect, it } from '@jest/globals';
import { HeldLines } from '../../dev/held-lines.ts';

it('writes lines in order, and holds earlier lines until the release', () => {
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
