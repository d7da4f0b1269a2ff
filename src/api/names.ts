// The names that Purser and everybody around it agree on. They are API: changing one breaks what is stored.

export const RegistryGroup = 'registry.purser.dev';
export const TokensGroup = 'tokens.purser.dev';

/** The one version of both groups. */
export const Version = 'v1alpha1';

/** Where Purser is installed, and where it reads credentials from, unless configured otherwise. */
export const DefaultNamespace = 'purser-system';

/** The name under which Purser owns fields of objects. */
export const FieldManager = 'purser';

/** Keeps a ManagedToken with revocation BoundSecret until its anchor on the target cluster is gone. */
export const AnchorFinalizer = `${TokensGroup}/anchor`;

/** Labels that Purser sets. */
export const Label = {
  /** On every Secret that Purser writes; the informer selects on it. */
  managedBy: `${TokensGroup}/managed-by`,
} as const;

/** The values of these labels. */
export const LabelValue = {
  managedBy: 'purser',
} as const;

/** The global removal limit, once it is reached. */
export const RemovalLimit = {
  /** ConfigMap in Purser's namespace with the state of the limit. */
  configMap: 'purser-removal-limit',
  /** Annotation on the ConfigMap, by administrators: a new value lets Purser remove the Secrets that wait. */
  release: `${RegistryGroup}/release`,
} as const;

/** Annotations of Purser's own. */
export const Annotation = {
  /** On a ManagedToken, by people: a new value asks for a new token now. */
  rotate: `${TokensGroup}/rotate`,
  /** On a ManagedToken, by people: a new value withdraws the current token. */
  revoke: `${TokensGroup}/revoke`,
  /** On the Secret: when the token expires. */
  expiresAt: `${TokensGroup}/expires-at`,
  /** On the Secret: when the token will be renewed. */
  renewAt: `${TokensGroup}/renew-at`,
  /** On the Secret: the token's jti, which the target cluster's audit log names. */
  credentialId: `${TokensGroup}/credential-id`,
  /** On the Secret: when the request for the token left, by Purser's clock. */
  issuedAt: `${TokensGroup}/issued-at`,
  /** On the Secret: how often the token has been renewed. */
  rotations: `${TokensGroup}/rotations`,
  /** On the Secret: the cluster, digest of the credential's name, account, audiences and bound object of the token, as JSON. */
  issuedFor: `${TokensGroup}/issued-for`,
  /** On the Secret: `sha256:` and the digest of the token, so that another one is noticed. */
  tokenDigest: `${TokensGroup}/token-digest`,
  /** On the Secret: digests of its data, rendered with a placeholder and as written; see `outputsDigests`. */
  outputsDigest: `${TokensGroup}/outputs-digest`,
  /** On the Secret: the value of `rotate` that was acted on. */
  rotateRequest: `${TokensGroup}/rotate-request`,
  /** On the Secret: the value of `revoke` that was acted on. */
  revokeRequest: `${TokensGroup}/revoke-request`,
  /** On the Secret: the names of the labels and annotations that the spec asked for, as JSON; they go when the spec drops them. */
  template: `${TokensGroup}/template`,
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
  clientCertificate: 'tls.crt',
  clientKey: 'tls.key',
  /** Addresses that the credential, and tokens issued with it, may be sent to. Required. */
  server: 'server',
  /** PEM certificates of the authorities that those addresses are verified with, or `system`. Required. */
  authority: 'ca.crt',
  /** Names of the Clusters that may use the credential. Required. */
  cluster: 'cluster',
  /** Namespaces of the service accounts that the credential may issue tokens for; all namespaces if the key is absent. */
  namespaces: 'namespaces',
} as const;

/** Value of the key `ca.crt` for public certificate authorities. */
export const SystemAuthorities = 'system';
