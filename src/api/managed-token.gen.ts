// Generated from crds/ by `npm run generate`; do not edit. Fields with defaults are present, as in objects from an API server.

import type { NamespacedMeta } from './wire.ts';

/**
 * ManagedToken declares that a workload needs a token for a service account on a registered cluster. Purser issues the token through the TokenRequest API of that cluster, stores it in a Secret in the namespace of the ManagedToken, renews it before the granted expiry, and removes it when the requester loses the permission to issue it. A new value of the tokens.purser.dev/rotate annotation requests a new token. With revocation BoundSecret, a new value of the tokens.purser.dev/revoke annotation revokes the current token. Each value takes effect once.
 */
export interface ManagedToken {
  readonly apiVersion: 'tokens.purser.dev/v1alpha1';
  readonly kind: 'ManagedToken';
  readonly metadata: NamespacedMeta;
  readonly spec: ManagedTokenSpec;
  readonly status?: ManagedTokenStatus;
}
/**
 * Token to issue, its rotation, and the Secret that stores it.
 */
export interface ManagedTokenSpec {
  /**
   * Name of the Cluster that the token is for. After a change, Purser removes the old token and issues one for the new cluster.
   */
  readonly clusterName: string;
  readonly serviceAccount: ManagedTokenServiceAccount;
  /**
   * Intended recipients of the token. If omitted, Purser requests the audiences in status.apiAudiences of the Cluster or, while these are unknown, the default audiences of the cluster's API server. The Kubeconfig and ArgoCD outputs, and items of spec.secret.keys with the source Kubeconfig, require a token that the API server accepts. For them, omit this field, or include one of the API server's audiences. A recipient accepts a token only if its own identifier is among the audiences. A token for several audiences is valid at each of them, and each recipient could use it at the others. List several audiences only if they trust one another; otherwise create one ManagedToken for each. After a change, Purser removes the old token and issues a new one.
   *
   * @minItems 1
   * @maxItems 16
   */
  readonly audiences?: readonly string[];
  /**
   * Requested lifetime of the token, in seconds: from 600 (10 minutes) to 4294967296. The default is 3600. Purser shortens a lifetime above the --max-token-lifetime option (24h by default), and the cluster may grant another lifetime; status.expirationTimestamp shows the granted expiry, which determines the next renewal. A change applies to the next rotation.
   */
  readonly expirationSeconds: number;
  readonly boundObjectRef?: ManagedTokenBoundObjectRef;
  /**
   * Name of the service account that requests the token. It is on the hub, in the namespace of the ManagedToken. RBAC must grant this service account the verb issue on clusters/token in the API group registry.purser.dev, for the resource name <cluster>, <cluster>/<namespace> or <cluster>/<namespace>/<serviceaccount>. For a Cluster with the label registry.purser.dev/set, set:<set> can replace <cluster>. A namespace in the --protected-namespaces option, such as kube-system, is covered only by a resource name that includes the namespace, or by a rule without resource names. Purser checks the permission at every issuance, and removes the Secret when the permission is withdrawn.
   */
  readonly requesterServiceAccountName: string;
  readonly rotation: ManagedTokenRotation;
  readonly secret: ManagedTokenSecret;
  /**
   * Method for revoking the token before it expires. None: Purser cannot revoke the token; deleting the ManagedToken and the Secret does not invalidate it. BoundSecret: Purser creates a small Secret in the namespace of the service account on the target cluster and binds every token to that Secret. Deleting the ManagedToken, or setting a new value of the tokens.purser.dev/revoke annotation, then invalidates the token within seconds if the cluster responds. After a change to this field, Purser removes the old token and issues a new one.
   */
  readonly revocation: 'None' | 'BoundSecret';
}
/**
 * Service account that the token authenticates as, on the target cluster. It must exist. After a change, Purser removes the old token and issues one for the new service account.
 */
export interface ManagedTokenServiceAccount {
  /**
   * Namespace of the service account on the target cluster.
   */
  readonly namespace: string;
  /**
   * Name of the service account on the target cluster.
   */
  readonly name: string;
}
/**
 * Pod or Secret that the token is bound to, in the namespace of the service account on the target cluster. The token becomes invalid when the object is deleted. After a change, Purser removes the old token and issues a new one. This field cannot be combined with revocation BoundSecret, which binds the token to a Secret that Purser creates.
 */
export interface ManagedTokenBoundObjectRef {
  /**
   * API version of the object: v1.
   */
  readonly apiVersion: 'v1';
  /**
   * Kind of the object: Pod or Secret.
   */
  readonly kind: 'Pod' | 'Secret';
  /**
   * Name of the object, in the namespace of the service account.
   */
  readonly name: string;
  /**
   * UID of the object. If set, Purser issues no token for another object of the same name.
   */
  readonly uid?: string;
}
/**
 * Schedule of renewals. After a change, Purser issues a token only if the new schedule requires it.
 */
