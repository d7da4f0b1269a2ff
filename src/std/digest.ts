// SHA-256 digests of strings, including secrets.

import { hash } from 'node:crypto';

/** Returns `sha256:` and the hexadecimal digest of a string. */
export function computeDigest(text: string): string {
  return `sha256:${hash('sha256', text)}`;
}

/** Maximum length of a string that `digestIfLong` returns unchanged, in characters. */
const MAX_LENGTH = 256;

/** Returns the digest of a long string, and a short string unchanged. Idempotent. */
export function digestIfLong(text: string): string {
  return text.length > MAX_LENGTH ? computeDigest(text) : text;
}
