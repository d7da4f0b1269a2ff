// The one vocabulary of causes: reasons of conditions and events, fields of log lines, labels of metrics. They are API.
// Each comes with the sentence that says when it occurs.

/** What a ManagedToken's Ready condition says besides the failures below. */
export const ReadyReason = {
  Issued: 'the Secret holds a valid token for this spec',
  Pending: 'the token for this spec is not there yet',
  Expired: 'the token expired before it could be renewed',
  Forbidden: 'the requester may not have this token',
  SecretConflict: 'a Secret of that name exists, and the ManagedToken does not own it',
  Suspended: 'rotation is suspended',
  InvalidSpec: 'the spec asks for something that cannot be had',
} as const;

/** Why a token is issued. */
export const IssueReason = {
  SecretMissing: 'there is no Secret',
  TokenMissing: 'the Secret has no token',
  TokenAltered: 'the Secret does not hold what was issued, or no longer says what that was',
  SpecChanged: 'the token is for another cluster, account, audience or bound object than the spec names now',
  ClusterReplaced: 'the Cluster was deleted and made anew under the same name',
  CredentialReplaced: 'the Cluster refers to another credential than the one that the token was issued with',
  RotationDue: 'the time for renewal has come',
  RotationRequested: 'the annotation that asks for a rotation has a new value',
  RevocationRequested: 'the annotation that asks for a revocation has a new value',
  AccountRecreated: 'the service account was deleted and made anew under the same name',
  TokenRefused: 'the target cluster no longer accepts the token',
} as const;

/** Why a token could not be issued, verified or written. */
export const FailureReason = {
  ClusterNotFound: 'there is no Cluster of that name',
  ClusterUnreachable: 'no address of the cluster answers',
  ClusterTimeout: 'the cluster did not answer in time',
  TLSVerifyFailed: 'the certificate of the cluster is not vouched for by its CA bundle',
  CredentialMissing: "Purser's credential for the cluster is not there or not usable",
  CredentialRejected: "the cluster does not accept Purser's credential",
  CredentialNotForCluster: "Purser's credential is not for this cluster",
  EndpointNotPinned: "Purser's credential is not for every address of the cluster",
  CANotPinned: "Purser's credential is not for every certificate authority of the cluster",
  NamespaceNotAllowed: "Purser's credential for the cluster is not for service accounts of this namespace",
  AddressRefused: 'the address is one that Purser never connects to',
  IdentityUnknown: 'Purser could not find out who it is on the cluster',
  OwnAccount: "the service account is in the namespace of Purser's own service account on the cluster",
  TargetForbidden: "Purser's credential may not issue tokens for this service account",
  ServiceAccountNotFound: 'the service account is not there',
  BoundObjectNotFound: 'the object to bind the token to is not there, or is another one of the same name',
  TargetRefused: 'the cluster finds fault with the request',
  TargetThrottled: 'the cluster asks for fewer requests',
  TargetFailed: 'the cluster answers with an error of its own',
  AnswerUntrusted: 'the answer of the cluster is not the token that was asked for',
  AnchorUnconfirmed:
    'the Cluster was re-created or refers to another credential, and the anchor was not found there: its deletion cannot be confirmed',
  TooManyAnchors: 'the status lists 16 other places whose anchors could not be deleted',
  AuthorizationFailed: 'it could not be found out whether the requester may have this token',
  SecretReadFailed: 'the Secret could not be read',
  SecretWriteFailed: 'the Secret could not be written',
  CircuitOpen: 'the cluster failed so often that Purser pauses before it asks again',
} as const;

/** What the conditions of a Cluster say. */
export const ClusterReason = {
  ClusterReady: 'tokens can be issued for the cluster',
  Answering: 'the API server of the cluster answers',
  RightsGranted: "the cluster accepts Purser's credential, which may issue tokens there",
  CredentialValid: "Purser's credential is valid and does not expire soon",
  CredentialExpiring: "Purser's credential will expire soon",
  CredentialExpired: "Purser's credential has expired",
  ExpiryUnknown: "Purser's credential does not say when it expires",
  DNSFailed: "the name of the cluster's address cannot be resolved",
  ConnectionRefused: "nobody listens at the cluster's address",
  Timeout: 'the cluster does not answer in time',
  TLSVerifyFailed: 'the certificate of the cluster is not vouched for by its CA bundle',
  AddressRefused: 'the address is one that Purser never connects to',
  AnswerUntrusted: 'what answers is not a Kubernetes API server',
  Unreachable: 'no connection to the cluster holds',
  CredentialMissing: "Purser's credential for the cluster is not there or not usable",
  CredentialRejected: "the cluster does not accept Purser's credential",
  CredentialNotForCluster: "Purser's credential is not for this cluster",
  EndpointNotPinned: "Purser's credential is not for every address of the cluster",
  CANotPinned: "Purser's credential is not for every certificate authority of the cluster",
  Forbidden: "Purser's credential may not issue tokens on the cluster",
  RightsUnknown: "it could not be found out what Purser's credential may do",
  NotReady: 'the API server of the cluster says that it is not ready',
  Throttled: 'the cluster asks for fewer requests',
  NoAnswer: 'the cluster does not answer, so its view is not known',
  NotProbed: 'the cluster is not asked',
  ProbeFailed: 'Purser itself is unable to ask the cluster',
} as const;

/** What operators are alerted to. */
export const AlertReason = {
  MassWithdrawal: 'removal of Secrets is paused: tokens of many namespaces lost permission within a minute',
  RemovalDelayed: 'removal of Secrets is delayed by ten minutes: more than 20 tokens of the namespace lost permission within a minute',
  AnchorOrphaned: 'the Secret that tokens were bound to could not be deleted on the target cluster and stays behind',
  RevocationUnavailable: 'only tokens with revocation BoundSecret can be revoked; this one lives to its expiry',
  LifetimeShortened: 'the spec asks for a longer lifetime than --max-token-lifetime allows, so tokens get the allowed one',
  RenewBeforeClamped: 'renewBefore leaves too little of the granted lifetime and is cut short',
} as const;

export type ReadyReason = keyof typeof ReadyReason;
export type IssueReason = keyof typeof IssueReason;
export type FailureReason = keyof typeof FailureReason;
export type ClusterReason = keyof typeof ClusterReason;
export type AlertReason = keyof typeof AlertReason;

/** Any of them. */
export type Reason = ReadyReason | IssueReason | FailureReason | ClusterReason | AlertReason;
