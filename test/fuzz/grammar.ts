// Random requests by seed and number. A request does not depend on the requests before it.

import { createRandom } from '../support/random.ts';
import { randomListRequest } from './list-requests.ts';
import type { FuzzRequest } from './request.ts';
import { randomTokenRequest } from './token-requests.ts';

/** Share of token requests. */
const TOKEN_SHARE = 0.6;

/** Returns request `number` of a seed. */
export function requestOf(seed: number, number: number): FuzzRequest {
  const random = createRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number, 0x85ebca6b));
  // The first random numbers of similar seeds are similar.
  for (let skipped = 0; skipped < 4; skipped += 1) random();
  return random() < TOKEN_SHARE ? randomTokenRequest(random) : randomListRequest(random);
}
