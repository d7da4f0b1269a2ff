// SHA-256 digests of texts, including secrets.

import { hash } from 'node:crypto';

/** Returns `sha256:` and the hexadecimal digest of a string. */
export function digestOf(text: string): string {
  return `sha256:${hash('sha256', text)}`;
}

const MAX_LENGTH = 256;

/** Returns a string, or the digest of a long one. A shortened string stays as it is. */
export function shortenText(text: string): string {
  return text.length > MAX_LENGTH ? digestOf(text) : text;
}
