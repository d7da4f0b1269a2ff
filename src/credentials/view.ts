// The informers of credentials and of the Clusters that use them, and lookups in their stores.

import type { Cluster } from '../api/cluster.gen.ts';
import type { Secret, Stored } from '../api/resources.ts';
import type { Informer } from '../kube/informer.ts';
import type { Store } from '../kube/store.ts';
import { clustersOf } from '../targets/credential.ts';
import { credentialKey } from '../targets/policy/registration.ts';
import { credentialKeys, type RegisteredCluster, registeredCluster } from '../targets/registered-cluster.ts';

/** The watched collections. */
export interface CredentialInformers {
  readonly clusters: Informer<Cluster>;
  /** The Secrets that Clusters may refer to, one informer for each namespace. */
  readonly credentials: readonly Informer<Secret>[];
}

/** Looks objects up in stores; sends no requests. */
export class CredentialView {
  readonly #clusters: Store<Cluster>;
  readonly #credentials: readonly Store<Secret>[];
  readonly #clustersByKey: (key: string) => readonly Stored<Cluster>[];

  constructor({ clusters, credentials }: CredentialInformers) {
    this.#clusters = clusters.store;
    this.#credentials = credentials.map(({ store }) => store);
    this.#clustersByKey = this.#clusters.index(credentialKeys);
  }

  /** Returns the keys of all Secrets that Clusters refer to. */
  keys(): readonly string[] {
    return [...new Set(this.#clusters.list().map(credentialKey))].filter((key) => key !== '');
  }

  /** Returns whether a Cluster refers to this Secret. */
  isReferred(key: string): boolean {
    return this.#clustersByKey(key).length > 0;
  }

  /**
   * Returns the Clusters that use a registered Secret, sorted by name. Clusters that the Secret does not name are omitted: a user who
   * writes Clusters must not affect the renewal of a credential that is not theirs.
   */
  registered(key: string): readonly RegisteredCluster[] {
    return this.#clustersByKey(key)
      .map(({ metadata }) => metadata.name)
      .sort()
      .flatMap((name) => registeredCluster(name, this.#clusters, this.#credentials) ?? [])
      .filter(({ cluster, credential }) => credential !== undefined && clustersOf(credential).includes(cluster.metadata.name));
  }
}
