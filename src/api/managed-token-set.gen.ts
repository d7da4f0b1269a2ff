// Generated from crds/ by `npm run generate`; do not edit. Fields with defaults are present, as in objects from an API server.

import type { NamespacedMeta } from './wire.ts';

/**
 * ManagedTokenSet declares that a workload needs a token for each of many clusters. Purser keeps one ManagedToken <set>-<cluster> for each Cluster that clusterSelector selects and that the requester in the template may issue tokens for. A set grants no permission: Purser authorizes each ManagedToken separately. To confirm the removal of many ManagedTokens, set the tokens.purser.dev/confirm-removal annotation to the value that the Progressing condition names.
 */
export interface ManagedTokenSet {
  readonly apiVersion: 'tokens.purser.dev/v1alpha1';
  readonly kind: 'ManagedTokenSet';
  readonly metadata: NamespacedMeta;
  readonly spec: ManagedTokenSetSpec;
  readonly status?: ManagedTokenSetStatus;
}
/**
 * Clusters of the set, the ManagedToken of each cluster, and the rollout of changes.
 */
export interface ManagedTokenSetSpec {
  readonly clusterSelector: ManagedTokenSetClusterSelector;
  readonly template: ManagedTokenSetTemplate;
  readonly rollout: ManagedTokenSetRollout;
  /**
   * If true, Purser publishes a ClusterProfile (multicluster.x-k8s.io/v1alpha1) for each cluster as soon as the ManagedToken is Ready. The ClusterProfile has the name of the ManagedToken. Consumers of the cluster inventory API use the ClusterProfile to connect to the cluster: the access provider secretreader in the ClusterProfile names the Secret of the ManagedToken, so the template must have the Token output. The hub needs the CustomResourceDefinition of sigs.k8s.io/cluster-inventory-api. After a change to false, Purser removes the ClusterProfiles.
   */
  readonly clusterProfiles: boolean;
}
/**
 * Label selector for Clusters. All requirements of matchLabels and matchExpressions must match; an empty selector matches every Cluster. Purser ignores Clusters that the requester is not authorized to issue tokens for.
 */
export interface ManagedTokenSetClusterSelector {
  /**
   * Labels that a Cluster must have, with their values.
   */
  readonly matchLabels?: {
    readonly [k: string]: string;
  };
  /**
   * Requirements for labels of a Cluster.
   *
   * @maxItems 16
   */
  readonly matchExpressions?: readonly ManagedTokenSetMatchExpression[];
}
export interface ManagedTokenSetMatchExpression {
  /**
   * Name of the label.
   */
  readonly key: string;
  /**
   * Relation between the label and the values: In, NotIn, Exists or DoesNotExist.
   */
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  /**
   * Values that the label is compared with.
   *
   * @maxItems 64
   */
  readonly values?: readonly string[];
}
/**
 * The ManagedToken of each cluster. In spec.secret.name, and in the values of labels and annotations, {{cluster}} stands for the name of the Cluster, and {{label "name"}} for the value of the Cluster's label with this name, or for an empty string if the Cluster lacks the label. Purser rolls out changes as spec.rollout allows.
 */
export interface ManagedTokenSetTemplate {
  readonly metadata: ManagedTokenSetTemplateMetadata;
  readonly spec: ManagedTokenSetTemplateSpec;
}
/**
 * Labels and annotations of each ManagedToken.
 */
export interface ManagedTokenSetTemplateMetadata {
  /**
   * Labels of each ManagedToken. Names under kubernetes.io, k8s.io and purser.dev are reserved. Values may contain {{cluster}} and {{label "name"}}; a value of more than 63 characters is truncated and ends with a hash.
   */
  readonly labels?: {
    readonly [k: string]: string;
  };
  /**
   * Annotations of each ManagedToken. Names under kubernetes.io, k8s.io and purser.dev are reserved. Values may contain {{cluster}} and {{label "name"}}.
   */
  readonly annotations?: {
    readonly [k: string]: string;
  };
}
/**
 * Spec of each ManagedToken, without clusterName.
 */
export interface ManagedTokenSetTemplateSpec {
  readonly serviceAccount: ManagedTokenSetTemplateServiceAccount;
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
  readonly boundObjectRef?: ManagedTokenSetTemplateBoundObjectRef;
  /**
   * Name of the service account that requests the token. It is on the hub, in the namespace of the ManagedToken. RBAC must grant this service account the verb issue on clusters/token in the API group registry.purser.dev, for the resource name <cluster>, <cluster>/<namespace> or <cluster>/<namespace>/<serviceaccount>. For a Cluster with the label registry.purser.dev/set, set:<set> can replace <cluster>. A namespace in the --protected-namespaces option, such as kube-system, is covered only by a resource name that includes the namespace, or by a rule without resource names. Purser checks the permission at every issuance, and removes the Secret when the permission is withdrawn.
   */
  readonly requesterServiceAccountName: string;
  readonly rotation: ManagedTokenSetTemplateRotation;
  readonly secret: ManagedTokenSetTemplateSecret;
  /**
   * Method for revoking the token before it expires. None: Purser cannot revoke the token; deleting the ManagedToken and the Secret does not invalidate it. BoundSecret: Purser creates a small Secret in the namespace of the service account on the target cluster and binds every token to that Secret. Deleting the ManagedToken, or setting a new value of the tokens.purser.dev/revoke annotation, then invalidates the token within seconds if the cluster responds. After a change to this field, Purser removes the old token and issues a new one.
   */
  readonly revocation: 'None' | 'BoundSecret';
}
/**
 * Service account that the token authenticates as, on the target cluster. It must exist. After a change, Purser removes the old token and issues one for the new service account.
 */
