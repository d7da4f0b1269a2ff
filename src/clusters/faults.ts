// What goes wrong in a probe, sorted by what it says of the cluster.

import { StatusError } from '../kubernetes/status.ts';
import { isOutage, statusFailure } from '../targets/failure.ts';
import { IssueError, type IssueFailure } from '../targets/issue-error.ts';
import type { Fault, FaultReason } from './policy/conditions.ts';

/** The fault that an error of `/readyz` is. Throws what is no word of a target. */
export function faultOf(error: unknown): Fault {
  if (error instanceof StatusError) return refusalFault(error);
  if (!(error instanceof IssueError)) throw error;
  const { code = '', reason } = error;
  return { reason: CODES[code] ?? REASONS[reason] ?? 'Unreachable', detail: error.detail };
}

/** The fault that an error of a review is: what may be done there is not known, or known to be nothing. */
export function rightsFault(error: unknown): Fault {
  const { reason, detail } = faultOf(error);
  return { reason: reason === 'CredentialRejected' ? reason : 'RightsUnknown', detail };
}

/** By what the network says. */
const CODES: Readonly<Record<string, FaultReason>> = {
  ENOTFOUND: 'DNSFailed',
  EAI_AGAIN: 'DNSFailed',
  EAI_FAIL: 'DNSFailed',
  ECONNREFUSED: 'ConnectionRefused',
  // These are shortages of our own machine.
  EMFILE: 'ProbeFailed',
  ENFILE: 'ProbeFailed',
  ENOBUFS: 'ProbeFailed',
  ENOMEM: 'ProbeFailed',
  EADDRNOTAVAIL: 'ProbeFailed',
};

const REASONS: Readonly<Partial<Record<IssueFailure, FaultReason>>> = {
  ClusterTimeout: 'Timeout',
  TLSVerifyFailed: 'TLSVerifyFailed',
  AddressRefused: 'AddressRefused',
  AnswerUntrusted: 'AnswerUntrusted',
  CredentialMissing: 'CredentialMissing',
  CredentialRejected: 'CredentialRejected',
  CredentialNotForCluster: 'CredentialNotForCluster',
  EndpointNotPinned: 'EndpointNotPinned',
  CANotPinned: 'CANotPinned',
  TargetThrottled: 'Throttled',
  IdentityUnknown: 'RightsUnknown',
};

function refusalFault(error: StatusError): Fault {
  const detail = error.message;
  const { reason } = statusFailure(error);
  if (reason === 'CredentialRejected') return { reason, detail };
  if (reason === 'TargetThrottled') return { reason: 'Throttled', detail };
  if (error.code < 400 || error.code === 404) return { reason: 'AnswerUntrusted', detail };
  return { reason: isOutage(error) ? 'Unreachable' : 'NotReady', detail };
}
