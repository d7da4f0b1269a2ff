// Reasons of conditions and events, which are also fields of log lines and labels of metrics. They are part of the API. Each reason has a
// sentence for messages and documentation, without a capital letter or full stop.

/** Reasons for the conditions of a ManagedToken, except those in FailureReason and AlertReason. */
export const ReadyReason = {
  Issued: 'the Secret holds a valid token for this spec',
  Pending: 'the Secret holds no valid token for this spec yet',
  Expired: 'the token expired before it was renewed',
  Forbidden: 'the requester is not authorized to issue this token, or does not exist',
  SecretConflict: 'the ManagedToken does not own the Secret, or the Secret or its namespace exceeds a size limit',
  Suspended: 'rotation is suspended',
  InvalidSpec: 'the spec is invalid',
} as const;

/** Reasons for issuing a token. */
export const IssueReason = {
  SecretMissing: 'the Secret does not exist',
  TokenMissing: 'the Secret contains no token',
  TokenAltered: 'the Secret does not match the token that was issued',
  SpecChanged: 'the spec has a different cluster, service account, audience, revocation or bound object than the token was issued for',
  ClusterReplaced: 'the Cluster was re-created under the same name',
  CredentialReplaced: 'the Cluster refers to a different credential than the token was issued with',
  APIAudiencesChanged: "the cluster's API server has different audiences than the token was issued for",
  RotationDue: 'the token is due for renewal',
  RotationRequested: 'the rotate annotation has a new value',
  RevocationRequested: 'the revoke annotation has a new value',
  ServiceAccountRecreated: 'the service account was re-created under the same name',
  TokenRejected: 'the target cluster rejects the token',
} as const;

/** Reasons why a token could not be issued, written, verified or revoked. */
export const FailureReason = {
  ClusterNotFound: 'the Cluster was not found',
  ClusterUnreachable: 'the connection to the cluster failed',
  ClusterTimeout: 'the cluster did not respond in time',
  TLSVerifyFailed: "Purser could not verify the cluster's TLS certificate",
  CredentialMissing: "Purser's credential for the cluster is missing or unusable",
  CredentialRejected: "the cluster rejects Purser's credential",
  CredentialNotForCluster: 'the Cluster does not refer to a credential that names the Cluster',
  EndpointNotPinned: "Purser's credential does not name every address of the cluster",
  CANotPinned: "Purser's credential does not allow every certificate authority of the cluster",
  EndpointConflict: 'two credential Secrets with the key serviceAccount list the same address',
  HubTokenForbidden: 'the hub does not permit Purser to request tokens for the service account that the credential Secret names',
  HubTokenFailed: 'the hub issued no usable token for the service account that the credential Secret names',
  NamespaceNotAllowed: "Purser's credential for the cluster does not allow the namespace of the service account",
  AddressNotAllowed: 'the address of the cluster or of its proxy is not allowed',
  IdentityUnknown: 'Purser could not determine its own user on the cluster, or whether the cluster is the hub',
  OwnNamespace: "the service account is, or may be, in the namespace of Purser's own service account on the cluster",
  TargetForbidden: 'the cluster does not permit Purser to issue the token, or to manage its anchor',
  ServiceAccountNotFound: 'the service account was not found',
  BoundObjectNotFound: 'the object to bind the token to was not found, or has a different UID',
  AudienceNotAccepted: "the cluster's API server does not accept the audiences of the token",
  RequestRejected: 'the cluster rejected the request',
  TargetThrottled: 'the cluster throttles requests',
  TargetFailed: 'the cluster responded with a server error',
  ResponseUntrusted: 'the cluster returned an unexpected response',
  AnchorDeletionUnconfirmed:
    'the deletion of the anchor is unconfirmed: the Cluster was re-created or has another credential, and the anchor was not found',
  TooManyAnchors: 'the status already lists the maximum of 16 anchors that Purser could not delete',
  AuthorizationFailed: "the requester's permission, or the removal limit, could not be checked",
  SecretReadFailed: 'the Secret could not be read',
  SecretWriteFailed: 'the Secret could not be written or deleted',
  CircuitOpen: 'Purser pauses requests to the cluster after repeated failures',
} as const;