export interface ManagedTokenRotation {
  /**
   * Time before expiry at which Purser renews the token: a percentage of the granted lifetime, from 1% to 90%, or a duration such as 15m or 1h30m. Renewal starts up to 5% of the lifetime earlier, so that tokens issued together are not renewed together, but never within the first tenth of the lifetime.
   */
  readonly renewBefore: string;
  /**
   * Suspends rotation if true. Purser then issues no token and does not repair the Secret. It still removes the token when the token expires or is revoked, when the requester loses permission, or when the cluster, service account, audiences, boundObjectRef or revocation in the spec changes.
   */
  readonly suspend: boolean;
}
/**
 * Secret that holds the token. It has the type Opaque, is owned by the ManagedToken, and is deleted with it. Purser never overwrites a Secret that the ManagedToken does not own. After a change to this field, Purser rewrites the Secret without issuing a token.
 */
export interface ManagedTokenSecret {
  /**
   * Name of the Secret. The default is the name of the ManagedToken. After a change, Purser writes the new Secret before it deletes the old one.
   */
  readonly name?: string;
  /**
   * Labels of the Secret. Names under kubernetes.io, k8s.io, argocd.argoproj.io and purser.dev are reserved.
   */
  readonly labels?: {
    readonly [k: string]: string;
  };
  /**
   * Annotations of the Secret. Names under kubernetes.io, k8s.io, argocd.argoproj.io and purser.dev are reserved.
   */
  readonly annotations?: {
    readonly [k: string]: string;
  };
  /**
   * Formats of the Secret, in any combination. Every format has the key token. Token adds server, namespace and, unless the cluster uses public CAs, ca.crt. Kubeconfig adds kubeconfig and, for Flux and Cluster API, value. ArgoCD adds name, server and config, the settings in spec.secret.argocd, and the label by which Argo CD recognizes a cluster; create a ManagedToken with this output in the namespace of Argo CD.
   *
   * @minItems 1
   * @maxItems 3
   */
  readonly outputs: readonly ('Token' | 'Kubeconfig' | 'ArgoCD')[];
  /**
   * Address of the cluster to write into the Secret, one of the Cluster's serverAddress values. The default is the address for the network that Purser runs in. For the hub (authInfo.controller of kind ServiceAccount), omit this field: Purser writes the address at which it reaches the hub, and rejects any other.
   */
  readonly server?: string;
  /**
   * Additional keys of the Secret, for consumers that do not read the keys of the outputs. When Purser removes the token from the Secret, it also removes these keys. Only a key that some output format uses for a value without the token, such as server, stays in the Secret, even if the ManagedToken does not have that output.
   *
   * @maxItems 16
   */
  readonly keys?: readonly ManagedTokenKey[];
  readonly argocd?: ManagedTokenArgocd;
}
export interface ManagedTokenKey {
  /**
   * Key in the Secret.
   */
  readonly key: string;
  /**
   * Value of the key. Token: the token. CA: certificates of the cluster's CAs, as PEM; the key is absent if the cluster uses public CAs. Server: URL of the API server. Namespace: namespace of the service account. ClusterName: name of the Cluster. ExpiresAt: expiry of the token, as an RFC 3339 timestamp. Kubeconfig: kubeconfig that contains the token.
   */
  readonly from: 'Token' | 'CA' | 'Server' | 'Namespace' | 'ClusterName' | 'ExpiresAt' | 'Kubeconfig';
}
/**
 * Settings of the cluster in Argo CD. Requires the ArgoCD output. The fields have the same meaning as the keys in Argo CD's cluster Secrets, except labelsFromCluster, which is specific to Purser.
 */
export interface ManagedTokenArgocd {
  /**
   * Name of the AppProject that the cluster is scoped to. Without this field, the cluster is not scoped.
   */
  readonly project?: string;
  /**
   * Namespaces of the cluster that Argo CD manages. If set, Argo CD needs permissions only in these namespaces. Without this field, Argo CD manages all namespaces.
   *
   * @minItems 1
   * @maxItems 64
   */
  readonly namespaces?: readonly string[];
  /**
   * If true, Argo CD manages cluster-scoped resources even if the namespaces field restricts it to some namespaces. Without the namespaces field, Argo CD always manages them. The default is false.
   */
  readonly clusterResources?: boolean;
  /**
   * Number of the shard (the replica of Argo CD's application controller) that manages the cluster. Without this field, Argo CD assigns a shard.
   */
  readonly shard?: number;
  /**
   * Keys of the labels that Purser copies from the Cluster to the Secret, so that ApplicationSet generators can select clusters by label. Purser omits labels that the Cluster does not have. Labels in spec.secret.labels take precedence. Names under kubernetes.io, k8s.io, argocd.argoproj.io and purser.dev are reserved.
   *
   * @maxItems 16
   */
  readonly labelsFromCluster?: readonly string[];
}
/**
 * Observed state of the token, reported by Purser.
 */
