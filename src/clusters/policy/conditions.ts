// The conditions of a Cluster. Health, status, events and documentation derive from the table CLUSTER_CONDITIONS: a new condition
// needs a name in ClusterConditionType and a row in this table.

import type { ClusterConditionType } from '../../api/names.ts';
import { formatTimestamp } from '../../std/timestamp.ts';
import { type Finding, finding, findingOf } from './findings.ts';

export type ConditionType = (typeof ClusterConditionType)[keyof typeof ClusterConditionType];

/** A problem that a probe found. */
export interface Fault {
  readonly reason: FaultReason;
  /** Text of the error for operators; may be empty. */
  readonly detail: string;
}

/** The result of one probe. */
export interface ProbeEvidence {
  readonly faults: readonly Fault[];
  /** Namespaces in which tokens can be issued, such as `in 2 namespaces`; undefined for all. */
  readonly scope?: string | undefined;
}

/** Period in which a credential is valid, in milliseconds since 1970. */
export interface Validity {
  readonly startsAt?: number | undefined;
  /** Undefined for a credential that does not expire. */
  readonly expiresAt?: number | undefined;
}

/** Purser's credential for a cluster. */
export type CredentialEvidence =
  /** The credential of Purser's own pod on the hub. */
  | { readonly type: 'own' }
  | { readonly type: 'missing' }
  /** `validity` is undefined for a token that is not a JWT. */
  | { readonly type: 'stored'; readonly validity: Validity | undefined };

interface ConditionRow {
  /** Meaning of the status True, for the documentation. */
  readonly meaning: string;
  /** Transitions that are recorded as events: all, those from and to False, or none. */
  readonly events: 'all' | 'failures' | 'none';
}

/** Returns the finding of another condition; undefined if probes do not evaluate it. */
type FindingOf = (type: ConditionType) => Finding | undefined;

/** A condition that is evaluated after each probe; a transition needs two probes in a row. */
interface ProbedRow extends ConditionRow {
  /** True if the cluster is Ready only while this condition is True. */
  readonly isNeededForReady: boolean;
  readonly evaluateProbe: (evidence: ProbeEvidence, of: FindingOf) => Finding;
}

/** A condition that is evaluated from the credential in each reconcile. */
interface CredentialRow extends ConditionRow {
  readonly evaluateCredential: (credential: CredentialEvidence, now: number) => Finding;
}

/** The conditions in the order in which the status lists them. */
export const CLUSTER_CONDITIONS: Readonly<Record<ConditionType, ProbedRow | CredentialRow>> = {
  Ready: {
    meaning: 'tokens can be issued for the cluster',
    events: 'all',
    isNeededForReady: false,
    evaluateProbe: evaluateReady,
  },
  Reachable: {
    meaning: 'the API server of the cluster responds',
    // Ready changes with Reachable.
    events: 'none',
    isNeededForReady: true,
    evaluateProbe: evaluateReachable,
  },
  Authorized: {
    meaning: "the cluster accepts Purser's credential, which is permitted to issue tokens",
    events: 'none',
    isNeededForReady: true,
    evaluateProbe: evaluateAuthorized,
  },
  CredentialFresh: {
    meaning: "Purser's credential does not expire soon",
    events: 'failures',
    evaluateCredential: evaluateCredentialFresh,
  },
};

/** The types of all conditions, in the order of the status. */
export const CONDITION_TYPES = Object.keys(CLUSTER_CONDITIONS) as readonly ConditionType[];

const PROBED = CONDITION_TYPES.flatMap((type) => {
  const row = CLUSTER_CONDITIONS[type];
  return 'evaluateProbe' in row ? [{ type, ...row }] : [];
});

/** The types of the conditions that probes evaluate. */
export const PROBED_TYPES = PROBED.map(({ type }) => type);

/** Findings of one probe, by the types in PROBED_TYPES. */
export type ProbeFindings = ReadonlyMap<ConditionType, Finding>;

/** Evaluates the conditions that depend on a probe, each of them once. */
export function evaluateProbe(evidence: ProbeEvidence): ProbeFindings {
  const findings = new Map<ConditionType, Finding>();
  const of = (wanted: ConditionType): Finding | undefined => {
    const row = PROBED.find(({ type }) => type === wanted);
    const found = findings.get(wanted) ?? row?.evaluateProbe(evidence, of);
    if (found !== undefined) findings.set(wanted, found);
    return found;
  };
  for (const type of PROBED_TYPES) of(type);
  return findings;
}

