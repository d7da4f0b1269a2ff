// Digests, which identify tokens in the history without disclosing them.

import { createHash } from 'node:crypto';

/** Returns the first 12 characters of the SHA-256 digest of a string. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
