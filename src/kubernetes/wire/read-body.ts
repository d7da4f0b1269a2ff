// The body of a request, within a size limit.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type StatusError, statusError } from '../status.ts';

/** Maximum size of a request body in kube-apiserver, in bytes. */
const MAX_BYTES = 3 * 1024 * 1024;

export interface BodyOptions {
  /** Maximum size, in bytes; the limit of kube-apiserver by default. */
  readonly maxBytes?: number | undefined;
  /** Aborts the wait for the body. */
  readonly signal?: AbortSignal | undefined;
  /** Response to a request with `Expect: 100-continue`; undefined for other requests. */
  readonly continueResponse?: ServerResponse | undefined;
}

/** Reads a whole body. Throws 413 as soon as the limit is exceeded, or before the first byte if Content-Length exceeds it. */
export function readBody(message: IncomingMessage, { maxBytes = MAX_BYTES, signal, continueResponse }: BodyOptions = {}): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    // A destroyed message emits no more events.
    if (message.destroyed) throw new Error('the client has disconnected');
    if (Number(message.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
    continueResponse?.writeContinue();
    const chunks: Buffer[] = [];
    let bytes = 0;
    // Listeners instead of an iterator: nearly all bodies are one chunk, and an iterator costs more than the rest of the read.
    const append = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= maxBytes) return;
      message.off('data', append).pause();
      reject(tooLarge(maxBytes));
    };
    message.on('data', append);
    message.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes)));
    message.on('error', reject);
    signal?.addEventListener('abort', () => {
      message.off('data', append);
      reject(signal.reason);
    });
  });
}

/** Returns the 413 error for a body above the limit. */
export function tooLarge(maxBytes: number): StatusError {
  return statusError('RequestEntityTooLarge', `Request entity too large: limit is ${maxBytes}`);
}