/** Reasons of a Cluster's conditions. */
export const ClusterReason = {
  ClusterReady: 'tokens can be issued for the cluster',
  Responding: "the cluster's API server responds",
  PermissionsGranted: "the cluster accepts Purser's credential and permits it to issue tokens",
  CredentialValid: "Purser's credential is valid and does not expire soon",
  CredentialExpiring: "Purser's credential expires soon",
  CredentialExpired: "Purser's credential has expired",
  CredentialRenewalPending: 'the credential is valid, and Purser is about to replace it with its own token',
  CredentialRenewalFailed: 'Purser could not renew its credential',
  CredentialRenewalForbidden: 'Purser is not permitted to renew its credential',
  CredentialRenewalUntrusted: 'the cluster returned an unusable token or response when Purser renewed its credential',
  CredentialNotStored: 'the Secret with the renewed credential could not be written or deleted on the hub',
  CredentialNotRetired: 'Purser could not switch back to the credential in the registered Secret',
  CredentialNotRevoked: "Purser's earlier tokens could not be revoked on the cluster",
  ExpiryUnknown: "the expiry of Purser's credential is unknown",
  DNSFailed: "the host name of the cluster's address cannot be resolved",
  ConnectionRefused: "the cluster's address refuses connections",
  Timeout: 'the cluster does not respond in time',
  TLSVerifyFailed: FailureReason.TLSVerifyFailed,
  AddressNotAllowed: FailureReason.AddressNotAllowed,
  ResponseUntrusted: 'the endpoint is not a Kubernetes API server',
  Unreachable: 'connections to the cluster fail',
  ProxyUnreachable: 'the proxy for the cluster does not respond, or its certificate is not trusted',
  ProxyRejected: 'the proxy rejects connections to the cluster',
  CredentialMissing: FailureReason.CredentialMissing,
  CredentialRejected: FailureReason.CredentialRejected,
  CredentialNotForCluster: FailureReason.CredentialNotForCluster,
  EndpointNotPinned: FailureReason.EndpointNotPinned,
  CANotPinned: FailureReason.CANotPinned,
  EndpointConflict: FailureReason.EndpointConflict,
  HubTokenForbidden: FailureReason.HubTokenForbidden,
  HubTokenFailed: FailureReason.HubTokenFailed,
  Forbidden: "Purser's credential is not permitted to issue tokens on the cluster",
  PermissionsUnknown: "the permissions of Purser's credential could not be reviewed",
  NotReady: "the cluster's API server reports that it is not ready",
  Throttled: FailureReason.TargetThrottled,
  NoResponse: 'the cluster is not reachable, so permissions could not be reviewed',
  NotProbed: 'the cluster is not probed because its registration is not usable, or because the hub issues no token for it',
  ProbeFailed: 'Purser lacks the system resources to probe the cluster',
} as const;

/** Reasons of events about the renewal of Purser's credentials. */
export const RenewalEventReason = {
  CredentialRenewed: 'Purser renewed its credential for the cluster',
  CredentialRevoked:
    'Purser replaced its credential for the cluster, and revoked its earlier tokens by deleting their anchors; earlier tokens without an anchor, or with an anchor that Purser may not delete, stay valid until they expire',
  CredentialRetired: 'Purser switched back to the credential in the registered Secret, which Purser does not renew',
} as const;

/** Reasons of other Warning events on ManagedTokens. MassWithdrawal, RemovalDelayed and WithdrawalPending are also used in conditions. */
export const AlertReason = {
  MassWithdrawal: 'removal of Secrets is paused: tokens of many namespaces lost permission at about the same time',
  RemovalDelayed:
    'removal of Secrets is delayed by ten minutes: more than 20 tokens of the namespace lost permission at about the same time',
  WithdrawalPending: 'the requester lost permission; another review decides whether the Secret is removed',
  Withdrawn: 'the requester has no permission, so Purser removed the Secret, or its token if finalizers keep the Secret',
  AnchorOrphaned: 'the anchor Secret could not be deleted on the target cluster and may remain there',
  RevocationUnavailable: 'the token was issued without revocation BoundSecret, so Purser cannot revoke it; it stays valid until it expires',
  LifetimeShortened: 'the requested lifetime exceeds --max-token-lifetime and is shortened',
  RenewBeforeClamped: 'renewBefore is too long for the granted lifetime, so Purser shortens it',
} as const;

/** Reasons for a ManagedTokenSet's conditions and its failing clusters, except those that come from its ManagedTokens. */
export const SetReason = {
  AllReady: 'the ManagedTokens of all clusters are ready',
  NotAllReady: 'the ManagedTokens of some clusters are missing or not ready',
  NoClusters: 'the selector matches no Cluster that the requester may issue tokens for',
  RequesterNotFound: 'the service account that requests the tokens was not found',
  Complete: 'Purser has created, changed or removed every ManagedToken that it can',
  RollingOut: 'Purser creates, changes or removes ManagedTokens, or waits for their tokens',
  RolloutStopped: 'the rollout of the template stopped because it failed for some clusters',
  RemovalPaused:
    'removal of ManagedTokens is paused: more than ten ManagedTokens, and more than a third of the set, would be removed within a minute',
  NameConflict: 'the ManagedToken for the cluster already exists and is not controlled by the set',
  TemplateInvalid: 'the template renders no valid ManagedToken for the cluster',
  WriteFailed: 'the ManagedToken could not be written',
} as const;

/** Reasons of a ManagedTokenSet's condition ClusterProfilesPublished. */
export const ProfileReason = {
  Published: 'ClusterProfiles are published for all clusters with a valid token',
  Publishing: 'Purser has not yet written or removed all ClusterProfiles',
  CustomResourceMissing: 'the hub does not serve ClusterProfiles',
  Forbidden: 'the hub forbids Purser to list or write ClusterProfiles',
  NameConflict: 'a ClusterProfile that the set would publish already exists and is not controlled by the set',
  WriteFailed: 'a ClusterProfile could not be written',
} as const;

export type ReadyReason = keyof typeof ReadyReason;
export type IssueReason = keyof typeof IssueReason;
export type FailureReason = keyof typeof FailureReason;
export type ClusterReason = keyof typeof ClusterReason;
export type RenewalEventReason = keyof typeof RenewalEventReason;
export type AlertReason = keyof typeof AlertReason;
export type SetReason = keyof typeof SetReason;
export type ProfileReason = keyof typeof ProfileReason;

export type Reason =
  | ReadyReason
  | IssueReason
  | FailureReason
  | ClusterReason
  | RenewalEventReason
  | AlertReason
  | SetReason
  | ProfileReason;
