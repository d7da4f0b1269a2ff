// The registry of clusters: Cluster objects and Purser's credentials for them, their informers, and lookups in the stores.

import type { Cluster } from '../api/cluster.gen.ts';
import {
  CredentialSecretKey,
  Label,
  LabelValue,
  RegistryGroup,
  RenewCredentialAnnotation,
  RevokeCredentialAnnotation,
} from '../api/names.ts';
import { Clusters, ManagedTokens, type Secret, Secrets, type Stored } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { createInformer, createReducedInformer, type Informer } from '../kube/informer.ts';
import type { Store } from '../kube/store.ts';
import type { Clock } from '../std/clock.ts';
import { computeDigest } from '../std/digest.ts';
import { readClusterNames } from './credential.ts';
import { credentialKeyOf, type IssuingCredential } from './policy/registration.ts';
import { isRenewedSecret, toRenewedName } from './policy/renewed-secret.ts';

/** A Cluster, and Purser's credential for it if the credential exists. */
export interface RegisteredCluster {
  readonly cluster: Stored<Cluster>;
  /** The Secret that `spec.authInfo.controller` refers to; undefined if it does not exist. */
  readonly credential?: Stored<Secret> | undefined;
  /** The Secret with the renewed token of the credential; undefined if it does not exist. */
  readonly renewed?: Stored<Secret> | undefined;
}

export interface RegistryInformersOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: () => number;
  /** Namespaces in which Clusters may have their credentials. */
  readonly credentialNamespaces: readonly string[];
  /** Prefixes of Cluster annotations to keep; none by default. */
  readonly annotationPrefixes?: readonly string[] | undefined;
}

/** Informers of the objects that register clusters. */
export interface RegistryInformers {
  readonly clusters: Informer<Cluster>;
  /** Secrets that Clusters can refer to, one informer for each namespace. */
  readonly credentials: readonly Informer<Secret>[];
}

/** Creates the informers, which start on subscription. */
export function createRegistryInformers(options: RegistryInformersOptions): RegistryInformers {
  const { credentialNamespaces, annotationPrefixes = [], ...common } = options;
  // Drops all other annotations: users who can patch Clusters could otherwise fill the memory with annotations.
  const isKept = (annotation: string) => annotationPrefixes.some((prefix) => annotation.startsWith(prefix));
  const labelSelector = `${Label.managedBy}!=${LabelValue.managedBy}`;
  return {
    clusters: createInformer({ ...common, resource: Clusters }, isKept),
    credentials: credentialNamespaces.map((namespace) =>
      createReducedInformer({ ...common, resource: Secrets, selection: { namespace, labelSelector } }, reduceCredential),
    ),
  };
}

interface RegistryStores {
  readonly clusters: Pick<Informer<Cluster>, 'store'>;
  readonly credentials: readonly Pick<Informer<Secret>, 'store'>[];
}

/** Looks up registered clusters in the stores of informers; sends no requests. */
export class Registry {
  readonly clusters: Store<Cluster>;
  #clustersByCredential: ((key: string) => readonly Stored<Cluster>[]) | undefined;
  readonly #credentials: readonly Store<Secret>[];

  constructor({ clusters, credentials }: RegistryStores) {
    this.clusters = clusters.store;
    this.#credentials = credentials.map(({ store }) => store);
  }

