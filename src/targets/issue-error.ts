// Errors with a reason: failures of a target cluster or the hub while a token is issued, verified or written. Errors of requests to a
// target are classified by their cause: the network, Purser's credential, or the request itself.

import { FailureReason, IssueReason, ReadyReason } from '../api/reasons.ts';
import { ProxyErrorCode } from '../kube/proxy.ts';
import { TransportError } from '../kube/transport-error.ts';
import { retryAfterMsOf } from '../kubernetes/retry-after.ts';
import { type Status, StatusError } from '../kubernetes/status.ts';
import { cleanMessage } from '../std/clean-message.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import { redactSecret } from '../std/sensitive.ts';

/** Reasons of IssueErrors. */
export type IssueErrorReason = FailureReason | 'ServiceAccountRecreated' | 'InvalidSpec';

export interface IssueErrorOptions {
  /** Delay that the server requested before the next request, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Status of the error response; for a target, only if it rejected or throttled the request. Does not contain Purser's credential. */
  readonly status?: Status;
  /** Code of a network error, such as `ECONNREFUSED`. */
  readonly code?: string;
  /** Override of `isLastingReason`; undefined to use the result for the reason. */
  readonly isLasting?: boolean;
  /** UID of the service account on the target, if it differs from the expected one. */
  readonly accountUID?: string | undefined;
}

/** An error with a machine-readable reason. The message is one line for operators and contains no token. */
export class IssueError extends Error {
  override readonly name = 'IssueError';
  readonly reason: IssueErrorReason;
  /** Variable part of the message, which may name addresses and Secrets; may be empty. */
  readonly detail: string;
  readonly retryAfterMs?: number;
  readonly status?: Status;
  readonly code?: string;
  readonly accountUID?: string;
  /** True if only a change to the Cluster, its credential or the ManagedToken can end the failure, so a retry is pointless. */
  readonly isLasting: boolean;

  constructor(reason: IssueErrorReason, detail = '', options: IssueErrorOptions = {}) {
    const { status, code, accountUID, isLasting = isLastingReason(reason) } = options;
    const cleaned = cleanMessage(detail);
    super(cleaned === '' ? MEANINGS[reason] : `${MEANINGS[reason]}: ${cleaned}`);
    this.reason = reason;
    this.detail = cleaned;
    this.isLasting = isLasting;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
    if (status !== undefined) this.status = status;
    if (code !== undefined) this.code = code;
    if (accountUID !== undefined) this.accountUID = accountUID;
  }
}

/**
 * Waits for a response from the hub. If the request fails, throws the abort reason of an aborted `signal`, an IssueError unchanged, or any
 * other error as an IssueError with `reason`.
 */
export async function rethrowAsIssueError<T>(response: Promise<T>, reason: IssueErrorReason, signal: AbortSignal): Promise<T> {
  try {
    return await response;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof IssueError) throw error;
    const waitMs = retryAfterMsOf(error);
    const status = error instanceof StatusError ? error.status : undefined;
    const options = omitUndefined({ retryAfterMs: waitMs, status });
    throw new IssueError(reason, error instanceof Error ? error.message : '', options);
  }
}

/** Returns the result of `read`; undefined if `read` throws an IssueError, because such errors are reported elsewhere. */
export function ignoreIssueError<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof IssueError) return undefined;
    throw error;
  }
}

/** Returns the error if it is an IssueError. Throws the reason of `signal` if it is aborted, and any other error unchanged. */
export function toIssueError(error: unknown, signal: AbortSignal): IssueError {
  signal.throwIfAborted();
  if (!(error instanceof IssueError)) throw error;
  return error;
}

/** Returns whether failures with this reason last until an object changes. */
export function isLastingReason(reason: string): boolean {
  return LASTING_REASONS.has(reason);
}

const LASTING_REASONS: ReadonlySet<string> = new Set<IssueErrorReason>([
  'CredentialMissing',
  'CredentialNotForCluster',
  'EndpointNotPinned',
  'CANotPinned',
  'NamespaceNotAllowed',
  'AudienceNotAccepted',
  'InvalidSpec',
]);

const MEANINGS: Readonly<Record<IssueErrorReason, string>> = {
  ...FailureReason,
  ServiceAccountRecreated: IssueReason.ServiceAccountRecreated,
  InvalidSpec: ReadyReason.InvalidSpec,
};

/**
 * Converts a TransportError to an IssueError. With `usesSystemRoots`, the message names the missing caBundle if it may be the cause.
 */
