// Messages for tenants, in conditions and events of ManagedTokens. Each is one of a fixed set of sentences with values of the
// ManagedToken's own spec and, for a few reasons, the redacted response from an API server. Addresses, certificates, the names of
// credential Secrets, Purser's user names and network errors are only in the log and in the conditions of the Cluster, for administrators.

import { Annotation, Label, RegistryGroup } from '../../api/names.ts';
import { AlertReason, FailureReason, ReadyReason } from '../../api/reasons.ts';
import { toServiceAccountUsername } from '../../kubernetes/service-account.ts';
import { cleanMessage } from '../../std/clean-message.ts';
import { toSentence } from '../../std/sentence.ts';
import { toAnchorName } from '../../targets/policy/grant.ts';
import { outputsForAPI } from '../outputs/outputs.ts';
import type { AnchorLocation } from './anchors.ts';
import type { SecretConflict } from './secret.ts';
import type { StoredToken } from './spec.ts';

/** Failure of a ManagedToken, as its conditions and events report it. */
export interface TokenFailure {
  readonly reason:
    | FailureReason
    | 'Forbidden'
    | 'SecretConflict'
    | 'InvalidSpec'
    | 'WithdrawalPending'
    | 'MassWithdrawal'
    | 'RemovalDelayed';
  /** Cause and remedy, for users. */
  readonly message: string;
}

/**
 * Returns the failure for a reason. `response` is the message from an API server about the requested object; the failure quotes a redacted
 * copy for the reasons in RELAYED_REASONS, and no part of it for other reasons.
 */
export function tokenFailure(reason: FailureReason, token: StoredToken, response = ''): TokenFailure {
  const text = OWN_TEXTS[reason]?.(token) ?? FailureReason[reason];
  const relayed = RELAYED_REASONS.has(reason) ? redactResponse(response, token) : '';
  const remedy = isClusterFailure(reason)
    ? ` An administrator can find the cause in the conditions of Cluster ${token.spec.clusterName} or in Purser's log.`
    : '';
  return { reason, message: `${toSentence(relayed === '' ? text : `${text}: ${relayed}`)}${remedy}` };
}

/**
 * Returns the message for a requester without permission; `issueName` is the most specific name of the permission. `protection` is the
 * reason why a less specific name is not enough, or empty.
 */
export function formatForbiddenMessage(token: StoredToken, issueName: string, protection = ''): string {
  const missing = `User "${requesterSubject(token)}" cannot issue clusters/token "${issueName}" in ${RegistryGroup}.`;
  const remedy = 'Grant the permission with a ClusterRole and a ClusterRoleBinding, or change the spec.';
  return protection === '' ? `${missing} ${remedy}` : `${missing} ${remedy} ${toSentence(protection)}`;
}

export function formatMissingRequesterMessage({ metadata, spec }: StoredToken): string {
  return `Service account ${metadata.namespace}/${spec.requesterServiceAccountName}, which requests the token, does not exist. Create it, or change spec.requesterServiceAccountName.`;
}

/**
 * Returns the message of a failure for conditions and events. Messages that quote a response or the spec are shortened; Purser's own
 * messages stay complete up to MAX_OWN_CHARS, so that they include the remedy.
 */
export function formatFailure({ reason, message }: TokenFailure): string {
  return QUOTING_REASONS.has(reason) ? cleanMessage(message) : cleanMessage(message, MAX_OWN_CHARS);
}

/** Maximum length of Purser's own messages, in characters: the limit of events. */
const MAX_OWN_CHARS = 1_024;

/** Returns the failure of an invalid spec; `problems` name only fields and values of the spec. */
export function invalidSpecFailure(problems: readonly string[]): TokenFailure {
  const texts = problems.join('; ');
  return { reason: 'InvalidSpec', message: toSentence(texts === '' ? ReadyReason.InvalidSpec : `${ReadyReason.InvalidSpec}: ${texts}`) };
}

