// Generated from crds/ by `npm run generate`; do not edit. Fields with defaults are present, as in objects from an API server.

import type { NamespacedMeta } from './wire.ts';

/**
 * A ManagedToken declares that a workload needs a token of a service account on a registered cluster. Purser issues the token through that cluster's TokenRequest API, keeps it in a Secret in this namespace, renews it before the granted expiry, and removes it when it is no longer allowed. The annotation tokens.purser.dev/rotate asks for a new token now, tokens.purser.dev/revoke (with revocation BoundSecret) withdraws the current one; each new value of them acts once.
 */
export interface ManagedToken {
  readonly apiVersion: 'tokens.purser.dev/v1alpha1';
  readonly kind: 'ManagedToken';
  readonly metadata: NamespacedMeta;
  readonly spec: ManagedTokenSpec;
  readonly status?: ManagedTokenStatus;
}
/**
 * Which token is wanted, and how it is kept.
 */
export interface ManagedTokenSpec {
  /**
   * The name of the Cluster that the token is for. After a change the old token is removed and one for the new cluster is issued.
   */
  readonly clusterName: string;
  readonly serviceAccount: ManagedTokenServiceAccount;
  /**
   * Who the token is meant for. A recipient accepts a token only when its own identifier is among the audiences. A token for several audiences is valid at each of them, and each of them could use it at the others: name several only when they trust one another, and make one ManagedToken for each otherwise. For a cluster's own API server it is usually https://kubernetes.default.svc; ask the cluster's owner. After a change the old token is removed and a new one is issued.
   *
   * @minItems 1
   * @maxItems 16
   */
  readonly audiences: readonly string[];
  /**
   * How long the token should be valid, in seconds: from 600 (10 minutes) to 4294967296, 3600 by default. The cluster may grant another validity; status.expirationTimestamp tells, and rotation follows what was granted. A change takes effect with the next rotation.
   */
  readonly expirationSeconds: number;
  readonly boundObjectRef?: ManagedTokenBoundObjectRef;
  /**
   * Who asks for the token: a service account of the ManagedToken's own namespace, on the hub, "default" by default. RBAC must allow it to issue clusters/token in the group registry.purser.dev, under the name <cluster>, <cluster>/<namespace> or <cluster>/<namespace>/<serviceaccount>. This is asked at every issuance; when the permission is withdrawn, the Secret is removed.
   */
  readonly requesterServiceAccountName: string;
  readonly rotation: ManagedTokenRotation;
  readonly secret: ManagedTokenSecret;
  /**
   * How the token can be taken back before it expires. None, the default: not at all; the token lives to its expiry even when the ManagedToken and the Secret are gone. BoundSecret: Purser keeps a small Secret beside the service account on the target cluster and binds every token to it; deleting the ManagedToken, or a new value of the annotation tokens.purser.dev/revoke, kills the token within seconds. A change takes effect by a new token.
   */
  readonly revocation: 'None' | 'BoundSecret';
}
/**
 * The service account on that cluster which the token stands for. It must exist there. After a change the old token is removed and one for the new account is issued.
 */
export interface ManagedTokenServiceAccount {
  /**
   * The namespace of the service account, on the target cluster.
   */
  readonly namespace: string;
  /**
   * The name of the service account.
   */
  readonly name: string;
}
/**
 * An object beside the service account, on the target cluster, that the token is bound to: when the object is deleted, the token is no longer valid. A change takes effect by a new token. Not together with revocation BoundSecret.
 */
export interface ManagedTokenBoundObjectRef {
  /**
   * The API version of the object, v1.
   */
  readonly apiVersion: 'v1';
  /**
   * The kind of the object, Pod or Secret.
   */
  readonly kind: 'Pod' | 'Secret';
  /**
   * The name of the object, in the namespace of the service account.
   */
  readonly name: string;
  /**
   * The UID of the object. When given, no token is issued for another object of the same name.
   */
  readonly uid?: string;
}
/**
 * When the token is renewed. Changes move the next rotation and do not issue a token by themselves.
 */
export interface ManagedTokenRotation {
  /**
   * How long before its expiry the token is renewed: a share of the granted lifetime, from 1% to 90%, or a duration such as 15m or 1h30m. 20% by default. The rotation comes up to 5% of the lifetime earlier, so that tokens made together do not renew together, and never in the first tenth of the lifetime.
   */
  readonly renewBefore: string;
  /**
   * Whether to stop renewing, false by default. A suspended token is kept until it expires; its Secret is not repaired.
   */
  readonly suspend: boolean;
}
/**
 * The Secret that holds the token. It is of type Opaque, belongs to the ManagedToken and is deleted with it. A Secret that another object owns is never changed. Changes rewrite the Secret and do not issue a token.
 */
