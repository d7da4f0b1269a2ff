// ClusterProfile of the cluster inventory API (sigs.k8s.io/cluster-inventory-api), reduced to the fields that Purser writes.

import type { NamespacedMeta } from './wire.ts';

export interface ClusterProfile {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: NamespacedMeta;
  readonly spec: ClusterProfileSpec;
  readonly status?: ClusterProfileStatus;
}

export interface ClusterProfileSpec {
  readonly displayName?: string;
  /** Manager of the cluster; immutable. */
  readonly clusterManager: { readonly name: string };
}

export interface ClusterProfileStatus {
  readonly version?: { readonly kubernetes?: string };
  readonly conditions?: readonly ClusterProfileCondition[];
  readonly accessProviders?: readonly AccessProvider[];
}

export interface ClusterProfileCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

/** Connection to the cluster, and the name under which consumers configure the plugin that obtains the credential. */
export interface AccessProvider {
  readonly name: string;
  readonly cluster?: {
    readonly server: string;
    /** PEM certificates in base64. */
    readonly 'certificate-authority-data'?: string;
    readonly extensions?: readonly { readonly name: string; readonly extension: Readonly<Record<string, unknown>> }[];
  };
}
