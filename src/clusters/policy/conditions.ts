// From what went wrong in one probe to what it says about each aspect of the cluster.

import { type Finding, finding } from './findings.ts';

/** Something that went wrong in a probe. The detail is for people. */
export interface Fault {
  readonly reason: FaultReason;
  readonly detail: string;
}

export type FaultReason = keyof typeof CONCERNS;

/** What one probe says. */
export interface Reading {
  readonly reachable: Finding;
  readonly authorized: Finding;
  /** The summary: whether tokens can be issued. */
  readonly ready: Finding;
}

/** Reads a probe from its faults; without any, all is well. `scope` says where tokens can be issued; everywhere without. */
export function readingOf(faults: readonly Fault[], scope?: string): Reading {
  const of = (concern: Concern) => faults.find(({ reason }) => CONCERNS[reason] === concern);
  const reachable = reachableOf(of);
  const authorized = authorizedOf(of, reachable, scope);
  const serving = as('False', of('serving'));
  const all = [reachable, authorized, ...(serving ? [serving] : [])];
  const worst = all.find(({ status }) => status === 'False') ?? all.find(({ status }) => status === 'Unknown');
  return { reachable, authorized, ready: worst ?? finding('True', 'ClusterReady') };
}

/** Which question a fault answers. */
type Concern =
  /** Purser could not ask. */
  | 'asking'
  /** Nothing may be sent. */
  | 'registration'
  | 'connection'
  | 'credential'
  | 'rights'
  | 'serving';

const CONCERNS = {
  ProbeFailed: 'asking',
  CredentialMissing: 'registration',
  CredentialNotForCluster: 'registration',
  EndpointNotPinned: 'registration',
  CANotPinned: 'registration',
  DNSFailed: 'connection',
  ConnectionRefused: 'connection',
  Timeout: 'connection',
  TLSVerifyFailed: 'connection',
  AddressRefused: 'connection',
  AnswerUntrusted: 'connection',
  Unreachable: 'connection',
  CredentialRejected: 'credential',
  Forbidden: 'credential',
  RightsUnknown: 'rights',
  NotReady: 'serving',
  Throttled: 'serving',
} as const satisfies Readonly<Record<string, Concern>>;

type FaultOf = (concern: Concern) => Fault | undefined;

function reachableOf(of: FaultOf): Finding {
  const unprobed = of('registration') && finding('Unknown', 'NotProbed');
  return as('Unknown', of('asking')) ?? unprobed ?? as('False', of('connection')) ?? finding('True', 'Answering');
}

function authorizedOf(of: FaultOf, reachable: Finding, scope: string | undefined): Finding {
  const failed = as('Unknown', of('asking')) ?? as('False', of('registration'));
  if (failed !== undefined) return failed;
  if (reachable.status !== 'True') return finding('Unknown', 'NoAnswer');
  return as('False', of('credential')) ?? as('Unknown', of('rights')) ?? finding('True', 'RightsGranted', scope);
}

function as(status: Finding['status'], fault: Fault | undefined): Finding | undefined {
  return fault && finding(status, fault.reason, fault.detail);
}
