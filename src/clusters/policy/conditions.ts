// The conditions of a Cluster. To add one, add its name to ClusterConditionType in src/api/names.ts and a row to ROWS: health, status,
// events, metrics and the façade follow from that row, and tests compare it with the CRD and docs/troubleshooting.md. The message of a
// condition names the cause, then the remedy; REMEDIES at the end has one for each reason except those in SuccessReason.

import { ClusterConditionType as Type } from '../../api/names.ts';
import { ClusterReason } from '../../api/reasons.ts';
import { cleanMessage } from '../../std/clean-message.ts';
import { toSentence } from '../../std/sentence.ts';
import { formatTimestamp } from '../../std/timestamp.ts';
import type { RenewalFailure } from '../../targets/policy/renewal.ts';

/** A problem that a probe found. */
export interface Fault {
  readonly reason: FaultReason;
  /** Text of the error for operators; may be empty. */
  readonly detail: string;
  /** Remedy that overrides the one for the reason in REMEDIES; undefined for no override. */
  readonly remedy?: string;
}

/** Result of one probe. Add measurements as required fields: the compiler then reports where probes must supply them. */
export interface ProbeEvidence {
  readonly faults: readonly Fault[];
  /** Phrase about the namespaces in which tokens can be issued, such as `in 2 namespaces`; undefined for all, and if it is unknown. */
  readonly scope?: string | undefined;
}

/** Period in which a credential is valid, in milliseconds since 1970. */
export interface Validity {
  readonly startsAt?: number | undefined;
  /** Expiry; undefined for a credential that does not expire. */
  readonly expiresAt?: number | undefined;
}

/** Purser's credential for a cluster. */
export type CredentialEvidence =
  /** The credential of Purser's own pod on the hub. */
  { readonly type: 'own' } | { readonly type: 'missing' } | FederatedEvidence | StoredEvidence;

/** Tokens that the hub issues for a service account. */
interface FederatedEvidence {
  readonly type: 'federated';
  /** Namespace and name of the service account on the hub. */
  readonly serviceAccount: string;
  /** Times of the last token, in milliseconds since 1970; undefined before the first token. */
  readonly times?: { readonly issuedAt: number; readonly renewAt: number; readonly expiresAt: number } | undefined;
  /** Failure to obtain a token from the hub, even while an earlier token is valid; undefined if there is none. */
  readonly failure?: HubTokenFailure;
}

/** A failure to obtain a token from the hub: a failed request, or an unusable credential Secret. */
export interface HubTokenFailure {
  readonly reason: Extract<ClusterReason, 'CredentialMissing' | 'HubTokenForbidden' | 'HubTokenFailed'>;
  /** Text of the error for operators; may be empty. */
  readonly detail: string;
}

/** A credential in a Secret. */
export interface StoredEvidence {
  readonly type: 'stored';
  /** Validity of the credential; undefined if it is unknown. */
  readonly validity: Validity | undefined;
  /** Time of the next renewal, in milliseconds since 1970; undefined for a credential that Purser does not renew. */
  readonly renewAt?: number | undefined;
  /** True for a token that Purser did not obtain itself and is about to replace. */
  readonly isSupplied?: boolean;
  /** Failure of a renewal, or of a later step such as a revocation; undefined if there is none. */
  readonly failure?: RenewalFailure;
  /** True if probes find that the cluster rejects the credential. */
  readonly isRejected?: boolean;
  /** Name of the Cluster, for the command that renews the credential; undefined if Purser cannot renew it, as for a client certificate. */
  readonly cluster?: string;
}

interface ConditionRow {
  /** Meaning of the status True, without a capital letter or full stop, for the documentation and the table columns. */
  readonly meaning: string;
  /** Changes that are recorded as events: all, those from and to False, or none; see `deriveEvents`. */
  readonly events: 'all' | 'failures' | 'none';
}

/** Returns the finding of another condition; undefined if probes do not evaluate it. */
type FindingOf = (type: string) => Finding | undefined;

/** A condition that is evaluated after each probe; after the first probe, a transition needs two probes in a row. */
export interface ProbedRow extends ConditionRow {
  /** True if the cluster is Ready only while this condition is True. */
  readonly isNeededForReady: boolean;
  readonly evaluateProbe: (evidence: ProbeEvidence, of: FindingOf) => Finding;
}

/** A condition that is evaluated from the credential in each reconcile. */
interface CredentialRow extends ConditionRow {
  readonly evaluateCredential: (credential: CredentialEvidence, now: number) => Finding;
}