export function secretConflictFailure({ name, owner, isClaimed, isTooLarge, isOverBudget }: SecretConflict): TokenFailure {
  const remedy = 'Choose another spec.secret.name.';
  const message = (() => {
    if (isTooLarge) return `The metadata of Secret ${name} exceeds 96 KiB. Remove labels and annotations that Purser did not set.`;
    if (isOverBudget) return `Purser does not write Secret ${name}, because ${OVER_BUDGET}`;
    if (owner === undefined) return `The ManagedToken does not own Secret ${name}. Delete the Secret, or choose another spec.secret.name.`;
    if (isClaimed) return `The older ManagedToken ${owner} also uses Secret ${name}. ${remedy}`;
    return `ManagedToken ${owner} owns Secret ${name}. ${remedy}`;
  })();
  return { reason: 'SecretConflict', message };
}

const OVER_BUDGET = `the Secrets of ManagedTokens in the namespace take too much memory. Delete unused Secrets with the label ${Label.managedBy}.`;

/** Returns the failure of a removal that a limit delays or pauses; `forbidden` is the message of the refusal. */
export function heldRemovalFailure(reason: 'MassWithdrawal' | 'RemovalDelayed', forbidden: string): TokenFailure {
  return { reason, message: `${toSentence(AlertReason[reason])} ${REMOVAL_REMEDIES[reason]} ${forbidden}` };
}

/**
 * Returns the failure to report for a lost permission until another review confirms the loss; `forbidden` is the message of the refusal.
 */
export function pendingWithdrawalFailure(forbidden: string): TokenFailure {
  return { reason: 'WithdrawalPending', message: `${toSentence(AlertReason.WithdrawalPending)} ${forbidden}` };
}

/** Returns the message of the event for a removed Secret; `forbidden` is the message of the refusal. */
export function formatWithdrawnMessage(forbidden: string): string {
  return `${toSentence(AlertReason.Withdrawn)} ${forbidden}`;
}

export function formatOrphanedAnchorMessage({ cluster, namespace }: AnchorLocation, name: string): string {
  return `Secret ${namespace}/${name} on cluster ${cluster} could not be deleted, and may still exist. Tokens that are bound to the Secret stay valid until they expire; to revoke them, delete the Secret.`;
}

/** Returns the message for a lifetime that was shortened. */
export function formatShortenedMessage(requested: number, granted: number): string {
  return `Requested expiration of ${requested} seconds shortened to ${granted} seconds, the value of --max-token-lifetime. Reduce spec.expirationSeconds, or ask an administrator to raise the maximum.`;
}

const REMOVAL_REMEDIES = {
  MassWithdrawal: 'An administrator must check RBAC, then release the limit.',
  RemovalDelayed: 'Check RBAC.',
} as const;