export interface ManagedTokenStatus {
  /**
   * Value of metadata.generation that this status describes.
   */
  readonly observedGeneration?: number;
  /**
   * Conditions of the token. Ready: the Secret holds a valid token for this spec. RotationFailing: Purser cannot renew the token or update its Secret, or the token has expired; until the token expires, Ready stays True.
   *
   * @maxItems 16
   */
  readonly conditions?: readonly ManagedTokenCondition[];
  /**
   * Name of the Secret that holds the token.
   */
  readonly secretName?: string;
  /**
   * UID of the service account that the token was issued for.
   */
  readonly serviceAccountUID?: string;
  /**
   * Time at which Purser requested the token, by Purser's clock.
   */
  readonly issuedAt?: string;
  /**
   * Expiry of the token, by Purser's clock: issuedAt plus the lifetime that the cluster granted.
   */
  readonly expirationTimestamp?: string;
  /**
   * Time of the next renewal; absent if there is no token for this spec, and while rotation is suspended.
   */
  readonly nextRotationTime?: string;
  /**
   * Identifier of the token: its jti claim; absent if the token has none. The audit log of the target cluster contains this ID in the entries for requests made with the token.
   */
  readonly credentialID?: string;
  /**
   * Number of times the token has been rotated.
   */
  readonly rotations?: number;
  /**
   * Value of the tokens.purser.dev/rotate annotation that Purser acted on last.
   */
  readonly lastRotateRequest?: string;
  /**
   * Value of the tokens.purser.dev/revoke annotation that Purser acted on last.
   */
  readonly lastRevokeRequest?: string;
  /**
   * SHA-256 digest of the last token that Purser issued, its expiry, and the request that it was issued for. Removal limits and revocations identify the token by this digest, because users of the namespace can change the record in the Secret.
   */
  readonly tokenDigest?: string;
  /**
   * HMAC-SHA-256 of the UID of the ManagedToken and tokenDigest. The key is in the Secret purser-record-key in Purser's namespace. Purser ignores a tokenDigest without a valid signature.
   */
  readonly tokenSignature?: string;
  /**
   * SHA-256 digest of the data that Purser last wrote into the Secret together with a token, and of the outputs that the data was rendered from. Purser rewrites a Secret whose data does not match the digest.
   */
  readonly secretDigest?: string;
  readonly secretRef?: ManagedTokenSecretRef;
  /**
   * Locations on target clusters where Purser may have created an anchor: the Secret that tokens with revocation BoundSecret are bound to. Purser adds a location before it creates the anchor, and removes the location after it has deleted the anchor or stopped trying to delete it.
   *
   * @maxItems 16
   */
  readonly anchors?: readonly ManagedTokenAnchor[];
}
export interface ManagedTokenCondition {
  /**
   * Type of the condition: Ready or RotationFailing.
   */
  readonly type: string;
  /**
   * Status of the condition.
   */
  readonly status: 'True' | 'False' | 'Unknown';
  /**
   * Value of metadata.generation that the condition was set for.
   */
  readonly observedGeneration?: number;
  /**
   * Last time the condition transitioned from one status to another.
   */
  readonly lastTransitionTime: string;
  /**
   * Reason for the status, as one word in CamelCase.
   */
  readonly reason: string;
  /**
   * Human-readable explanation of the status.
   */
  readonly message: string;
}
/**
 * The Secret that Purser wrote last. When the permission is withdrawn, Purser deletes this Secret even if users of the namespace have removed its label or owner reference.
 */
export interface ManagedTokenSecretRef {
  /**
   * Name of the Secret.
   */
  readonly name: string;
  /**
   * UID of the Secret.
   */
  readonly uid: string;
}
export interface ManagedTokenAnchor {
  /**
   * Name of the Cluster.
   */
  readonly cluster: string;
  /**
   * Namespace of the service account on the target cluster.
   */
  readonly namespace: string;
  /**
   * Name of the service account. Purser deletes the anchor before it replaces this entry with one for another service account in the same namespace.
   */
  readonly serviceAccount: string;
  /**
   * UID of the Cluster when Purser added this entry. If the Cluster has been re-created since, and the anchor is not found on the cluster that the Cluster now refers to, Purser cannot confirm that the anchor was deleted.
   */
  readonly clusterUID: string;
  /**
   * Digest of the namespace, name and UID of the credential Secret; empty for Purser's own service account on the hub. If the Cluster now refers to another credential, and the anchor is not found on the cluster, Purser cannot confirm that the anchor was deleted.
   */
  readonly credential: string;
}
