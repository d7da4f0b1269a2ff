// Texts that Purser only compares, as informers keep them.

import { digestOf } from '../../std/digest.ts';

const MAX_LENGTH = 256;

/** Returns a text, or the digest of a long one. A shortened text stays as it is. */
export function shortenText(text: string): string {
  return text.length > MAX_LENGTH ? digestOf(text) : text;
}
