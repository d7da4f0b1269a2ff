// One answer of a server, read to its end. No stream in between: all of it is wanted, and at once.

import { setImmediate as onNextTurn } from 'node:timers';
import type { Dispatcher } from 'undici';
import { isStatusReason, reasonOfCode, type Status, type StatusDetails, StatusError } from '../kubernetes/status.ts';
import { withoutTokens } from '../std/sensitive.ts';
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

/** The error that an answer outside of 2xx stands for; made up from the code if the server sent no Status. */
export function replyError(reply: Reply): StatusError {
  const retryAfterSeconds = retryAfterOf(reply.headers);
  const sent = parseStatus(reply.body);
  const status = sent === undefined ? invented(reply.status) : statusOf(sent, reply.status);
  return new StatusError(retryAfterSeconds === undefined ? status : { ...status, details: { retryAfterSeconds, ...status.details } });
}

/** The error in an ERROR event of a watch. */
export function eventError(object: unknown): StatusError {
  if (!isFailure(object)) return new StatusError(invented(500));
  const { code } = object;
  const isError = typeof code === 'number' && Number.isInteger(code) && code >= 400 && code < 600;
  return new StatusError(statusOf(object, isError ? code : 500));
}

interface SentStatus {
  readonly message?: unknown;
  readonly reason?: unknown;
  readonly details?: unknown;
  readonly code?: unknown;
}

const MAX_TEXT_CHARS = 4_096;
const MAX_CAUSES = 32;
const MAX_RETRY_AFTER_SECONDS = 999_999;

function parseStatus(body: string): SentStatus | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isFailure(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A Status that passed through the timeout filter of kube-apiserver lacks its kind. */
function isFailure(value: unknown): value is SentStatus {
  return isRecord(value) && value['status'] === 'Failure';
}

function statusOf({ message, reason, details }: SentStatus, code: number): Status {
  return {
    ...FAILURE,
    message: typeof message === 'string' ? clean(message) : invented(code).message,
    ...(typeof reason === 'string' && isStatusReason(reason) && { reason }),
    ...(isRecord(details) && { details: detailsOf(details) }),
    code,
  };
}

function detailsOf(sent: Readonly<Record<string, unknown>>): StatusDetails {
  const { causes, retryAfterSeconds } = sent;
  return {
    ...texts(sent, ['name', 'group', 'kind', 'uid']),
    ...(Array.isArray(causes) && { causes: causes.slice(0, MAX_CAUSES).map((cause) => texts(cause, ['reason', 'message', 'field'])) }),
    ...(isSeconds(retryAfterSeconds) && { retryAfterSeconds }),
  };
}

function texts<Field extends string>(sent: unknown, fields: readonly Field[]): { readonly [F in Field]?: string } {
  const record = isRecord(sent) ? sent : {};
  const found = fields.flatMap((field) => {
    const text = record[field];
    return typeof text === 'string' ? [[field, clean(text)]] : [];
  });
  return Object.fromEntries(found);
}

function isSeconds(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MAX_RETRY_AFTER_SECONDS;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function invented(code: number): Status {
  const reason = reasonOfCode(code);
  const message = MESSAGES[code] ?? (code < 400 ? `the server redirects (${code}), which is not followed` : `the server answered ${code}`);
  return { ...FAILURE, message, ...(reason !== undefined && { reason }), code };
}

const FAILURE = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const;

const MESSAGES: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  404: 'the server could not find the requested resource',
  429: 'the server has received too many requests and has asked us to try again later',
};

function clean(text: string): string {
  return withoutTokens(text.slice(0, MAX_TEXT_CHARS));
}

function retryAfterOf(headers: ReplyHeaders): number | undefined {
  const text = headers['retry-after'];
  const seconds = typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : undefined;
  return isSeconds(seconds) ? seconds : undefined;
}

/** The texts of the warnings that a Kubernetes API gave. Others than those of code 299 are not from one. */
export function warningTexts({ warning = [] }: ReplyHeaders): readonly string[] {
  const values = typeof warning === 'string' ? [warning] : warning;
  return values.flatMap((value) => [...value.matchAll(WARNING)].map(([, text = '']) => text.replace(/\\(.)/g, '$1')));
}

const WARNING = /\b299 \S+ "((?:[^"\\]|\\.)*)"/g;
