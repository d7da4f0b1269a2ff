// SHA-256 digests of texts, also of secrets.

import { hash } from 'node:crypto';

/** Returns `sha256:` and the hexadecimal digest of a text. */
export function digestOf(text: string): string {
  return `sha256:${hash('sha256', text)}`;
}
