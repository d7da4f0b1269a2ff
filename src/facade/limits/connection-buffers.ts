// Memory of the buffers of connections. Node keeps the TLS buffers of the largest write and of the largest read of a connection for as
// long as the connection is open.

import type { Socket } from 'node:net';

const writeBytes = new WeakMap<Socket, number>();
const readBytes = new WeakMap<Socket, number>();

/** Size up to which a buffer is part of the memory that every connection is expected to use, in bytes. */
const SMALL_BYTES = 16_384;
/** Size of the buffer that a long request leaves, in bytes. */
const READ_BYTES = 65_536;

/** Records a write to a connection. */
export function recordWrite(socket: Socket, bytes: number): void {
  if (bytes > SMALL_BYTES && bytes > (writeBytes.get(socket) ?? 0)) writeBytes.set(socket, bytes);
}

/** Records the body of a request. `bytes` is Infinity if its length is unknown. */
export function recordBody(socket: Socket, bytes: number): void {
  if (bytes > SMALL_BYTES) readBytes.set(socket, READ_BYTES);
}

/** Returns the size of the large buffers of a connection, in bytes. */
export function bufferOf(socket: Socket): number {
  return (writeBytes.get(socket) ?? 0) + (readBytes.get(socket) ?? 0);
}
