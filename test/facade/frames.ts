// Frames of HTTP/2, for clients that do not follow the protocol.

export const DATA = 0;
export const HEADERS = 1;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
export const GOAWAY = 7;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;
export const END_STREAM = 1;
export const END_HEADERS = 4;

/** First bytes of a client, which a SETTINGS frame follows. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export function frame(type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Returns headers as literals without compression. Names and values have less than 127 bytes. */
export function headerBlock(headers: Readonly<Record<string, string>>): Buffer<ArrayBuffer> {
  const literals = Object.entries(headers).flatMap(([name, value]) => [
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
  return Buffer.concat(literals);
}

/** Returns the types and flags of the complete frames of a stream. */
export function framesOf(bytes: Buffer, stream: number): readonly { readonly type: number; readonly flags: number }[] {
  const frames: { readonly type: number; readonly flags: number }[] = [];
  for (let start = 0; start + 9 <= bytes.length; ) {
    const end = start + 9 + bytes.readUIntBE(start, 3);
    if (end > bytes.length) break;
    if (bytes.readUInt32BE(start + 5) === stream) frames.push({ type: bytes.readUInt8(start + 3), flags: bytes.readUInt8(start + 4) });
    start = end;
  }
  return frames;
}