export interface ManagedTokenSetTemplateServiceAccount {
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
export interface ManagedTokenSetTemplateBoundObjectRef {
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
export interface ManagedTokenSetTemplateRotation {
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
export interface ManagedTokenSetTemplateSecret {
  /**
   * Name of the Secret. The default is the name of the ManagedToken. After a change, Purser writes the new Secret before it deletes the old one. {{cluster}} stands for the name of the Cluster, and {{label "name"}} for the value of the Cluster's label with this name. A name of more than 253 characters is truncated and ends with a hash.
   */
  readonly name?: string;
  /**
   * Labels of the Secret. Names under kubernetes.io, k8s.io, argocd.argoproj.io and purser.dev are reserved. Values may contain {{cluster}} and {{label "name"}}; a value of more than 63 characters is truncated and ends with a hash.
   */
  readonly labels?: {
    readonly [k: string]: string;
  };
  /**
   * Annotations of the Secret. Names under kubernetes.io, k8s.io, argocd.argoproj.io and purser.dev are reserved. Values may contain {{cluster}} and {{label "name"}}.
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
  readonly keys?: readonly ManagedTokenSetTemplateKey[];
  readonly argocd?: ManagedTokenSetTemplateArgocd;
}
export interface ManagedTokenSetTemplateKey {
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
export interface ManagedTokenSetTemplateArgocd {
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
 * Rollout of a changed template. New clusters get their ManagedToken immediately.
 */
export interface ManagedTokenSetRollout {
  /**
   * Maximum number of ManagedTokens that the rollout has changed and that are neither Ready nor failed yet. A ManagedToken has failed if it reports a failure after the change, or if the requester is not authorized to issue the token of the new template. The rollout stops when the number of failed ManagedTokens reaches a third of maxConcurrent, or a third of the ManagedTokens if the set has fewer than maxConcurrent. The default is 10.
   */
  readonly maxConcurrent: number;
}
/**
 * Observed state of the set, reported by Purser.
 */
export interface ManagedTokenSetStatus {
  /**
   * Value of metadata.generation that this status describes.
   */
  readonly observedGeneration?: number;
  /**
   * Number of selected Clusters that have or need a ManagedToken.
   */
  readonly clusters?: number;
  /**
   * Number of clusters whose ManagedToken is Ready.
   */
  readonly ready?: number;
  /**
   * Number of clusters whose ManagedToken is not Ready because of a failure, or cannot be written.
   */
  readonly failing?: number;
  /**
   * Number of clusters whose ManagedToken matches the current template.
   */
  readonly updated?: number;
  /**
   * The first ten failing clusters, sorted by name.
   *
   * @maxItems 10
   */
  readonly failures?: readonly ManagedTokenSetFailure[];
  readonly rollout?: ManagedTokenSetRollout1;
  /**
   * Conditions of the set. Ready: the ManagedTokens of all clusters are Ready. Progressing: Purser creates, changes or removes ManagedTokens, or waits for their tokens. ClusterProfilesPublished: ClusterProfiles are published for all clusters with a valid token. Purser adds this condition when clusterProfiles is true and the set has at least one cluster, and removes it when clusterProfiles is false and all ClusterProfiles are removed.
   *
   * @maxItems 16
   */
  readonly conditions?: readonly ManagedTokenSetCondition[];
}
export interface ManagedTokenSetFailure {
  /**
   * Name of the Cluster.
   */
  readonly clusterName: string;
  /**
   * Reason for the failure, as one word in CamelCase.
   */
  readonly reason: string;
  /**
   * Human-readable explanation of the failure.
   */
  readonly message: string;
}
/**
 * The rollout of the current template. ManagedTokens that failed before startTime do not stop the rollout.
 */
export interface ManagedTokenSetRollout1 {
  /**
   * Digest of the template.
   */
  readonly templateDigest: string;
  /**
   * Time at which the rollout started.
   */
  readonly startTime: string;
}
export interface ManagedTokenSetCondition {
  /**
   * Type of the condition: Ready, Progressing or ClusterProfilesPublished.
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
