// Port forwarding as the kubelet serves it, without an API server: WebSockets in the protocol v4.channel.k8s.io.

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const PROTOCOL = 'v4.channel.k8s.io';

/** Accepts a WebSocket and forwards its data to a port of this machine, or sends an error. */
export function forwardConnection(
  request: IncomingMessage,
  socket: Socket,
  to: { readonly port: number } | { readonly error: string },
): void {
  const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${GUID}`).digest('base64');
  const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${accept}`];
  socket.write([...head, `Sec-WebSocket-Protocol: ${PROTOCOL}`, '', ''].join('\r\n'));
  socket.on('error', () => {});
  for (const channel of [0, 1]) socket.write(frame(channel, Buffer.of(0x14, 0x1d)));
  if ('error' in to) return void socket.end(frame(1, Buffer.from(to.error)));
  const forwarded = connect(to.port, '127.0.0.1').on('error', () => {});
  forwarded.on('data', (data) => socket.write(frame(0, data)));
  forwarded.on('close', () => socket.destroy());
  socket.on('close', () => forwarded.destroy());
  let pending = Buffer.alloc(0);
  socket.on('data', (data) => {
    pending = Buffer.concat([pending, data]);
    for (let message = nextMessage(pending); message !== undefined; message = nextMessage(pending)) {
      pending = pending.subarray(message.length);
      if (message.opcode === CLOSE) socket.end();
      else forwarded.write(message.payload.subarray(1));
    }
  });
}

const BINARY = 2;
const CLOSE = 8;

/** Returns a binary message of a channel. */
function frame(channel: number, payload: Buffer): Buffer {
  const size = Buffer.alloc(10);
  size.writeUInt8(0x80 | BINARY, 0);
  size.writeUInt8(127, 1);
  size.writeBigUInt64BE(BigInt(payload.length + 1), 2);
  return Buffer.concat([size, Buffer.of(channel), payload]);
}

/** Returns the first message of a client, which is masked; undefined if it is incomplete. */
function nextMessage(bytes: Buffer): { readonly opcode: number; readonly payload: Buffer; readonly length: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes.readUInt8(1) & 0x7f;
  const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
  const start = 2 + extra + 4;
  if (bytes.length < start) return undefined;
  const size = extra === 2 ? bytes.readUInt16BE(2) : extra === 8 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (bytes.length < start + size) return undefined;
  const mask = bytes.subarray(start - 4, start);
  const payload = Buffer.from(bytes.subarray(start, start + size).map((byte, index) => byte ^ (mask[index % 4] ?? 0)));
  return { opcode: bytes.readUInt8(0) & 0x0f, payload, length: start + size };
}
