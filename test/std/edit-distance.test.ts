import { expect, it } from '@jest/globals';
import { computeEditDistance } from '../../src/std/edit-distance.ts';

it.each([
  ['', '', 0],
  ['', 'ab', 2],
  ['same', 'same', 0],
  ['kitten', 'sitting', 3],
  ['interval', 'intervall', 1],
  ['levle', 'level', 2],
])('measures the distance between %j and %j as %i in both directions', (a, b, expected) => {
  expect([computeEditDistance(a, b), computeEditDistance(b, a)]).toEqual([expected, expected]);
});
