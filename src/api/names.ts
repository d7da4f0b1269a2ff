// Names of Purser's API. A change to one of them breaks existing objects.

export const RegistryGroup = 'registry.purser.dev';
export const TokensGroup = 'tokens.purser.dev';
/** Group of ClusterProfiles, which sigs.k8s.io/cluster-inventory-api defines. */
export const InventoryGroup = 'multicluster.x-k8s.io';

/** Version of Purser's two groups. */
export const Version = 'v1alpha1';

/** Default namespace of Purser and of cluster credentials. */
export const DefaultNamespace = 'purser-system';

export const FieldManager = 'purser';

/**
 * Finalizer of ManagedTokens with revocation BoundSecret. Purser removes the finalizer when it has deleted the anchor (the Secret on the
 * target cluster that the token is bound to), or has given up the deletion.
 */
export const AnchorFinalizer = `${TokensGroup}/anchor`;

export const Label = {
  /** On every Secret that Purser writes for a ManagedToken, and on anchors; informers select by this label. */
  managedBy: `${TokensGroup}/managed-by`,
  /** On the Secret with the renewed token of a credential. */
  renewed: `${RegistryGroup}/renewed`,
  /** On a Cluster, by administrators: name of the set that the Cluster belongs to. */
  clusterSet: `${RegistryGroup}/set`,
  /** On an anchor of Purser's own token: hash of the UID of the registered Secret on the hub. */
  credential: `${RegistryGroup}/credential`,
} as const;

/** Values of the labels that Purser sets. */
export const LabelValue = {
  managedBy: 'purser',
  renewed: 'true',
} as const;

/** Suffix that turns the name of a registered Secret, to which a Cluster refers, into the name of the Secret with the renewed token. */
export const RenewedSuffix = '-renewed';

/** Name prefix of the anchors of Purser's own tokens on targets. */
export const OwnAnchorPrefix = 'purser-credential-';

/**
 * Annotation on a registered Secret, by administrators: a new value renews Purser's token immediately. If the replaced token is bound to an
 * anchor, Purser deletes the anchor after the `overlap` in the Cluster's spec. Each value takes effect once. Ignored if Purser does not
 * renew the credential.
 */
export const RenewCredentialAnnotation = `${RegistryGroup}/renew-credential`;

/**
 * Annotation on a registered Secret, by administrators: a new value replaces Purser's renewed token immediately, and revokes all earlier
 * tokens that are bound to an anchor. Each value takes effect once. If Purser does not renew a stored credential, Purser revokes nothing,
 * and the CredentialFresh condition reports CredentialNotRevoked.
 */
export const RevokeCredentialAnnotation = `${RegistryGroup}/revoke-credential`;

/** Annotations on the Secret with the renewed token of a credential. */
export const RenewalAnnotation = {
  /** `sha256:` and the digest of the token that the registered Secret contained at the last renewal. */
  registeredDigest: `${RegistryGroup}/registered-digest`,
  /** `sha256:` and the digest of the renewed token, to detect a replaced token. */
  tokenDigest: `${RegistryGroup}/token-digest`,
  /** Time of the token request, by Purser's clock. */
  renewedAt: `${RegistryGroup}/renewed-at`,
  /** Expiry of the renewed token, by Purser's clock. */
  expiresAt: `${RegistryGroup}/expires-at`,
  /** Time at which Purser switched back to the registered token, by Purser's clock. The Secret then contains no token. */
  retiredAt: `${RegistryGroup}/retired-at`,
  /** Value of `renew-credential` at the last renewal, or the digest of a long value. */
  renewRequest: `${RegistryGroup}/renew-request`,
  /** Value of `revoke-credential` for which the token was replaced, or the digest of a long value. */
  revokeRequest: `${RegistryGroup}/revoke-request`,
  /** Value of `revoke-credential` for which the anchors of the earlier tokens were deleted, or the digest of a long value. */
  revoked: `${RegistryGroup}/revoked`,
  /** Anchor that the token is bound to: its namespace, name and UID on the target, as JSON; absent if the token is not bound. */
  anchor: `${RegistryGroup}/anchor`,
  /** Anchors of replaced tokens, which Purser must delete: namespace, name, UID and time of replacement of each, as a JSON list. */
  replacedAnchors: `${RegistryGroup}/replaced-anchors`,
} as const;

/** ConfigMap and annotation of the global removal limit, which pauses the removal of Secrets. */
export const RemovalLimit = {
  /** ConfigMap in Purser's namespace with the state of the limit. */
  configMap: 'purser-removal-limit',
  /** Annotation on the ConfigMap, by administrators: a new value allows Purser to remove the Secrets whose removal is paused. */
  release: `${RegistryGroup}/release`,
} as const;

/** Secret in Purser's namespace with the key that signs digests in the status of ManagedTokens. No Cluster can use it as a credential. */
export const RecordKeySecret = {
  name: 'purser-record-key',
  /** Key of the Secret: 32 random bytes. */
  key: 'key',
} as const;