/** Evaluates the conditions that depend only on the credential. */
export function evaluateCredential(credential: CredentialEvidence, now: number): ReadonlyMap<ConditionType, Finding> {
  return new Map(
    Object.entries(CLUSTER_CONDITIONS).flatMap(([type, row]) =>
      'evaluateCredential' in row ? [[type as ConditionType, row.evaluateCredential(credential, now)] as const] : [],
    ),
  );
}

/** The part of a registration or request that a fault concerns. */
type Concern =
  /** Purser was unable to send the probe. */
  | 'probe'
  /** The registration does not allow a probe. */
  | 'registration'
  | 'connection'
  | 'credential'
  | 'permissions'
  | 'readiness';

const CONCERNS = {
  ProbeFailed: 'probe',
  CredentialMissing: 'registration',
  CredentialNotForCluster: 'registration',
  EndpointNotPinned: 'registration',
  CANotPinned: 'registration',
  DNSFailed: 'connection',
  ConnectionRefused: 'connection',
  Timeout: 'connection',
  TLSVerifyFailed: 'connection',
  AddressNotAllowed: 'connection',
  ResponseUntrusted: 'connection',
  Unreachable: 'connection',
  ProxyUnreachable: 'connection',
  ProxyRejected: 'connection',
  CredentialRejected: 'credential',
  Forbidden: 'credential',
  PermissionsUnknown: 'permissions',
  NotReady: 'readiness',
  Throttled: 'readiness',
} as const satisfies Readonly<Record<string, Concern>>;

export type FaultReason = keyof typeof CONCERNS;

/** Returns the finding of the first fault with this concern; undefined without one. */
function findingFor({ faults }: ProbeEvidence, concern: Concern, status: Finding['status']): Finding | undefined {
  const fault = faults.find(({ reason }) => CONCERNS[reason] === concern);
  return fault && finding(status, fault.reason, fault.detail);
}

function evaluateReady(evidence: ProbeEvidence, of: FindingOf): Finding {
  const needed = PROBED.filter(({ isNeededForReady }) => isNeededForReady).flatMap(({ type }) => of(type) ?? []);
  const all = [...needed, findingFor(evidence, 'readiness', 'False') ?? finding('True', 'ClusterReady')];
  const worst = all.find(({ status }) => status === 'False') ?? all.find(({ status }) => status === 'Unknown');
  return worst ?? finding('True', 'ClusterReady');
}

function evaluateReachable(evidence: ProbeEvidence): Finding {
  const unprobed = findingFor(evidence, 'registration', 'Unknown') && finding('Unknown', 'NotProbed');
  return (
    findingFor(evidence, 'probe', 'Unknown') ?? unprobed ?? findingFor(evidence, 'connection', 'False') ?? finding('True', 'Responding')
  );
}

function evaluateAuthorized(evidence: ProbeEvidence, of: FindingOf): Finding {
  const failed = findingFor(evidence, 'probe', 'Unknown') ?? findingFor(evidence, 'registration', 'False');
  if (failed !== undefined) return failed;
  if (of('Reachable')?.status !== 'True') return finding('Unknown', 'NoResponse');
  return (
    findingFor(evidence, 'credential', 'False') ??
    findingFor(evidence, 'permissions', 'Unknown') ??
    finding('True', 'PermissionsGranted', evidence.scope)
  );
}

function evaluateCredentialFresh(credential: CredentialEvidence, now: number): Finding {
  if (credential.type === 'own') return findingOf('True', 'CredentialValid', "Purser uses its own service account's token on the hub");
  if (credential.type === 'missing') return finding('Unknown', 'CredentialMissing');
  const { validity } = credential;
  if (validity === undefined) return finding('Unknown', 'ExpiryUnknown');
  const { expiresAt } = validity;
  if (expiresAt === undefined) return findingOf('True', 'CredentialValid', 'credential does not expire');
  const expiry = formatTimestamp(expiresAt);
  if (expiresAt <= now) return findingOf('False', 'CredentialExpired', `credential expired at ${expiry}`);
  return expiresAt - now <= warningMs(validity)
    ? findingOf('False', 'CredentialExpiring', `credential expires at ${expiry}`)
    : findingOf('True', 'CredentialValid', `credential is valid until ${expiry}`);
}

const WARNING_SHARE = 0.2;
const MAX_WARNING_MS = 30 * 24 * 3_600_000;

/** Returns the time before expiry at which a credential is no longer fresh: 20% of the lifetime, at most 30 days. */
function warningMs({ startsAt, expiresAt = 0 }: Validity): number {
  if (startsAt === undefined) return MAX_WARNING_MS;
  return Math.min(Math.max(expiresAt - startsAt, 0) * WARNING_SHARE, MAX_WARNING_MS);
}