  /**
   * Returns a Cluster with Purser's credential for it; undefined if the Cluster does not exist or is being deleted, even while a
   * finalizer keeps the object: a user who can edit only metadata could otherwise keep a Cluster in use.
   */
  readonly registered = (name: string): RegisteredCluster | undefined => {
    const cluster = this.clusters.get(name);
    if (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) return undefined;
    const key = credentialKeyOf(cluster);
    const find = (secretKey: string) => (key === '' ? undefined : this.#credentials.map((store) => store.get(secretKey)).find(Boolean));
    return { cluster, credential: find(key), renewed: find(toRenewedName(key)) };
  };

  /** Returns the Clusters that refer to the Secret with this key, `namespace/name`. The index is built on first use. */
  clustersOfCredential(key: string): readonly Stored<Cluster>[] {
    this.#clustersByCredential ??= this.clusters.index(credentialKeysOf);
    return this.#clustersByCredential(key);
  }

  /** Returns all Clusters that are not being deleted, each with Purser's credential for it if the credential exists. */
  allRegistered(): readonly RegisteredCluster[] {
    return this.clusters.keys().flatMap((name) => this.registered(name) ?? []);
  }

  /**
   * Returns the Clusters that use a Secret as their credential, sorted by name. Clusters that the Secret does not name are omitted: a user
   * who can write Clusters must not affect the renewal of credentials for other Clusters.
   */
  clustersUsing(key: string): readonly RegisteredCluster[] {
    return this.clustersOfCredential(key)
      .map(({ metadata }) => metadata.name)
      .sort()
      .flatMap((name) => this.registered(name) ?? [])
      .filter(({ cluster, credential }) => credential !== undefined && readClusterNames(credential).includes(cluster.metadata.name));
  }
}

/** Returns the keys of the Secrets that a Cluster refers to: one or none. */
export function credentialKeysOf(cluster: Cluster): readonly string[] {
  const key = credentialKeyOf(cluster);
  return key === '' ? [] : [key];
}

const CREDENTIAL_KEYS: readonly string[] = Object.values(CredentialSecretKey);
const REQUEST_ANNOTATIONS: ReadonlySet<string> = new Set([RenewCredentialAnnotation, RevokeCredentialAnnotation]);

/**
 * Returns a Secret with only the keys of a credential, the metadata that identifies the Secret and shows whether it belongs to a
 * ManagedToken or is a renewed Secret, and the annotations that Purser reads.
 */
export function reduceCredential(secret: Stored<Secret>): Stored<Secret> {
  const { namespace, name, uid, resourceVersion, creationTimestamp, labels, annotations = {}, ownerReferences } = secret.metadata;
  const isMarked = isManaged(secret) || isRenewedSecret(secret);
  const isRead = (annotation: string) =>
    isRenewedSecret(secret) ? annotation.startsWith(`${RegistryGroup}/`) : REQUEST_ANNOTATIONS.has(annotation);
  const read = Object.entries(annotations).filter(([annotation]) => isRead(annotation));
  return {
    metadata: {
      namespace,
      name,
      uid,
      resourceVersion,
      ...(creationTimestamp && { creationTimestamp }),
      ...(isMarked && { ...(labels && { labels }), ...(ownerReferences && { ownerReferences }) }),
      ...(read.length > 0 && { annotations: Object.fromEntries(read) }),
    },
    data: Object.fromEntries(Object.entries(secret.data ?? {}).filter(([key]) => CREDENTIAL_KEYS.includes(key))),
  };
}

/** Returns whether Purser manages a Secret for a ManagedToken. Such a Secret is never a credential. */
export function isManaged({ metadata: { labels = {}, ownerReferences = [] } }: Secret): boolean {
  const isOwner = ({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }) =>
    kind === ManagedTokens.kind && apiVersion.split('/')[0] === ManagedTokens.group;
  return Object.hasOwn(labels, Label.managedBy) || ownerReferences.some(isOwner);
}

/**
 * Returns an identifier of the cluster that Purser connects to, equal for all Clusters with the same credential: all names and addresses in
 * one credential Secret belong to one cluster. Returns undefined if the credential does not exist, so that Purser does not connect.
 */
export function dialedClusterOf({ cluster, credential }: RegisteredCluster): string | undefined {
  if (cluster.spec.authInfo?.controller?.kind === 'ServiceAccount') return 'hub';
  return credential && credentialKeyOf(cluster);
}

/** Returns the identity of the Cluster and the credential that tokens are issued with now. */
export function toIssuingCredential({ cluster, credential }: RegisteredCluster): IssuingCredential {
  const key = credentialKeyOf(cluster);
  // Includes the UID, because another Secret of the same name may allow other addresses.
  const digest = key === '' ? '' : computeDigest(`${key} ${credential?.metadata.uid}`);
  return { clusterUID: cluster.metadata.uid, credential: digest };
}

/** Identity of a registration, which changes with the Cluster, its spec, its credential and the renewal of the credential. */
export interface Registration {
  readonly cluster: string;
  readonly credential: string;
  readonly renewed: string;
}

/** Returns the identity of the registration as it is now. */
export function registrationOf({ cluster, credential, renewed }: RegisteredCluster): Registration {
  return {
    cluster: `${cluster.metadata.uid}/${cluster.metadata.generation}`,
    credential: versionOf(credential),
    renewed: versionOf(renewed),
  };
}

function versionOf(secret: Stored<Secret> | undefined): string {
  return secret === undefined ? '' : `${secret.metadata.uid}/${secret.metadata.resourceVersion}`;
}

export function isSameRegistration(a: Registration, b: Registration): boolean {
  return isSameExceptRenewal(a, b) && a.renewed === b.renewed;
}

/** Returns whether two registrations differ at most in the renewed token. */
export function isSameExceptRenewal(a: Registration, b: Registration): boolean {
  return a.cluster === b.cluster && a.credential === b.credential;
}
