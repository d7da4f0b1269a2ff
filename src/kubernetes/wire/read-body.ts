// The body of a request, no longer than kube-apiserver takes it.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type StatusError, statusError } from '../status.ts';

const MAX_BYTES = 3 * 1024 * 1024;

export interface BodyOptions {
  /** Ends the wait for a body that does not come. */
  readonly signal?: AbortSignal | undefined;
  /** Response to a caller that sent `Expect: 100-continue`. */
  readonly expectant?: ServerResponse | undefined;
}

/** Reads a body to its end. Throws 413 as soon as it is known to be too long: where its length is given, before the first byte. */
export function readBody(message: IncomingMessage, { signal, expectant }: BodyOptions = {}): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    // A message that has broken off already does not say so again.
    if (message.destroyed) throw new Error('the caller has left');
    if (Number(message.headers['content-length'] ?? 0) > MAX_BYTES) throw tooLarge(MAX_BYTES);
    expectant?.writeContinue();
    const chunks: Buffer[] = [];
    let bytes = 0;
    // Listeners, not an iterator: nearly all bodies are one chunk, and the iterator costs more than the rest of reading it.
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= MAX_BYTES) return;
      message.off('data', take).pause();
      reject(tooLarge(MAX_BYTES));
    };
    message.on('data', take);
    message.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes)));
    message.on('error', reject);
    signal?.addEventListener('abort', () => {
      message.off('data', take);
      reject(signal.reason);
    });
  });
}

/** The refusal of a body that is longer than this. */
export function tooLarge(maxBytes: number): StatusError {
  return statusError('RequestEntityTooLarge', `Request entity too large: limit is ${maxBytes}`);
}
