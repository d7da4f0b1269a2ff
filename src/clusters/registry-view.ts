// What the informers know of registered clusters.

import type { Cluster } from '../api/cluster.gen.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import type { Secret } from '../api/resources.ts';
import type { Informer } from '../kube/informer.ts';
import type { Store } from '../kube/store.ts';
import { credentialKeys, type RegisteredCluster, registeredCluster } from '../targets/registered-cluster.ts';

/** Everything that is watched. */
export interface ClusterInformers {
  readonly clusters: Informer<Cluster>;
  /** The Secrets that Clusters may refer to, one informer for each namespace. */
  readonly credentials: readonly Informer<Secret>[];
  readonly tokens: Informer<ManagedToken>;
}

/** Looks things up; never asks the server. */
export class RegistryView {
  readonly clusters: Store<Cluster>;
  /** The names of the Clusters that refer to a Secret, by its key. */
  readonly clustersOfCredential: (key: string) => readonly string[];
  readonly #credentials: readonly Store<Secret>[];
  readonly #tokens: Store<ManagedToken>;
  #tokensByCluster: ((name: string) => readonly ManagedToken[]) | undefined;

  constructor({ clusters, credentials, tokens }: ClusterInformers) {
    this.clusters = clusters.store;
    this.#credentials = credentials.map(({ store }) => store);
    this.#tokens = tokens.store;
    const byCredential = this.clusters.index(credentialKeys);
    this.clustersOfCredential = (key) => byCredential(key).map(({ metadata }) => metadata.name ?? '');
  }

  /** A Cluster and our credential for it; undefined when there is no such Cluster. */
  registered(name: string): RegisteredCluster | undefined {
    return registeredCluster(name, this.clusters, this.#credentials);
  }

  /** The ManagedTokens for a cluster. Most fleets never ask, and need no index for it. */
  tokensForCluster(name: string): readonly ManagedToken[] {
    this.#tokensByCluster ??= this.#tokens.index(({ spec }) => [spec.clusterName]);
    return this.#tokensByCluster(name);
  }
}
