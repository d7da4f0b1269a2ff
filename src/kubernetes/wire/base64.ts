// Base64 as Go decodes it: line breaks are skipped, padding is required.

/** Returns the canonical form of a standard base64 text, or throws an Error with Go's message. */
export function canonicalizeBase64(text: string): string {
  if (!WELL_FORMED_TEXT.test(text)) checkQuanta(Buffer.from(text));
  return Buffer.from(text, 'base64').toString('base64');
}

const WELL_FORMED_TEXT = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;
const PADDING = 0x3d;

/** Throws Go's error for the first byte that Go rejects. */
function checkQuanta(bytes: Buffer): void {
  let inQuantum = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (isLineBreak(byte)) continue;
    if (byte === PADDING) {
      checkPadding(bytes, at, inQuantum);
      return;
    }
    if (!/[A-Za-z\d+/]/.test(String.fromCharCode(byte))) throw corrupt(at);
    inQuantum = (inQuantum + 1) % 4;
  }
  if (inQuantum > 0) throw corrupt(bytes.length - inQuantum);
}

function checkPadding(bytes: Buffer, at: number, inQuantum: number): void {
  if (inQuantum < 2) throw corrupt(at);
  let next = skipLineBreaks(bytes, at + 1);
  if (inQuantum === 2) {
    if (bytes[next] !== PADDING) throw corrupt(next < bytes.length ? next - 1 : next);
    next = skipLineBreaks(bytes, next + 1);
  }
  if (next < bytes.length) throw corrupt(next);
}

function skipLineBreaks(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && isLineBreak(bytes[at] ?? 0)) at++;
  return at;
}

function isLineBreak(byte: number): boolean {
  return byte === 0x0a || byte === 0x0d;
}

function corrupt(at: number): Error {
  return new Error(`illegal base64 data at input byte ${at}`);
}
