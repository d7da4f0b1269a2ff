// metav1.Status, and StatusError: the API error that clients receive and servers send.

import { quoteGoString } from '../std/go-text.ts';
import { type FieldError, formatFieldError } from './field-error.ts';

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** metav1.Status of a failure. Keys are in the order in which Kubernetes writes them. */
export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: { readonly continue?: string };
  readonly status: 'Failure';
  readonly message: string;
  readonly reason?: StatusReason;
  readonly details?: StatusDetails;
  readonly code: number;
}

const CODES = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServerTimeout: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const;

export type StatusReason = keyof typeof CODES;

export const STATUS_REASONS = Object.keys(CODES) as readonly StatusReason[];

/** Returns whether a string is a known reason; servers may send others. */
export function isStatusReason(text: string): text is StatusReason {
  return Object.hasOwn(CODES, text);
}

/** Returns the reason for an HTTP status code; undefined if there is none. */
export function reasonOfCode(code: number): StatusReason | undefined {
  return REASON_OF_CODE.get(code);
}

/** The least specific reason of each code. */
const REASON_OF_CODE: ReadonlyMap<number, StatusReason> = new Map([
  ...Object.entries(CODES).map(([reason, code]): [number, StatusReason] => [code, reason as StatusReason]),
  [CODES.Gone, 'Gone'],
  [CODES.InternalError, 'InternalError'],
]);

/** Subject of an error: a group with a plural resource name or a kind. */
export interface QualifiedName {
  readonly group: string;
  readonly name: string;
}

/** An error response from a Kubernetes API, sent or received. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: Status;

  constructor(status: Status, options?: ErrorOptions) {
    super(status.message, options);
    this.status = status;
  }

  get code(): number {
    return this.status.code;
  }

  get reason(): StatusReason | undefined {
    return this.status.reason;
  }

  get retryAfterSeconds(): number | undefined {
    return this.status.details?.retryAfterSeconds;
  }
}

/** Returns whether `error` is an API error with one of these reasons. */
export function hasReason(error: unknown, ...reasons: readonly StatusReason[]): error is StatusError {
  return error instanceof StatusError && error.reason !== undefined && reasons.includes(error.reason);
}

/** Waits for the response; returns undefined if the request fails with one of these reasons. */
export async function ignoreReasons<T>(request: Promise<T>, ...expected: readonly StatusReason[]): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (hasReason(error, ...expected)) return undefined;
    throw error;
  }
}

/** Creates an API error with a reason; the functions below create the common ones. */
export function statusError(reason: StatusReason, message: string, details?: StatusDetails, options?: ErrorOptions): StatusError {
  return new StatusError(
    {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason,
      ...(details !== undefined && { details }),
      code: CODES[reason],
    },
    options,
  );
}

/** Creates a failure without a reason, which Kubernetes sends for unclassified errors. */
export function unclassified(message: string, code = 500): StatusError {
  return new StatusError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code });
}

export function badRequest(message: string): StatusError {
  return statusError('BadRequest', message);
}

export function unauthorized(): StatusError {
  return statusError('Unauthorized', 'Unauthorized');
}

/** Creates the 404 error for an unknown path. */
export function pathNotFound(): StatusError {
  return statusError('NotFound', 'the server could not find the requested resource', {});
}

/** Creates the 405 error for a method that the path does not support. */
export function methodNotAllowed(): StatusError {
  return statusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
}

/** Creates the 403 error for an object: `secrets "x" is forbidden: why`. */
export function forbidden(resource: QualifiedName, name: string, why: string, causes?: readonly StatusCause[]): StatusError {
  const subject = name === '' ? formatQualifiedName(resource) : `${formatQualifiedName(resource)} ${quoteGoString(name)}`;
  return statusError('Forbidden', `${subject} is forbidden: ${why}`, { ...detailsOf(resource, name), ...(causes && { causes }) });
}

export function notFound(resource: QualifiedName, name: string): StatusError {
  return statusError('NotFound', `${formatQualifiedName(resource)} ${quoteGoString(name)} not found`, detailsOf(resource, name));
}

export function alreadyExists(resource: QualifiedName, name: string, prefix = ''): StatusError {
  return statusError(
    'AlreadyExists',
    `${prefix}${formatQualifiedName(resource)} ${quoteGoString(name)} already exists`,
    detailsOf(resource, name),
  );
}

export function conflict(resource: QualifiedName, name: string, why: string): StatusError {
  return statusError(
    'Conflict',
    `Operation cannot be fulfilled on ${formatQualifiedName(resource)} ${quoteGoString(name)}: ${why}`,
    detailsOf(resource, name),
  );
}

/** Creates the conflict for a write that is based on an old version. */
export function modified(resource: QualifiedName, name: string): StatusError {
  return conflict(resource, name, 'the object has been modified; please apply your changes to the latest version and try again');
}

export function expired(message: string): StatusError {
  return statusError('Expired', message);
}

/** Creates a 422 error with the reason Invalid. `kind.name` is a kind or, as in some errors of kube-apiserver, a plural resource name. */
export function invalid(kind: QualifiedName, name: string, errors: readonly FieldError[]): StatusError {
  const message = `${formatQualifiedName(kind)} ${quoteGoString(name)} is invalid: ${aggregate(errors.map(formatFieldError))}`;
  const causes = errors.map(({ type, body, field }) => ({ reason: type, message: body, field }));
  return statusError('Invalid', message, { ...detailsOf(kind, name), causes });
}

export function internalError(message: string, options?: ErrorOptions): StatusError {
  return statusError('InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] }, options);
}

export function serviceUnavailable(message: string, retryAfterSeconds: number): StatusError {
  return statusError('ServiceUnavailable', message, { retryAfterSeconds });
}

export function tooManyRequests(message: string, retryAfterSeconds: number): StatusError {
  return statusError('TooManyRequests', message, { retryAfterSeconds });
}

/** Returns the name with its group: `secrets`, or `clusters.registry.purser.dev`. */
export function formatQualifiedName({ group, name }: QualifiedName): string {
  return group === '' ? name : `${name}.${group}`;
}

/** Joins error messages without duplicates: a single text unchanged, several in brackets. */
export function aggregate(texts: readonly string[]): string {
  const distinct = [...new Set(texts)];
  return distinct.length === 1 ? String(distinct[0]) : `[${distinct.join(', ')}]`;
}

function detailsOf({ group, name: kind }: QualifiedName, name: string): StatusDetails {
  return { ...(name !== '' && { name }), ...(group !== '' && { group }), ...(kind !== '' && { kind }) };
}
