// The part of the DER encoding that certificates need.

/** Encodes a SEQUENCE of encoded values. */
export function encodeSequence(...parts: readonly Buffer[]): Buffer {
  return encodeTagged(0x30, Buffer.concat(parts));
}

/** Encodes a SET of one encoded value. */
export function encodeSet(part: Buffer): Buffer {
  return encodeTagged(0x31, part);
}

/** Encodes a non-negative INTEGER of any length from big-endian bytes. */
export function encodeInteger(bytes: Buffer): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const magnitude = start < 0 ? Buffer.from([0]) : bytes.subarray(start);
  // A leading one bit would make the integer negative.
  return encodeTagged(0x02, (magnitude[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), magnitude]) : magnitude);
}

/** Encodes an OBJECT IDENTIFIER such as `2.5.29.17`. */
export function encodeObjectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return encodeTagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(encodeBase128)]));
}

/** Encodes a UTF8String. */
export function encodeUtf8String(text: string): Buffer {
  return encodeTagged(0x0c, Buffer.from(text));
}

/** Encodes BOOLEAN TRUE. DER omits FALSE where it is the default. */
export function encodeTrue(): Buffer {
  return encodeTagged(0x01, Buffer.from([0xff]));
}

/** Encodes a BIT STRING; `unusedBits` is the number of padding bits in the last byte. */
export function encodeBitString(bytes: Buffer, unusedBits = 0): Buffer {
  return encodeTagged(0x03, Buffer.concat([Buffer.from([unusedBits]), bytes]));
}

/** Encodes an OCTET STRING of raw bytes or of an encoded value. */
export function encodeOctetString(bytes: Buffer): Buffer {
  return encodeTagged(0x04, bytes);
}

/** Encodes the time of a certificate, with a two-digit year until 2049 and a four-digit year from 2050. */
export function encodeTime(at: number): Buffer {
  const digits = new Date(at).toISOString().replace(/[-:T]|\.\d+/g, '');
  return at < Date.UTC(2050, 0) ? encodeTagged(0x17, Buffer.from(digits.slice(2))) : encodeTagged(0x18, Buffer.from(digits));
}

/** Encodes a context-specific tag: around another value if `constructed`, else in place of the value's tag. */
export function encodeContextTag(tag: number, content: Buffer, constructed: boolean): Buffer {
  return encodeTagged((constructed ? 0xa0 : 0x80) | tag, content);
}

function encodeTagged(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag, ...encodeLength(content)]), content]);
}

function encodeLength({ length }: Buffer): readonly number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>= 8) bytes.unshift(rest & 0xff);
  return [0x80 | bytes.length, ...bytes];
}

function encodeBase128(value: number): readonly number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}