/** Conditions by type. If a name in ClusterConditionType has no row here, the code does not compile. */
const ROWS: Readonly<Record<(typeof Type)[keyof typeof Type], ProbedRow | CredentialRow>> = {
  Ready: {
    meaning: 'tokens can be issued for the cluster',
    events: 'all',
    isNeededForReady: false,
    evaluateProbe: evaluateReady,
  },
  Reachable: {
    meaning: "the cluster's API server responds",
    // Events about Ready report the same transitions.
    events: 'none',
    isNeededForReady: true,
    evaluateProbe: evaluateReachable,
  },
  Authorized: {
    meaning: "the cluster accepts Purser's credential and permits it to issue tokens",
    events: 'none',
    isNeededForReady: true,
    evaluateProbe: evaluateAuthorized,
  },
  CredentialFresh: {
    meaning:
      "Purser's credential does not expire soon, its last renewal did not fail, and the cluster has not rejected it (if it is stored)",
    events: 'failures',
    evaluateCredential: evaluateCredentialFresh,
  },
};

/** The conditions by type, in the order in which the status lists them. */
export const clusterConditions = new Map<string, ProbedRow | CredentialRow>(Object.entries(ROWS));

/** Findings by the type of their condition. */
export type Findings = ReadonlyMap<string, Finding>;

/** Returns the types of the conditions that probes evaluate. */
export function listProbedTypes(): readonly string[] {
  return [...clusterConditions].flatMap(([type, row]) => ('evaluateProbe' in row ? [type] : []));
}

/** Evaluates the conditions that depend on a probe, each of them once. */
export function evaluateProbe(evidence: ProbeEvidence): Findings {
  const findings = new Map<string, Finding>();
  const of = (type: string): Finding | undefined => {
    const known = findings.get(type);
    const row = clusterConditions.get(type);
    if (known !== undefined || row === undefined || !('evaluateProbe' in row)) return known;
    const found = row.evaluateProbe(evidence, of);
    findings.set(type, found);
    return found;
  };
  for (const type of clusterConditions.keys()) of(type);
  return findings;
}

/** Evaluates the conditions that depend only on the credential. */
export function evaluateCredential(credential: CredentialEvidence, now: number): Findings {
  return new Map(
    [...clusterConditions].flatMap(([type, row]) =>
      'evaluateCredential' in row ? [[type, row.evaluateCredential(credential, now)] as const] : [],
    ),
  );
}

/** The part of a registration or request that a fault concerns. */
type Concern =
  /** Probe that Purser was unable to send. */
  | 'probe'
  /** Registration that is not usable, or for which the hub issues no token; Purser does not probe the cluster. */
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
  EndpointConflict: 'registration',
  HubTokenForbidden: 'registration',
  HubTokenFailed: 'registration',
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

/** Returns a finding with this status for the first fault of this concern; undefined if there is none. */
function findingFor({ faults }: ProbeEvidence, concern: Concern, status: Finding['status']): Finding | undefined {
  const fault = faults.find(({ reason }) => CONCERNS[reason] === concern);
  return fault && toFinding(status, fault.reason, fault.detail, fault.remedy);
}

function evaluateReady(evidence: ProbeEvidence, of: FindingOf): Finding {
  const needed = [...clusterConditions].flatMap(([type, row]) => ('evaluateProbe' in row && row.isNeededForReady ? (of(type) ?? []) : []));
  const own = findingFor(evidence, 'readiness', 'False') ?? toFinding('True', 'ClusterReady');
  const all = [...needed, own];
  return all.find(({ status }) => status === 'False') ?? all.find(({ status }) => status === 'Unknown') ?? own;
}

function evaluateReachable(evidence: ProbeEvidence): Finding {
  const unprobed = findingFor(evidence, 'registration', 'Unknown') && toFinding('Unknown', 'NotProbed');
  return (
    findingFor(evidence, 'probe', 'Unknown') ?? unprobed ?? findingFor(evidence, 'connection', 'False') ?? toFinding('True', 'Responding')
  );
}

function evaluateAuthorized(evidence: ProbeEvidence, of: FindingOf): Finding {
  const failed = findingFor(evidence, 'probe', 'Unknown') ?? findingFor(evidence, 'registration', 'False');
  if (failed !== undefined) return failed;
  if (of(Type.reachable)?.status !== 'True') return toFinding('Unknown', 'NoResponse');
  return (
    findingFor(evidence, 'credential', 'False') ??
    findingFor(evidence, 'permissions', 'Unknown') ??
    toFinding('True', 'PermissionsGranted', evidence.scope)
  );
}

function evaluateCredentialFresh(credential: CredentialEvidence, now: number): Finding {
  if (credential.type === 'own') return createFinding('True', 'CredentialValid', "Purser uses its own service account's token on the hub");
  if (credential.type === 'missing') return toFinding('Unknown', 'CredentialMissing');
  return credential.type === 'federated' ? evaluateFederated(credential, now) : evaluateStored(credential, now);
}

