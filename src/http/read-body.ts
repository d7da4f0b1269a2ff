// The body of a request, no longer than kube-apiserver takes it.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type StatusError, statusError } from '../api/status.ts';

const MAX_BYTES = 3 * 1024 * 1024;

/** Reads a body to its end. Throws 413 as soon as it is known to be too long: where its length is given, before the first byte. */
export async function readBody(message: IncomingMessage, response: ServerResponse): Promise<Buffer> {
  if (Number(message.headers['content-length'] ?? 0) > MAX_BYTES) throw tooLarge();
  if (message.headers.expect !== undefined) response.writeContinue();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes);
}

function tooLarge(): StatusError {
  return statusError('RequestEntityTooLarge', `Request entity too large: limit is ${MAX_BYTES}`);
}
