import { expect, it } from '@jest/globals';
import { Rotation } from '../../../src/facade/limits/rotation.ts';

it('returns work of all addresses in turns, and that of an address in order of arrival', () => {
  const rotation = new Rotation();
  const done: string[] = [];
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) rotation.add(name.charAt(0), () => void done.push(name));
  expect(rotation.isEmpty).toBe(false);
  for (let work = rotation.next(); work !== undefined; work = rotation.next()) work();
  expect(done).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  expect(rotation.isEmpty).toBe(true);
});