function evaluateStored(credential: StoredEvidence, now: number): Finding {
  const { validity, failure } = credential;
  const expiresAt = validity?.expiresAt;
  if (expiresAt !== undefined && expiresAt <= now) return toExpiredFinding(credential, expiresAt);
  if (failure !== undefined) return toRenewalFinding(failure, expiresAt);
  if (credential.isRejected === true) return toFinding('False', 'CredentialRejected');
  if (validity === undefined) return toFinding('Unknown', 'ExpiryUnknown');
  const valid = credential.isSupplied === true ? 'CredentialRenewalPending' : 'CredentialValid';
  if (expiresAt === undefined) return createFinding('True', valid, `the credential does not expire${formatRenewalNote(credential, now)}`);
  const expiry = formatTimestamp(expiresAt);
  return expiresAt - now <= computeWarningMs(validity)
    ? createFinding('False', 'CredentialExpiring', `the credential expires at ${expiry}`)
    : createFinding('True', valid, `the credential is valid until ${expiry}${formatRenewalNote(credential, now)}`);
}

function evaluateFederated({ serviceAccount, times, failure }: FederatedEvidence, now: number): Finding {
  if (failure !== undefined) return toRenewalFinding(failure, times !== undefined && times.expiresAt > now ? times.expiresAt : undefined);
  return createFinding(
    'True',
    'CredentialValid',
    `no credential is stored; Purser requests tokens for service account ${serviceAccount} from the hub`,
  );
}

function toExpiredFinding({ cluster }: StoredEvidence, expiresAt: number): Finding {
  const cause = `the credential expired at ${formatTimestamp(expiresAt)}`;
  return createFinding('False', 'CredentialExpired', cause, cluster === undefined ? undefined : formatRenewRemedy(cluster));
}

/**
 * Returns the finding of a failed renewal or a failed later step. `expiresAt` is the expiry of the credential in use; undefined if the
 * credential does not expire or has expired, or if its expiry is unknown.
 */
function toRenewalFinding({ reason, detail }: RenewalFailure | HubTokenFailure, expiresAt: number | undefined): Finding {
  const expiry = expiresAt === undefined ? '' : `the credential in use expires at ${formatTimestamp(expiresAt)}`;
  return toFinding('False', reason, [detail, expiry].filter(Boolean).join('; '));
}

/** Returns the end of a sentence about the next renewal; empty if there is none. */
function formatRenewalNote({ renewAt }: StoredEvidence, now: number): string {
  if (renewAt === undefined) return '';
  return renewAt <= now ? '; renewal is due' : `; next renewal at ${formatTimestamp(renewAt)}`;
}

const WARNING_SHARE = 0.2;
const MAX_WARNING_MS = 30 * 24 * 3_600_000;

/**
 * Returns the length of the period before expiry in which a credential is no longer fresh, in milliseconds: 20% of the lifetime, at most 30
 * days; 30 days if the start is unknown.
 */
function computeWarningMs({ startsAt, expiresAt = 0 }: Validity): number {
  if (startsAt === undefined) return MAX_WARNING_MS;
  return Math.min(Math.max(expiresAt - startsAt, 0) * WARNING_SHARE, MAX_WARNING_MS);
}

/** The content of one condition. */
export interface Finding {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: ClusterReason;
  readonly message: string;
}

/**
 * Returns a finding whose message has the sentence of the reason and the detail. Unless the status is True, the message ends with the
 * remedy, by default that of the reason.
 */
export function toFinding(status: Finding['status'], reason: ClusterReason, detail = '', remedy?: string): Finding {
  return createFinding(status, reason, detail === '' ? ClusterReason[reason] : `${ClusterReason[reason]}: ${cleanMessage(detail)}`, remedy);
}

/** Returns a finding whose message starts with the cause. Unless the status is True, the message ends with the remedy. */
function createFinding(status: Finding['status'], reason: ClusterReason, cause: string, remedy = REMEDIES[reason]): Finding {
  const hasRemedy = remedy !== undefined && status !== 'True';
  return { status, reason, message: hasRemedy ? `${toSentence(cause)} ${toSentence(remedy)}` : toSentence(cause) };
}

/** Returns whether two findings have the same status and reason; their messages may differ. */
export function isSameFinding(a: Pick<Finding, 'status' | 'reason'>, b: Pick<Finding, 'status' | 'reason'>): boolean {
  return a.status === b.status && a.reason === b.reason;
}

/** Returns the remedy for an expired service account token: the command that renews it, or a new credential. */
function formatRenewRemedy(cluster: string): string {
  return `if spec.credential.renewal is Auto, run purser cluster renew ${cluster} --context CONTEXT; otherwise, ${NEW_CREDENTIAL}`;
}