export function toTransportFailure({ code, message }: TransportError, usesSystemRoots = false): IssueError {
  const cause = usesSystemRoots && UNKNOWN_ISSUER.test(code) ? `${NO_BUNDLE}: ${message}` : message;
  return new IssueError(toTransportReason(code), cause, { code });
}

/** Converts an error response to an IssueError. Keeps `status` only if the target rejected or throttled the request itself. */
export function toStatusFailure(error: StatusError): IssueError {
  const { code, message, status } = error;
  const reason = toStatusReason(code, message);
  const waitMs = retryAfterMsOf(error);
  const isRequestRejected = reason === 'RequestRejected' || reason === 'TargetThrottled';
  return new IssueError(reason, message, omitUndefined({ retryAfterMs: waitMs, status: isRequestRejected ? status : undefined }));
}

/** Redacts a secret that Purser sent and that the target may have copied into any field of its error. */
export function redactError({ status }: StatusError, secret: string): StatusError {
  return new StatusError(JSON.parse(redactSecret(JSON.stringify(status), secret)));
}

/** Returns whether the response reports that no API server is available: 502, 503 or 504. */
export function isOutage({ code }: StatusError): boolean {
  return code === 502 || code === 503 || code === 504;
}

/** Returns whether a request timed out, possibly while it waited for a connection. */
export function isTimeout(error: unknown): boolean {
  return error instanceof TransportError && error.code === 'ETIMEDOUT';
}

/** Returns whether an error means that the cluster rejects Purser's credential. */
export function isRejection(error: unknown): boolean {
  const failure = error instanceof StatusError ? toStatusFailure(error) : error;
  return failure instanceof IssueError && failure.reason === 'CredentialRejected';
}

/** Returns whether an error is a response from an available API server. */
export function isClusterResponse(error: unknown): boolean {
  return error instanceof StatusError && !isOutage(error);
}

/** Returns whether the request can be sent to another address: only if the server at this address did not receive it. */
export function canUseOtherAddress(error: unknown): boolean {
  if (error instanceof IssueError) return error.reason === 'AddressNotAllowed';
  return error instanceof TransportError && (NEVER_SENT_CODES.has(error.code) || isUnverified(error.code));
}

const NEVER_SENT_CODES: ReadonlySet<string> = new Set([
  ...Object.values(ProxyErrorCode),
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_ADDRESS_REFUSED',
]);
const TIMEOUTS: ReadonlySet<string> = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', ProxyErrorCode.timeout]);
const UNREADABLE_CODES = /^(EBADMSG|EMSGSIZE|HPE_\w+|UND_ERR_(HEADERS_OVERFLOW|RES_\w+|RESPONSE\w*|INVALID_ARG|NOT_SUPPORTED))$/;
/** Error codes of failed certificate verification, and of a server that does not use TLS. */
const UNVERIFIED_CODES =
  /CERT|^ERR_(TLS|SSL)_|^(EPROTO|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/;
/** Error codes for a certificate from an untrusted authority. */
const UNKNOWN_ISSUER = /SELF_SIGNED|^UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)|^CERT_UNTRUSTED$/;
const NO_BUNDLE = 'the Cluster has no caBundle, so Purser trusts only public certificate authorities';
/** Error codes of TLS alerts with which a server rejects Purser's client certificate. */
const CERTIFICATE_ALERT = /_ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA)$/;

function toTransportReason(code: string): IssueErrorReason {
  if (code === 'ERR_ADDRESS_REFUSED') return 'AddressNotAllowed';
  if (TIMEOUTS.has(code)) return 'ClusterTimeout';
  if (UNREADABLE_CODES.test(code)) return 'ResponseUntrusted';
  if (CERTIFICATE_ALERT.test(code)) return 'CredentialRejected';
  return isUnverified(code) ? 'TLSVerifyFailed' : 'ClusterUnreachable';
}

function isUnverified(code: string): boolean {
  return UNVERIFIED_CODES.test(code);
}

function toStatusReason(code: number, message: string): IssueErrorReason {
  if (code < 400) return 'ResponseUntrusted';
  if (code === 401) return 'CredentialRejected';
  if (code === 403) return toForbiddenReason(message);
  if (code === 429) return 'TargetThrottled';
  if (code === 504) return 'ClusterTimeout';
  return code < 500 ? 'RequestRejected' : 'TargetFailed';
}

/**
 * Returns the reason of a 403 response. Authorizers name the user and the verb in their message; admission plugins, which reject the
 * request itself, do not.
 */
function toForbiddenReason(message: string): IssueErrorReason {
  if (message.includes('User "system:anonymous"')) return 'CredentialRejected';
  return / cannot \S+ (resource|path) /.test(message) ? 'TargetForbidden' : 'RequestRejected';
}
