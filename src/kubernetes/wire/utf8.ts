// UTF-8 as Go decodes it: every byte outside a valid sequence becomes one replacement character.

import { isUtf8 } from 'node:buffer';

/** Decodes bytes. Replaces each invalid byte with U+FFFD; Node's decoder would replace several bytes of a sequence with one. */
export function decodeUtf8(bytes: Buffer): string {
  return decode(bytes, '\ufffd');
}

/** Decodes a header value, in which Node represents each byte as one character. */
export function decodeHeader(value: string): string {
  return decodeUtf8(Buffer.from(value, 'latin1'));
}

/**
 * Decodes bytes that a Go string would contain unchanged. Invalid bytes become lone surrogates, because `encodeGoJsonString` escapes these
 * as Go escapes invalid bytes.
 */
export function decodeUtf8WithSurrogates(bytes: Buffer): string {
  return decode(bytes, '\udfff');
}

function decode(bytes: Buffer, replacement: string): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const length = computeSequenceLength(bytes[at] ?? 0);
    const sequence = bytes.subarray(at, at + length);
    const valid = sequence.length === length && isUtf8(sequence);
    text += valid ? sequence.toString('utf8') : replacement;
    at += valid ? length : 1;
  }
  return text;
}

function computeSequenceLength(lead: number): number {
  if (lead < 0xc0) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}