export interface ManagedTokenSecret {
  /**
   * The name of the Secret, the ManagedToken's own name by default. After a change the new Secret is written before the old one is deleted.
   */
  readonly name?: string;
  /**
   * Labels to put on the Secret. Names under kubernetes.io, k8s.io, argocd.argoproj.io and purser.dev are reserved.
   */
  readonly labels?: {
    readonly [k: string]: string;
  };
  /**
   * Annotations to put on the Secret. Names under kubernetes.io, k8s.io, argocd.argoproj.io and purser.dev are reserved.
   */
  readonly annotations?: {
    readonly [k: string]: string;
  };
  /**
   * The forms in which the token is written, any of them together; Token by default. Every form has the key token. Token adds ca.crt, server and namespace. Kubeconfig adds kubeconfig and value, which Flux and Cluster API read. ArgoCD adds name, server and config, and the label that makes Argo CD take the Secret for a cluster; make the ManagedToken in Argo CD's namespace then.
   *
   * @minItems 1
   * @maxItems 3
   */
  readonly outputs: readonly ('Token' | 'Kubeconfig' | 'ArgoCD')[];
  /**
   * The address of the cluster to write into the Secret, one of the Cluster's serverAddress. By default it is the one for Purser's own place in the network. For the hub it is always the address by which Purser itself reaches the hub.
   */
  readonly server?: string;
}
/**
 * What Purser did. It is a report; the Secret is the record of the token, and anchors is a record, too.
 */
export interface ManagedTokenStatus {
  /**
   * The metadata.generation that this status is about.
   */
  readonly observedGeneration?: number;
  /**
   * Ready: the Secret holds a valid token for this spec. RotationFailing: the token could not be renewed; while the old one is still valid, Ready stays True.
   *
   * @maxItems 16
   */
  readonly conditions?: readonly ManagedTokenCondition[];
  /**
   * The Secret that holds the token.
   */
  readonly secretName?: string;
  /**
   * The UID of the service account that the token was issued for.
   */
  readonly serviceAccountUID?: string;
  /**
   * When the token was issued.
   */
  readonly issuedAt?: string;
  /**
   * When the token expires, as granted by the cluster.
   */
  readonly expirationTimestamp?: string;
  /**
   * When the token will be renewed. Absent while rotation is suspended.
   */
  readonly nextRotationTime?: string;
  /**
   * The token's identifier (the jti of a JWT, where the token is one). The target cluster's audit log names it for every request made with the token.
   */
  readonly credentialID?: string;
  /**
   * How often the token has been renewed.
   */
  readonly rotations?: number;
  /**
   * The value of the annotation tokens.purser.dev/rotate that was acted on last.
   */
  readonly lastRotateRequest?: string;
  /**
   * The value of the annotation tokens.purser.dev/revoke that was acted on last.
   */
  readonly lastRevokeRequest?: string;
  /**
   * SHA-256 digest of the token that Purser issued last. The removal limits count only Secrets that hold this token.
   */
  readonly tokenDigest?: string;
  /**
   * Places on target clusters where Purser may have created the Secret that tokens with revocation BoundSecret are bound to. Purser adds a place before it creates the Secret, and removes the place after it has deleted the Secret.
   *
   * @maxItems 16
   */
  readonly anchors?: readonly ManagedTokenAnchor[];
}
export interface ManagedTokenCondition {
  /**
   * Which aspect this is about (Ready or RotationFailing).
   */
  readonly type: string;
  /**
   * Whether the aspect holds.
   */
  readonly status: 'True' | 'False' | 'Unknown';
  /**
   * The metadata.generation that the condition was set for.
   */
  readonly observedGeneration?: number;
  /**
   * When the status last moved from one value to another.
   */
  readonly lastTransitionTime: string;
  /**
   * Why the status is what it is, in one word for programs.
   */
  readonly reason: string;
  /**
   * Why the status is what it is, in a sentence for people.
   */
  readonly message: string;
}
export interface ManagedTokenAnchor {
  /**
   * Name of the Cluster.
   */
  readonly cluster: string;
  /**
   * Namespace of the service account on that cluster.
   */
  readonly namespace: string;
  /**
   * UID of the Cluster. If the Cluster is replaced, Purser does not take a Secret that it does not find there for deleted.
   */
  readonly clusterUID: string;
  /**
   * Digest of the name of the credential; empty for Purser's own service account on the hub. If the Cluster refers to another credential, it counts as replaced.
   */
  readonly credential: string;
}
