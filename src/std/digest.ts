// SHA-256 digests of texts, also of secrets.

import { hash } from 'node:crypto';

/** Returns `sha256:` and the hexadecimal digest of a text. */
export function digestOf(text: string): string {
  return `sha256:${hash('sha256', text)}`;
}

const MAX_LENGTH = 256;

/** Returns a text, or the digest of a long one. A shortened text stays as it is. */
export function shortenText(text: string): string {
  return text.length > MAX_LENGTH ? digestOf(text) : text;
}
