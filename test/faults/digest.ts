// Digests: how the history names tokens.

import { createHash } from 'node:crypto';

/** Returns the beginning of the SHA-256 digest of a text. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
