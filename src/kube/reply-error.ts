// Failed answers as StatusErrors. What servers write is not trusted: reasons outside the known set, tokens and endless
// texts do not get through.

import { isStatusReason, reasonOfCode, type Status, type StatusDetails, StatusError } from '../api/status.ts';
import type { Reply, ReplyHeaders } from './transport.ts';

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
  readonly metadata?: { readonly continue?: unknown };
  readonly message?: unknown;
  readonly reason?: unknown;
  readonly details?: StatusDetails;
  readonly code?: unknown;
}

const MAX_MESSAGE_CHARS = 4_096;
const JWT = /eyJ[\w-]{5,}\.[\w-]+(\.[\w-]*)?/g;

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
  return typeof value === 'object' && value !== null && 'status' in value && value.status === 'Failure';
}

function statusOf(sent: SentStatus, code: number): Status {
  const { message, reason, metadata, details } = sent;
  const cont = metadata?.continue;
  return {
    ...FAILURE,
    metadata: typeof cont === 'string' ? { continue: cont } : {},
    message: typeof message === 'string' ? clean(message) : invented(code).message,
    ...(typeof reason === 'string' && isStatusReason(reason) && { reason }),
    ...(typeof details === 'object' && details !== null && { details }),
    code,
  };
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

function clean(message: string): string {
  return message.slice(0, MAX_MESSAGE_CHARS).replace(JWT, '[redacted]');
}

function retryAfterOf(headers: ReplyHeaders): number | undefined {
  const text = headers['retry-after'];
  return typeof text === 'string' && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}
