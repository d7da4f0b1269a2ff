// Failed answers as StatusErrors. What servers write is not trusted: reasons outside the known set, tokens and endless
// texts do not get through.

import { isStatusReason, reasonOfCode, type Status, type StatusDetails, StatusError } from '../kubernetes/status.ts';
import { withoutTokens } from '../std/sensitive.ts';
import type { Reply, ReplyHeaders } from './reply.ts';

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
