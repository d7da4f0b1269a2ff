// What the informers know of the hub, by what it is looked up.

import { IssueTokens, RbacIndex } from '../access/rbac-index.ts';
import type { Cluster } from '../api/cluster.gen.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import type { ClusterRole, ClusterRoleBinding, Secret, ServiceAccount } from '../api/resources.ts';
import type { Informer } from '../kube/informer.ts';
import { objectKey } from '../kube/paths.ts';
import type { Store } from '../kube/store.ts';
import { credentialKeys, type RegisteredCluster, registeredCluster } from '../targets/registered-cluster.ts';
import type { StoredSecret } from './policy/observation.ts';
import { secretNameOf } from './policy/secret.ts';

/** Everything that is watched. */
export interface TokenInformers {
  readonly tokens: Informer<ManagedToken>;
  readonly clusters: Informer<Cluster>;
  /** Those that Purser writes. */
  readonly secrets: Informer<StoredSecret>;
  /** The Secrets that Clusters may refer to, one informer for each namespace. */
  readonly credentials: readonly Informer<Secret>[];
  /** Service accounts: those that ask for tokens must exist. */
  readonly requesters: Informer<ServiceAccount>;
  readonly roles: Informer<ClusterRole>;
  readonly bindings: Informer<ClusterRoleBinding>;
}

/** Looks things up; never asks the server. */
export class HubView {
  readonly tokens: Store<ManagedToken>;
  readonly clusters: Store<Cluster>;
  readonly secrets: Store<StoredSecret>;
  /** Permissions of requesters to issue tokens; kept up to date by `wakes`. */
  readonly permissions = new RbacIndex(IssueTokens);
  /** The Secrets that an object owns, by its UID. */
  readonly secretsOwnedBy: (uid: string) => readonly StoredSecret[];
  readonly tokensForCluster: (name: string) => readonly ManagedToken[];
  /** By the key of the Secret that they want. */
  readonly tokensForSecret: (key: string) => readonly ManagedToken[];
  /** By the key of the service account that asks for them. */
  readonly tokensOfRequester: (key: string) => readonly ManagedToken[];
  readonly tokensOfNamespace: (namespace: string) => readonly ManagedToken[];
  readonly countInNamespace: (namespace: string) => number;
  /** By the key of the Secret with our credential. */
  readonly clustersForCredential: (key: string) => readonly Cluster[];
  readonly #credentials: readonly Store<Secret>[];
  readonly #requesters: Store<ServiceAccount>;

  constructor({ tokens, clusters, secrets, credentials, requesters }: TokenInformers) {
    this.tokens = tokens.store;
    this.clusters = clusters.store;
    this.secrets = secrets.store;
    this.#credentials = credentials.map(({ store }) => store);
    this.#requesters = requesters.store;
    this.secretsOwnedBy = this.secrets.index(({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid));
    this.tokensForCluster = this.tokens.index(({ spec }) => [spec.clusterName]);
    this.tokensForSecret = this.tokens.index((token) => [secretKeyOf(token)]);
    this.tokensOfRequester = this.tokens.index((token) => [requesterKeyOf(token)]);
    this.tokensOfNamespace = this.tokens.index(({ metadata }) => [metadata.namespace ?? '']);
    this.countInNamespace = this.tokens.tally(({ metadata }) => [metadata.namespace ?? '']);
    this.clustersForCredential = this.clusters.index(credentialKeys);
  }

  /** A Cluster and our credential for it; undefined when there is no such Cluster. */
  registered(clusterName: string): RegisteredCluster | undefined {
    return registeredCluster(clusterName, this.clusters, this.#credentials);
  }

  hasRequester(token: ManagedToken): boolean {
    return this.#requesters.has(requesterKeyOf(token));
  }
}

/** The key of the Secret that a ManagedToken wants. */
export function secretKeyOf(token: ManagedToken): string {
  return `${token.metadata.namespace}/${secretNameOf(token)}`;
}

/** The key of the service account that asks for a token. */
export function requesterKeyOf({ metadata, spec }: ManagedToken): string {
  return `${metadata.namespace}/${spec.requesterServiceAccountName}`;
}

export function keysOf(tokens: readonly ManagedToken[]): readonly string[] {
  return tokens.map(objectKey);
}
