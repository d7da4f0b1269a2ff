// One answer of a server, read to its end. No stream in between: all of it is wanted, and at once.

import { setImmediate as onNextTurn } from 'node:timers';
import type { Dispatcher } from 'undici';
import { TransportError } from './transport-error.ts';

export interface Reply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly body: string;
}

export type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface ReplyLimits {
  readonly maxBytes: number;
  /** Rejects with its reason at once, whether the connection hears of it or not: undici does not while it still connects. */
  readonly signal: AbortSignal;
}

/** Sends a request, and resolves with the answer when its connection is free again. Rejects with the error of the connection. */
export function wholeReply(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions, limits: ReplyLimits): Promise<Reply> {
  const reader = new ReplyReader(limits);
  dispatcher.dispatch(request, reader);
  return reader.reply;
}

class ReplyReader implements Dispatcher.DispatchHandler {
  readonly #limits: ReplyLimits;
  readonly #settle = Promise.withResolvers<Reply>();
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #head: Pick<Reply, 'status' | 'headers'> = { status: 0, headers: {} };
  #bytes = 0;

  constructor(limits: ReplyLimits) {
    this.#limits = limits;
    if (limits.signal.aborted) this.#abort();
    else limits.signal.addEventListener('abort', this.#abort);
  }

  get reply(): Promise<Reply> {
    return this.#settle.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#limits.signal.aborted) this.#abort();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: ReplyHeaders): void {
    this.#head = { status, headers };
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { maxBytes } = this.#limits;
    this.#bytes += chunk.length;
    if (this.#bytes > maxBytes) controller.abort(tooLong(maxBytes));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#limits.signal.removeEventListener('abort', this.#abort);
    const [first = EMPTY] = this.#chunks;
    const body = this.#chunks.length > 1 ? Buffer.concat(this.#chunks, this.#bytes) : first;
    const reply = { ...this.#head, body: body.toString('utf8') };
    // undici frees the connection on the turn that it asks for next: whoever sends before that would open another one.
    queueMicrotask(() => onNextTurn(this.#settle.resolve, reply));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#limits.signal.removeEventListener('abort', this.#abort);
    this.#settle.reject(error);
  }

  readonly #abort = (): void => {
    const { reason } = this.#limits.signal as { readonly reason: Error };
    this.#settle.reject(reason);
    this.#controller?.abort(reason);
  };
}

const EMPTY = Buffer.alloc(0);

/** Reads a stream that has begun as the answer that it is. Throws when that is too long. */
export async function readWhole(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLong(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes).toString('utf8');
}

function tooLong(maxBytes: number): TransportError {
  return new TransportError('EMSGSIZE', `the answer is longer than ${maxBytes} bytes`);
}