const NEW_CREDENTIAL = 'write a new credential to the Secret that spec.authInfo.controller references';

const PROXY_URL = 'the URL in the proxy key of the Secret that spec.authInfo.controller references, or in HTTPS_PROXY';

/** Reasons of conditions whose status is True. */
type SuccessReason = 'ClusterReady' | 'Responding' | 'PermissionsGranted' | 'CredentialValid' | 'CredentialRenewalPending';

/** Remedies by reason. The compiler reports a reason that is neither here nor in SuccessReason. */
const REMEDIES: Readonly<Partial<Record<ClusterReason, string>>> = {
  CredentialExpiring: NEW_CREDENTIAL,
  CredentialExpired: NEW_CREDENTIAL,
  CredentialRenewalFailed:
    'Purser retries; if the failure persists, write a new credential to the Secret that spec.authInfo.controller references',
  CredentialRenewalForbidden:
    'apply deploy/target/access.yaml to the cluster, or allow the service account to create tokens for itself, or set spec.credential.renewal to Manual',
  CredentialRenewalUntrusted: "check that serverEndpoints points to the cluster's API server, not to a proxy that issues other tokens",
  CredentialNotStored:
    "check that Purser may create, update and delete Secrets in the credential's namespace, and that the Secret with the suffix -renewed is neither immutable nor owned by another tool",
  CredentialNotRetired:
    'write a token that the cluster accepts to the Secret that spec.authInfo.controller references, or set spec.credential.renewal to Auto',
  CredentialNotRevoked:
    "if a permission is missing, apply deploy/target/access.yaml to the cluster; if spec.credential.renewal is Manual, set it to Auto; to revoke all tokens of Purser's service account, run purser cluster revoke NAME --context CONTEXT",
  ExpiryUnknown: 'keep track of the expiry yourself, or use a token that contains its expiry',
  DNSFailed: 'check the host name in serverEndpoints, and the DNS that Purser uses',
  ConnectionRefused: 'check that the API server is running, and that serverEndpoints has the correct port',
  Timeout: 'check that the API server is running, and that firewalls allow connections from Purser',
  TLSVerifyFailed:
    "set caBundle to the cluster's certificate authority, and check that the certificate is valid for the address in serverEndpoints",
  AddressNotAllowed:
    'set serverEndpoints to an https URL without user, query or fragment; Purser connects to loopback addresses only with --allow-loopback, and never to link-local, multicast or reserved addresses, or to metadata services',
  ResponseUntrusted: 'check that serverEndpoints points to a Kubernetes API server',
  Unreachable: 'check that the API server is running, and check the network between the API server and Purser',
  ProxyUnreachable: `check that the proxy is running, and check its certificate and ${PROXY_URL}`,
  ProxyRejected: `check that the proxy allows connections to the address in serverEndpoints; check the user and password in ${PROXY_URL}`,
  CredentialMissing:
    'correct spec.authInfo.controller, or the Secret that it references, which needs the keys token (or serviceAccount, or tls.crt and tls.key), server, ca.crt and cluster',
  CredentialRejected: 'write a credential that the cluster accepts to the Secret that spec.authInfo.controller references',
  CredentialNotForCluster:
    'create the Secret that spec.authInfo.controller references, or add the name of the Cluster to the cluster key of the Secret if the Cluster may use the credential',
  EndpointNotPinned: 'add the address to the server key of the Secret if the credential may be sent there',
  CANotPinned:
    "set caBundle and the ca.crt key of the Secret to the cluster's certificate authority or, for a public certificate authority, omit caBundle and set ca.crt to the word system",
  EndpointConflict:
    'remove the address from the server key of the other Secret; to use one Secret for several Clusters, list them in its cluster key',
  HubTokenForbidden:
    'apply the output of purser print hub-rbac --service-account NAME to the hub, where NAME is the service account in the Secret',
  HubTokenFailed: "check that the service account that the Secret names exists in Purser's namespace on the hub, and that the hub responds",
  Forbidden:
    'apply deploy/target/access.yaml to the cluster; to limit Purser to some namespaces, list them in the namespaces key of the Secret, and apply the output of purser print target-rbac --namespaces NAMESPACES',
  PermissionsUnknown: 'allow the service account to create selfsubjectreviews and selfsubjectaccessreviews, as system:basic-user does',
  NotReady: "run kubectl get --raw '/readyz?verbose' --context CONTEXT, where CONTEXT is a context of the cluster",
  Throttled: 'check the API Priority and Fairness settings of the cluster for the user that Purser authenticates as',
  NotProbed: 'see the Authorized condition',
  NoResponse: 'see the Reachable condition',
  ProbeFailed: "check Purser's log and resource limits",
} satisfies Readonly<Record<Exclude<ClusterReason, SuccessReason>, string>>;
