// Reads responses from API servers, and converts error responses to StatusErrors. Text from servers is not trusted: unknown reasons are
// removed, tokens are redacted and long strings are truncated.

import { setImmediate as onNextTurn } from 'node:timers';
import type { Dispatcher } from 'undici';
import { isStatusReason, reasonOfCode, type Status, type StatusDetails, StatusError } from '../kubernetes/status.ts';
import { decodeHeader } from '../kubernetes/wire/utf8.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import { redactTokens } from '../std/sensitive.ts';
import type { Deadline } from './deadline.ts';
import { TransportError } from './transport-error.ts';

/** A response whose body was read to its end, as UTF-8 text. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: string;
}

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface ResponseLimits {
  readonly maxBytes: number;
  /** Deadline of the response. An abort rejects the response immediately; undici itself ignores an abort while it connects. */
  readonly deadline: Deadline;
}

/** Sends a request and resolves with the response once the connection is free. Rejects if the connection fails or a limit is exceeded. */
export function readResponse(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions, limits: ResponseLimits): Promise<HttpResponse> {
  const reader = new ResponseReader(limits);
  dispatcher.dispatch(request, reader);
  return reader.response;
}

class ResponseReader implements Dispatcher.DispatchHandler {
  readonly #limits: ResponseLimits;
  readonly #result = Promise.withResolvers<HttpResponse>();
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #head: Pick<HttpResponse, 'status' | 'headers'> = { status: 0, headers: {} };
  #bytes = 0;
  #interimHeads = 0;

  constructor(limits: ResponseLimits) {
    this.#limits = limits;
    if (limits.deadline.isAborted) this.#abort();
    else limits.deadline.onAbort = this.#abort;
  }

  get response(): Promise<HttpResponse> {
    return this.#result.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#limits.deadline.isAborted) this.#abort();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    // A hostile server could send any number of interim responses, which `maxBytes` does not limit.
    if (status < 200 && ++this.#interimHeads > MAX_INTERIM_HEADS) controller.abort(tooManyInterimHeads());
    this.#head = { status, headers };
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { maxBytes } = this.#limits;
    this.#bytes += chunk.length;
    if (this.#bytes > maxBytes) controller.abort(tooLong(maxBytes));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#limits.deadline.onAbort = undefined;
    const [first = EMPTY] = this.#chunks;
    const body = this.#chunks.length > 1 ? Buffer.concat(this.#chunks, this.#bytes) : first;
    const response = { ...this.#head, body: body.toString('utf8') };
    // undici frees the connection in the next turn: a request sent before that would open another connection.
    queueMicrotask(() => onNextTurn(this.#result.resolve, response));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#limits.deadline.onAbort = undefined;
    this.#result.reject(error);
  }

  readonly #abort = (): void => {
    const { reason } = this.#limits.deadline.signal as { readonly reason: Error };
    this.#result.reject(reason);
    this.#controller?.abort(reason);
  };
}

const EMPTY = Buffer.alloc(0);
/** Maximum number of interim responses (1xx) to one request; API servers send none. */
const MAX_INTERIM_HEADS = 8;

function tooManyInterimHeads(): TransportError {
  return new TransportError('EBADMSG', `the server sent more than ${MAX_INTERIM_HEADS} interim responses`);
}

/** Reads the body of an opened stream as text. Throws a TransportError if it is longer than `maxBytes`. */
export async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
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
  return new TransportError('EMSGSIZE', `the response is longer than ${maxBytes} bytes`);
}

/** Converts a response outside 2xx to an error; derives the error from the status code if the body is not a Status. */
export function toStatusError(response: HttpResponse): StatusError {
  const retryAfterSeconds = parseRetryAfter(response.headers);
  const received = parseStatus(response.body);
  const status = received === undefined ? createDefaultStatus(response.status) : toStatus(received, response.status);
  return new StatusError(retryAfterSeconds === undefined ? status : { ...status, details: { retryAfterSeconds, ...status.details } });
}

/** Converts the object of an ERROR watch event to an error. */
export function toWatchEventError(object: unknown): StatusError {
  if (!isFailure(object)) return new StatusError(createDefaultStatus(500));
  const { code } = object;
  const isError = typeof code === 'number' && Number.isInteger(code) && code >= 400 && code < 600;
  return new StatusError(toStatus(object, isError ? code : 500));
}

interface ReceivedStatus {
  readonly message?: unknown;
  readonly reason?: unknown;
  readonly details?: unknown;
  readonly code?: unknown;
}

const MAX_TEXT_CHARS = 4_096;
const MAX_CAUSES = 32;
const MAX_RETRY_AFTER_SECONDS = 999_999;

function parseStatus(body: string): ReceivedStatus | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isFailure(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether a value is a failed Status. Does not check the kind, because kube-apiserver's timeout filter omits it. */
function isFailure(value: unknown): value is ReceivedStatus {
  return isRecord(value) && value['status'] === 'Failure';
}

function toStatus({ message, reason, details }: ReceivedStatus, code: number): Status {
  return omitUndefined<Status>({
    ...FAILURE,
    message: typeof message === 'string' ? sanitize(message) : createDefaultStatus(code).message,
    reason: typeof reason === 'string' && isStatusReason(reason) ? reason : undefined,
    details: isRecord(details) ? toDetails(details) : undefined,
    code,
  });
}

function toDetails(received: Readonly<Record<string, unknown>>): StatusDetails {
  const { causes, retryAfterSeconds } = received;
  const toCause = (cause: unknown) => pickTexts(cause, ['reason', 'message', 'field']);
  return omitUndefined({
    ...pickTexts(received, ['name', 'group', 'kind', 'uid']),
    causes: Array.isArray(causes) ? causes.slice(0, MAX_CAUSES).map(toCause) : undefined,
    retryAfterSeconds: isSeconds(retryAfterSeconds) ? retryAfterSeconds : undefined,
  });
}

function pickTexts<Field extends string>(received: unknown, fields: readonly Field[]): { readonly [F in Field]?: string } {
  const record = isRecord(received) ? received : {};
  const found = fields.flatMap((field) => {
    const text = record[field];
    return typeof text === 'string' ? [[field, sanitize(text)]] : [];
  });
  return Object.fromEntries(found);
}

function isSeconds(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MAX_RETRY_AFTER_SECONDS;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function createDefaultStatus(code: number): Status {
  const reason = reasonOfCode(code);
  const message =
    MESSAGES[code] ??
    (code < 400
      ? `the server responded with a redirect (${code}), which Purser does not follow`
      : `the server responded with status ${code}`);
  return omitUndefined<Status>({ ...FAILURE, message, reason, code });
}

const FAILURE = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const;

const MESSAGES: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  404: 'the server could not find the requested resource',
  429: 'the server has received too many requests and has asked us to try again later',
};

function sanitize(text: string): string {
  return redactTokens(text.slice(0, MAX_TEXT_CHARS));
}

function parseRetryAfter(headers: ResponseHeaders): number | undefined {
  const text = headers['retry-after'];
  const seconds = typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : undefined;
  return isSeconds(seconds) ? seconds : undefined;
}

/** Returns the texts of Warning headers with code 299, which Kubernetes uses. */
export function parseWarnings({ warning = [] }: ResponseHeaders): readonly string[] {
  const values = (typeof warning === 'string' ? [warning] : warning).map(decodeHeader);
  return values.flatMap((value) => [...value.matchAll(WARNING)].map(([, text = '']) => text.replace(/\\(.)/g, '$1')));
}

const WARNING = /\b299 \S+ "((?:[^"\\]|\\.)*)"/g;
