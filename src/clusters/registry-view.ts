// Informers of registered clusters, and lookups in their stores.

import type { Cluster } from '../api/cluster.gen.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import type { Secret, Stored } from '../api/resources.ts';
import type { Informer } from '../kube/informer.ts';
import type { Store } from '../kube/store.ts';
import { credentialKeys, type RegisteredCluster, registeredCluster } from '../targets/registered-cluster.ts';

/** Informers of the objects that register clusters. */
export interface ClusterInformers {
  readonly clusters: Informer<Cluster>;
  /** Secrets that Clusters may refer to, with one informer for each namespace. */
  readonly credentials: readonly Informer<Secret>[];
  readonly tokens: Informer<ManagedToken>;
}

/** Looks objects up in stores; sends no requests. */
export class RegistryView {
  readonly clusters: Store<Cluster>;
  /** Clusters that refer to a Secret, by the Secret's key. */
  readonly clustersOfCredential: (key: string) => readonly Stored<Cluster>[];
  readonly #credentials: readonly Store<Secret>[];
  readonly #tokens: Store<ManagedToken>;
  #tokensByCluster: ((name: string) => readonly ManagedToken[]) | undefined;

  constructor({ clusters, credentials, tokens }: ClusterInformers) {
    this.clusters = clusters.store;
    this.#credentials = credentials.map(({ store }) => store);
    this.#tokens = tokens.store;
    this.clustersOfCredential = this.clusters.index(credentialKeys);
  }

  /** Returns a Cluster with Purser's credential for it; undefined if the Cluster does not exist. */
  registered(name: string): RegisteredCluster | undefined {
    return registeredCluster(name, this.clusters, this.#credentials);
  }

  /** Returns all Clusters with Purser's credentials for them. */
  allRegistered(): readonly RegisteredCluster[] {
    return this.clusters.keys().flatMap((name) => this.registered(name) ?? []);
  }

  /** Returns the ManagedTokens for a cluster. The index is built on first use, because most fleets never need it. */
  tokensForCluster(name: string): readonly ManagedToken[] {
    this.#tokensByCluster ??= this.#tokens.index(({ spec }) => [spec.clusterName]);
    return this.#tokensByCluster(name);
  }
}
