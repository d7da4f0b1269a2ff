import { describe, expect, it } from '@jest/globals';
import { TransportError } from '../../src/kube/transport-error.ts';
import { StatusError, type StatusReason } from '../../src/kubernetes/status.ts';
import { toStatusFailure, toTransportFailure } from '../../src/targets/issue-error.ts';

function errorResponse(code: number, message = 'no', more: { reason?: StatusReason; retryAfterSeconds?: number } = {}): StatusError {
  const { retryAfterSeconds, reason } = more;
  const details = retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } };
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    code,
    ...(reason && { reason }),
    ...details,
  });
}

describe('toTransportFailure', () => {
  it.each([
    ['DEPTH_ZERO_SELF_SIGNED_CERT', true],
    ['SELF_SIGNED_CERT_IN_CHAIN', true],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', true],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', true],
    ['CERT_HAS_EXPIRED', false],
    ['ERR_TLS_CERT_ALTNAME_INVALID', false],
    ['ECONNREFUSED', false],
  ])('mentions the missing caBundle for %s: %s', (code, isMentioned) => {
    const error = new TransportError(code, 'what happened');
    expect(toTransportFailure(error, true).message.includes('the Cluster has no caBundle')).toBe(isMentioned);
    expect(toTransportFailure(error).message).not.toContain('caBundle');
  });

  it.each([
    ['ECONNREFUSED', 'ClusterUnreachable'],
    ['ECONNRESET', 'ClusterUnreachable'],
    ['ENOTFOUND', 'ClusterUnreachable'],
    ['UND_ERR_SOCKET', 'ClusterUnreachable'],
    ['UNKNOWN', 'ClusterUnreachable'],
    ['ETIMEDOUT', 'ClusterTimeout'],
    ['UND_ERR_CONNECT_TIMEOUT', 'ClusterTimeout'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'TLSVerifyFailed'],
    ['CERT_HAS_EXPIRED', 'TLSVerifyFailed'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'TLSVerifyFailed'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'TLSVerifyFailed'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'TLSVerifyFailed'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'TLSVerifyFailed'],
    ['ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', 'TLSVerifyFailed'],
    ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', 'CredentialRejected'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'CredentialRejected'],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'CredentialRejected'],
    ['ERR_ADDRESS_REFUSED', 'AddressNotAllowed'],
    ['EMSGSIZE', 'ResponseUntrusted'],
    ['EBADMSG', 'ResponseUntrusted'],
    ['HPE_INVALID_CONSTANT', 'ResponseUntrusted'],
    ['UND_ERR_HEADERS_OVERFLOW', 'ResponseUntrusted'],
  ])('converts %s to %s', (code, reason) => {
    expect(toTransportFailure(new TransportError(code, 'what happened'))).toMatchObject({
      reason,
      message: expect.stringMatching(/: what happened$/),
    });
  });
});

describe('toStatusFailure', () => {
  it.each([
    [307, 'the server redirects (307)', 'ResponseUntrusted'],
    [400, 'cannot bind token', 'RequestRejected'],
    [401, 'Unauthorized', 'CredentialRejected'],
    [403, 'serviceaccounts "a" is forbidden: User "system:anonymous" cannot create resource "serviceaccounts/token"', 'CredentialRejected'],
    [403, 'serviceaccounts "a" is forbidden: User "x" cannot create resource "serviceaccounts/token" in API group ""', 'TargetForbidden'],
    [
      403,
      'serviceaccounts "a" is forbidden: unable to create new content in namespace x because it is being terminated',
      'RequestRejected',
    ],
    [403, 'admission webhook "policy.example.com" denied the request', 'RequestRejected'],
    [404, 'the server could not find the requested resource', 'RequestRejected'],
    [422, 'is invalid', 'RequestRejected'],
    [429, 'too many', 'TargetThrottled'],
    [500, 'Internal error occurred', 'TargetFailed'],
    [503, 'apiserver is shutting down', 'TargetFailed'],
    [504, 'Timeout', 'ClusterTimeout'],
  ])('converts %i "%s" to %s', (code, message, reason) => {
    expect(toStatusFailure(errorResponse(code, message))).toMatchObject({ reason });
  });

  it.each([
    ['Retry-After of 30 s in a 429', 429, 30, 30_000],
    ['Retry-After of 0 s in a 429', 429, 0, 1_000],
    ['a 429 without Retry-After', 429, undefined, 1_000],
    ['Retry-After of a day in a 429', 429, 86_400, 300_000],
    ['Retry-After of 7 s in a 503', 503, 7, 7_000],
    ['a 503 without Retry-After', 503, undefined, undefined],
  ])('returns the time until the next request for %s', (_, code, retryAfterSeconds, retryAfterMs) => {
    const failure = toStatusFailure(errorResponse(code, 'no', retryAfterSeconds === undefined ? {} : { retryAfterSeconds }));
    expect(failure.retryAfterMs).toBe(retryAfterMs);
  });

  it('keeps the Status only of errors that the request caused', () => {
    expect(toStatusFailure(errorResponse(422, 'is invalid')).status).toMatchObject({ code: 422, message: 'is invalid' });
    expect(toStatusFailure(errorResponse(401)).status).toBeUndefined();
    expect(toStatusFailure(errorResponse(403, 'User "x" cannot create resource "y"')).status).toBeUndefined();
    expect(toStatusFailure(errorResponse(500)).status).toBeUndefined();
  });
});