const OWN_TEXTS: Partial<Readonly<Record<FailureReason, (token: StoredToken) => string>>> = {
  ClusterNotFound: ({ spec }) =>
    `Cluster ${spec.clusterName} was not found. Register the cluster with purser cluster add, or change spec.clusterName`,
  ServiceAccountNotFound: ({ spec }) =>
    `service account ${spec.serviceAccount.namespace}/${spec.serviceAccount.name} was not found on cluster ${spec.clusterName}. Create it there, or change spec.serviceAccount`,
  AudienceNotAccepted: ({ spec }) => {
    const named = spec.audiences === undefined ? `status.apiAudiences of Cluster ${spec.clusterName}` : 'spec.audiences';
    const remedy = spec.audiences === undefined ? 'Set spec.audiences' : 'Remove spec.audiences, so that the token is for the API server';
    const outputs = outputsForAPI(spec.secret);
    const list = (preposition: string) => outputs.map(({ name, field }) => `${name} ${preposition} ${field}`).join(' and ');
    return `the API server of cluster ${spec.clusterName} does not accept tokens for ${named}, so ${list('in')} would not work. ${remedy}, or remove ${list('from')}`;
  },
  BoundObjectNotFound: ({ spec }) => {
    if (spec.boundObjectRef === undefined)
      return `the Secret that the token is bound to was not found on cluster ${spec.clusterName}. Purser re-creates it; check that no other program deletes it`;
    const { kind, name } = spec.boundObjectRef;
    return `${kind} ${spec.serviceAccount.namespace}/${name} was not found on cluster ${spec.clusterName}, or has a different UID. Create it there, or change spec.boundObjectRef`;
  },
  NamespaceNotAllowed: ({ spec }) =>
    `Purser's credential for cluster ${spec.clusterName} does not allow service accounts in namespace ${spec.serviceAccount.namespace}. An administrator must add the namespace to the namespaces key of the credential Secret`,
  OwnNamespace: () => `${FailureReason.OwnNamespace}. Use a service account in another namespace`,
  TargetThrottled: () => `${FailureReason.TargetThrottled}. Purser retries later`,
  AnchorDeletionUnconfirmed: ({ metadata }) =>
    `${FailureReason.AnchorDeletionUnconfirmed}. On the former cluster, delete Secret ${toAnchorName(metadata.uid)} in each namespace that status.anchors lists; then delete the ManagedToken, or remove its annotation ${Annotation.revoke}`,
  TooManyAnchors: () =>
    `${FailureReason.TooManyAnchors}. Make the former clusters reachable or, if they no longer exist, delete their Cluster objects`,
  AuthorizationFailed: () =>
    `${FailureReason.AuthorizationFailed}. An administrator must check Purser's log, the hub's API server and, if used, its authorization webhook`,
};

/**
 * Reasons whose messages quote the response from an API server, because it concerns the tenant's own object: the TokenRequest, or the
 * Secret in the tenant's namespace.
 */
const RELAYED_REASONS: ReadonlySet<FailureReason> = new Set(['RequestRejected', 'SecretReadFailed', 'SecretWriteFailed']);

/** Reasons whose messages quote a response or values of the spec. */
const QUOTING_REASONS: ReadonlySet<string> = new Set([...RELAYED_REASONS, 'InvalidSpec']);

/** Returns whether the cause of a failure lies between Purser and the cluster, so the conditions of the Cluster show it. */
export function isClusterFailure(reason: string): boolean {
  return CLUSTER_REASONS.has(reason);
}

const CLUSTER_REASONS: ReadonlySet<string> = new Set([
  'ClusterUnreachable',
  'ClusterTimeout',
  'TLSVerifyFailed',
  'CredentialMissing',
  'CredentialRejected',
  'EndpointNotPinned',
  'CANotPinned',
  'EndpointConflict',
  'CredentialNotForCluster',
  'HubTokenForbidden',
  'HubTokenFailed',
  'AddressNotAllowed',
  'IdentityUnknown',
  'TargetForbidden',
  'TargetFailed',
  'ResponseUntrusted',
  'CircuitOpen',
]);

function redactResponse(response: string, token: StoredToken): string {
  const known = new Set([requesterSubject(token), toServiceAccountUsername(token.spec.serviceAccount)]);
  return cleanMessage(response)
    .replace(USER, (user) => (known.has(user) ? user : '[redacted]'))
    .replace(URL, '[redacted]')
    .replace(IPV4, '[redacted]')
    .replace(IPV6, '[redacted]');
}

const USER = /system:serviceaccount:[\w.-]+:[\w.-]+/g;
const URL = /\b[a-z]+:\/\/[^\s"']+/gi;
const IPV4 = /\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b/g;
const IPV6 = /\[?(([\da-f]{1,4}:){3,}[\da-f:]*|[\da-f]{1,4}::[\da-f:]*|::[\da-f:]+)(\]:\d+)?/gi;

function requesterSubject({ metadata, spec }: StoredToken): string {
  return toServiceAccountUsername({ namespace: metadata.namespace, name: spec.requesterServiceAccountName });
}
