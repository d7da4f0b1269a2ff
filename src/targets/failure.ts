// Errors of the wire and refusals of a target, sorted by whom they concern: the network, our credential, or whoever asked.

import type { TransportError } from '../kube/transport-error.ts';
import { retryAfterMs } from '../kubernetes/retry-after.ts';
import { StatusError } from '../kubernetes/status.ts';
import { withoutSecret } from '../std/sensitive.ts';
import { IssueError, type IssueFailure } from './issue-error.ts';

/** The failure that a request without a usable answer is; with `usesSystemRoots` it says so where that may be why. */
export function transportFailure({ code, message }: TransportError, usesSystemRoots = false): IssueError {
  const cause = usesSystemRoots && UNKNOWN_ISSUER.test(code) ? `${NO_BUNDLE}: ${message}` : message;
  return new IssueError(transportReason(code), cause, { code });
}

/** The failure that a refusal is, whatever was asked; `status` goes with those that concern whoever asked. */
export function statusFailure(error: StatusError): IssueError {
  const { code, message, status } = error;
  const reason = statusReason(code, message);
  const askedMs = retryAfterMs(error);
  const isTheirs = reason === 'TargetRefused' || reason === 'TargetThrottled';
  return new IssueError(reason, message, { ...(askedMs !== undefined && { retryAfterMs: askedMs }), ...(isTheirs && { status }) });
}

/** The same refusal without a secret that we sent; the target may have written it into any field. */
export function redacted({ status }: StatusError, secret: string | undefined): StatusError {
  return new StatusError(JSON.parse(withoutSecret(JSON.stringify(status), secret)));
}

/** Whether a failure means that the request never left, so that another address can be tried with it. */
export function isNeverSent(code: string): boolean {
  return NEVER_SENT.has(code) || isUnverified(code);
}

/** Whether nobody is behind the address that answers: a proxy says so, or the server cannot serve at all. */
export function isOutage({ code }: StatusError): boolean {
  return code === 502 || code === 503 || code === 504;
}

const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_ADDRESS_REFUSED',
]);
const TIMEOUTS = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT']);
const UNREADABLE = /^(EBADMSG|EMSGSIZE|HPE_\w+|UND_ERR_(HEADERS_OVERFLOW|RES_\w+|RESPONSE\w*|INVALID_ARG|NOT_SUPPORTED))$/;
/** The codes of OpenSSL's verification, and those of a peer that does not speak TLS. */
const UNVERIFIED =
  /CERT|^ERR_(TLS|SSL)_|^(EPROTO|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/;
/** Those of a certificate that may be good, and that nobody known vouches for. */
const UNKNOWN_ISSUER = /SELF_SIGNED|^UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)|^CERT_UNTRUSTED$/;
const NO_BUNDLE = 'the Cluster has no caBundle, so the roots of the system were used. Set it if they do not know your authority';
/** What the other side says of our certificate. */
const CERTIFICATE_ALERT = /_ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA)$/;

function transportReason(code: string): IssueFailure {
  if (code === 'ERR_ADDRESS_REFUSED') return 'AddressRefused';
  if (TIMEOUTS.has(code)) return 'ClusterTimeout';
  if (UNREADABLE.test(code)) return 'AnswerUntrusted';
  if (CERTIFICATE_ALERT.test(code)) return 'CredentialRejected';
  return isUnverified(code) ? 'TLSVerifyFailed' : 'ClusterUnreachable';
}

function isUnverified(code: string): boolean {
  return UNVERIFIED.test(code);
}

function statusReason(code: number, message: string): IssueFailure {
  if (code < 400) return 'AnswerUntrusted';
  if (code === 401) return 'CredentialRejected';
  if (code === 403) return forbiddenReason(message);
  if (code === 429) return 'TargetThrottled';
  if (code === 504) return 'ClusterTimeout';
  return code < 500 ? 'TargetRefused' : 'TargetFailed';
}

/** Authorisation names the user and the verb; admission, which refuses what was asked for, does not. */
function forbiddenReason(message: string): IssueFailure {
  if (message.includes('User "system:anonymous"')) return 'CredentialRejected';
  return / cannot \S+ (resource|path) /.test(message) ? 'TargetForbidden' : 'TargetRefused';
}