/** Annotations of ManagedTokens, and of the Secrets that Purser writes for them. */
export const Annotation = {
  /** On a ManagedToken, by users: a new value requests a new token immediately. */
  rotate: `${TokensGroup}/rotate`,
  /** On a ManagedToken with revocation BoundSecret, by users: a new value revokes the current token. */
  revoke: `${TokensGroup}/revoke`,
  /** On the Secret: expiry of the token, by Purser's clock. */
  expiresAt: `${TokensGroup}/expires-at`,
  /** On the Secret: time of the next renewal. */
  renewAt: `${TokensGroup}/renew-at`,
  /** On the Secret: the token's jti, as in the audit log of the target cluster. */
  credentialId: `${TokensGroup}/credential-id`,
  /** On the Secret: time of the token request, by Purser's clock. */
  issuedAt: `${TokensGroup}/issued-at`,
  /** On the Secret: number of rotations. */
  rotations: `${TokensGroup}/rotations`,
  /** On the Secret, as JSON: cluster, credential (as a digest), requester, service account, audiences and bound object of the token. */
  issuedFor: `${TokensGroup}/issued-for`,
  /** On the Secret: `sha256:` and the digest of the token, to detect a replaced token. */
  tokenDigest: `${TokensGroup}/token-digest`,
  /** On the Secret: value of `rotate` when the token was issued. */
  rotateRequest: `${TokensGroup}/rotate-request`,
  /** On the Secret: value of `revoke` when the token was issued. */
  revokeRequest: `${TokensGroup}/revoke-request`,
  /** On the Secret, as JSON: keys of the labels and annotations that Purser set for the spec, so that Purser can remove them later. */
  template: `${TokensGroup}/template`,
} as const;

/** Annotations of ManagedTokenSets and of their ManagedTokens. */
export const SetAnnotation = {
  /** On a ManagedToken of a set: digests of the template and of the ManagedToken that was rendered from it. */
  templateDigest: `${TokensGroup}/template-digest`,
  /** On a ManagedTokenSet, by users: the value that the Progressing condition names confirms the removal of many ManagedTokens. */
  confirmRemoval: `${TokensGroup}/confirm-removal`,
} as const;

/** Field manager of the controller of ManagedTokenSets, for ManagedTokens and ClusterProfiles. */
export const SetFieldManager = 'purser-sets';

/** Types of a ManagedTokenSet's conditions. */
export const SetConditionType = {
  ready: 'Ready',
  progressing: 'Progressing',
  /** Present while Purser publishes ClusterProfiles for the set, and until it has removed them. */
  clusterProfilesPublished: 'ClusterProfilesPublished',
} as const;

/** Names in the ClusterProfiles that Purser publishes. */
export const Profile = {
  /** Label with the name of the cluster manager. */
  managerLabel: 'x-k8s.io/cluster-manager',
  manager: 'purser',
  conditionType: 'ControlPlaneHealthy',
  /** Plugin of sigs.k8s.io/cluster-inventory-api that reads the `token` key of a Secret. */
  provider: 'secretreader',
  /** Extension whose contents client-go passes to credential plugins. */
  execExtension: 'client.authentication.k8s.io/exec',
} as const;

/** Types of a ManagedToken's conditions. */
export const TokenConditionType = {
  ready: 'Ready',
  rotationFailing: 'RotationFailing',
} as const;

/** Types of a Cluster's conditions. */
export const ClusterConditionType = {
  ready: 'Ready',
  reachable: 'Reachable',
  authorized: 'Authorized',
  credentialFresh: 'CredentialFresh',
} as const;

/** Keys of the Secret that holds Purser's credential for a cluster. */
export const CredentialSecretKey = {
  token: 'token',
  /** Name of a service account on the hub, in Purser's namespace. The cluster accepts its tokens, so the Secret stores no credential. */
  serviceAccount: 'serviceAccount',
  clientCertificate: 'tls.crt',
  clientKey: 'tls.key',
  /** Addresses that the credential, and tokens issued with it, may be sent to. Required. */
  server: 'server',
  /** PEM certificates of the CAs that sign the certificates of the servers in the key `server`, or `system` for public CAs. Required. */
  authority: 'ca.crt',
  /** Names of the Clusters that may use the credential. Required. */
  cluster: 'cluster',
  /** Namespaces of the service accounts that the credential may issue tokens for; all namespaces if the key is absent. */
  namespaces: 'namespaces',
  /** URL of the proxy for all connections to the cluster; HTTPS_PROXY and NO_PROXY apply if the key is absent. */
  proxy: 'proxy',
} as const;

/** Prefix of the audience of tokens that Purser requests from the hub for a cluster; the address of the cluster follows. */
export const OwnAudiencePrefix = 'purser:';

/** Names of Purser's own service accounts on the hub, as in the manifests and in the chart. */
export const OwnServiceAccounts: readonly string[] = ['purser', 'purser-controller', 'purser-facade'];

/** Default name of the service account whose tokens Purser requests from the hub and sends to clusters that trust the hub. */
export const FederatedServiceAccount = 'purser-federated';

/** Value of the `ca.crt` key for public CAs. */
export const SystemAuthorities = 'system';

/** ConfigMap in Purser's namespace with the settings that callers of the façade need, and its keys. */
export const FacadeConfigMap = {
  name: 'purser-facade-ca',
  /** PEM certificates of the CAs that sign the façade's certificate; absent for public CAs. */
  authority: 'ca.crt',
  /** URL of the façade for callers outside the hub; absent if none is configured. */
  server: 'server',
  /** First path segment of token requests. */
  path: 'path',
  /** Audiences accepted in callers' tokens, separated by commas; absent if the hub's own audiences apply. */
  audiences: 'audiences',
} as const;
