// Generated from crds/ by `npm run generate`; do not edit. Fields with defaults are present, as in objects from an API server.

import type { ObjectMeta } from './wire.ts';

/**
 * A Cluster registers a Kubernetes cluster with Purser: where its API server is, and which credential Purser uses there. Purser probes it, reports its health in the status, and issues tokens for its service accounts. The name of the Cluster is the name that ManagedTokens, callers of the token endpoint and RBAC rules use.
 */
export interface Cluster {
  readonly apiVersion: 'registry.purser.dev/v1alpha1';
  readonly kind: 'Cluster';
  readonly metadata: ObjectMeta;
  readonly spec: ClusterSpec;
  readonly status?: ClusterStatus;
}
/**
 * What is known of the cluster by those who registered it.
 */
export interface ClusterSpec {
  readonly orchestratorApiEndpoints: ClusterOrchestratorApiEndpoints;
  readonly authInfo?: ClusterAuthInfo;
}
/**
 * Where the cluster's API server is. Everybody who may see the Cluster may read this. A change takes effect with the next request; tokens that exist stay as they are. Purser uses the Cluster only if its credential names every address and every certificate: see authInfo.controller.
 */
export interface ClusterOrchestratorApiEndpoints {
  /**
   * The certificates that vouch for the API server: PEM, encoded as base64. Without it the public roots that Node brings along are trusted, and no others: an authority of one's own has to be named here. TLS is always verified. A change is written into kubeconfig and Argo CD Secrets without issuing new tokens.
   */
  readonly caBundle?: string;
  /**
   * The addresses of the API server, one for each part of the network. A client uses the address whose clientCIDR holds its own address, the longest prefix first; several addresses for the same clientCIDR are tried in this order.
   *
   * @minItems 1
   * @maxItems 16
   */
  readonly serverEndpoints: readonly ClusterServerEndpoint[];
}
export interface ClusterServerEndpoint {
  /**
   * The clients that this address is for, as a block of IP addresses: 10.0.0.0/8 or 2001:db8::/32. 0.0.0.0/0 stands for all of IPv4, ::/0 for all of IPv6.
   */
  readonly clientCIDR: string;
  /**
   * The address that these clients use: an https URL such as https://prod-eu.example.com:6443, with a path where the cluster is behind a proxy, or host and port without https://. The port is 443 unless given.
   */
  readonly serverAddress: string;
}
/**
 * How to authenticate to the cluster. These are references; credentials are never part of a Cluster, and callers of the cluster list do not see them.
 */
export interface ClusterAuthInfo {
  readonly controller?: ClusterController;
  readonly user?: ClusterUser;
}
/**
 * The credential that Purser uses. Without it the cluster is listed, but not probed, and no token can be issued for it. A change takes effect with the next request.
 */
export interface ClusterController {
  /**
   * Secret: the Secret holds the credential (token, or tls.crt and tls.key) and what it may be used with: the addresses (server), the certificate authorities (ca.crt: PEM, or the word system for public ones), the names of the Clusters (cluster) and, optionally, the namespaces of the service accounts that tokens are issued for (namespaces). ServiceAccount: the cluster is the one that Purser runs in; only for the Cluster that the setting --hub-cluster names. Purser then uses its own client for the hub, and never dials the addresses above.
   */
  readonly kind: 'Secret' | 'ServiceAccount';
  /**
   * The name of the Secret, or of Purser's own service account.
   */
  readonly name: string;
  /**
   * Its namespace. Purser reads credentials only from its own namespace and those that the operator allows by a setting.
   */
  readonly namespace: string;
}
/**
 * A hint for people about the credential that they can use, such as a group to join. Purser stores it and never reads it.
 */
export interface ClusterUser {
  /**
   * What is referred to, such as Secret, ServiceAccount, User or Group.
   */
  readonly kind: string;
  /**
   * Its name.
   */
  readonly name: string;
  /**
   * Its namespace, where it has one.
   */
  readonly namespace?: string;
}
/**
 * What Purser found out about the cluster.
 */
export interface ClusterStatus {
  /**
   * The distribution of the cluster, told from its version: Kubernetes, K3s, EKS, GKE, AKS, OpenShift and others.
   */
  readonly type?: string;
  /**
   * The version that the cluster's API server reports (gitVersion), such as v1.36.4.
   */
  readonly version?: string;
  /**
   * The address that Purser uses now, one of spec.orchestratorApiEndpoints.serverEndpoints. It moves to another one while an address does not answer. Shown on the hub alone, not in the cluster list.
   */
  readonly activeEndpoint?: string;
  /**
   * The health of the cluster. Reachable: its API server answers. Authorized: Purser's credential is accepted and has the rights that it needs. CredentialFresh: the credential is far from its end. Ready: tokens can be issued. Treat a condition as Unknown when its lastHeartbeatTime is older than three heartbeats.
   *
   * @maxItems 16
   */
  readonly conditions?: readonly ClusterCondition[];
}
export interface ClusterCondition {
  /**
   * Which aspect this is about (Reachable, Authorized, CredentialFresh or Ready).
   */
  readonly type: string;
  /**
   * Whether the aspect holds. Unknown means that Purser itself could not find out.
   */
  readonly status: 'True' | 'False' | 'Unknown';
  /**
   * Why the status last changed, in one word for programs.
   */
  readonly reason?: string;
  /**
   * Why the status last changed, in a sentence for people.
   */
  readonly message?: string;
  /**
   * When the condition was last updated, whether or not it changed.
   */
  readonly lastHeartbeatTime?: string;
  /**
   * When the status last moved from one value to another.
   */
  readonly lastTransitionTime?: string;
}
