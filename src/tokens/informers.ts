// Informers of the hub for ManagedTokens, each kind reduced to the fields that Purser reads, and the indexes over them.

import { setOf } from '../access/cluster-set.ts';
import { IssueTokens } from '../access/issue-permission.ts';
import { RbacIndex } from '../access/rbac-index.ts';
import type { Cluster } from '../api/cluster.gen.ts';
import { Label, LabelValue } from '../api/names.ts';
import {
  type ClusterRole,
  type ClusterRoleBinding,
  ClusterRoleBindings,
  ClusterRoles,
  Clusters,
  ManagedTokens,
  type Secret,
  Secrets,
  type ServiceAccount,
  ServiceAccounts,
  type Stored,
} from '../api/resources.ts';
import type { NamespacedMeta, StoredIdentity } from '../api/wire.ts';
import type { KubeClient, Selection } from '../kube/client.ts';
import { createInformer, createReducedInformer, type Informer, unionOf } from '../kube/informer.ts';
import { objectKey } from '../kube/paths.ts';
import type { Store } from '../kube/store.ts';
import type { Clock } from '../std/clock.ts';
import { credentialKeys, type RegisteredCluster, reduceCredential, registeredCluster } from '../targets/registered-cluster.ts';
import { byAge, type StoredSecret, secretNameOf } from './policy/secret.ts';
import type { StoredToken } from './policy/spec.ts';
import { MAX_OWNERS, reduceSecret, reduceToken, SECRET_BUDGET, TOKEN_BUDGET } from './reduce.ts';

export interface InformersOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: () => number;
  /** Namespaces in which Clusters may have their credentials. */
  readonly credentialNamespaces: readonly string[];
  /** Namespaces to watch for ManagedTokens; all by default. */
  readonly namespaces?: readonly string[] | undefined;
  /** Prefixes of the annotations of Clusters to keep; none by default. */
  readonly annotationPrefixes?: readonly string[];
}

/** Creates the informers, which start on subscription. */
export function createTokenInformers({
  credentialNamespaces,
  namespaces,
  annotationPrefixes = [],
  ...options
}: InformersOptions): TokenInformers {
  const everywhere: readonly Selection[] = [{}];
  const places = namespaces?.map((namespace): Selection => ({ namespace })) ?? everywhere;
  const ours = `${Label.managedBy}=${LabelValue.managedBy}`;
  const others = `${Label.managedBy}!=${LabelValue.managedBy}`;
  return {
    tokens: unionOf(
      places.map((selection) => createReducedInformer({ ...options, resource: ManagedTokens, selection }, reduceToken, TOKEN_BUDGET)),
    ),
    // Users who may patch Clusters could fill the memory with annotations.
    clusters: createInformer({ ...options, resource: Clusters }, (key) => annotationPrefixes.some((prefix) => key.startsWith(prefix))),
    secrets: unionOf(
      places.map((place) =>
        createReducedInformer({ ...options, resource: Secrets, selection: { ...place, labelSelector: ours } }, reduceSecret, SECRET_BUDGET),
      ),
    ),
    credentials: credentialNamespaces.map((namespace) =>
      createReducedInformer({ ...options, resource: Secrets, selection: { namespace, labelSelector: others } }, reduceCredential),
    ),
    requesters: unionOf(
      places.map((selection) =>
        createReducedInformer({ ...options, resource: ServiceAccounts, selection }, ({ metadata }) => ({
          metadata: namespacedIdentityOf(metadata),
        })),
      ),
    ),
    roles: createReducedInformer({ ...options, resource: ClusterRoles }, ({ metadata, rules = [] }) => ({
      metadata: identityOf(metadata),
      rules,
    })),
    bindings: createReducedInformer({ ...options, resource: ClusterRoleBindings }, ({ metadata, roleRef, subjects = [] }) => ({
      metadata: identityOf(metadata),
      roleRef,
      subjects,
    })),
  };
}

function identityOf({ name, uid, resourceVersion }: StoredIdentity): StoredIdentity {
  return { name, uid, resourceVersion };
}

function namespacedIdentityOf({ namespace, ...metadata }: NamespacedMeta & StoredIdentity): NamespacedMeta & StoredIdentity {
  return { ...identityOf(metadata), namespace };
}

/** Informers on the hub. */
export interface TokenInformers {
  readonly tokens: Informer<StoredToken>;
  readonly clusters: Informer<Cluster>;
  /** Secrets that Purser writes. */
  readonly secrets: Informer<StoredSecret>;
  /** Secrets that Clusters may refer to, one informer for each namespace. */
  readonly credentials: readonly Informer<Secret>[];
  /** Service accounts, which must exist to request tokens. */
  readonly requesters: Informer<ServiceAccount>;
  readonly roles: Informer<ClusterRole>;
  readonly bindings: Informer<ClusterRoleBinding>;
}

/** Stores of the informers and indexes over them; sends no requests. */
export class HubView {
  readonly tokens: Store<StoredToken>;
  readonly clusters: Store<Cluster>;
  readonly secrets: Store<StoredSecret>;
  /** Permissions of requesters to issue tokens; kept up to date by `tokenTriggers`. */
  readonly permissions = new RbacIndex(IssueTokens);
  /** Returns Secrets that a ManagedToken owns in its namespace, by `ownerKeyOf`; at most `limit`. */
  readonly secretsOwnedBy: (key: string, limit: number) => readonly StoredSecret[];
  readonly tokensForCluster: (name: string) => readonly StoredToken[];
  /**
   * Returns the oldest ManagedToken that names a Secret, by the key of the Secret; ManagedTokens that are being deleted are ignored. A
   * tenant may name one Secret in any number of ManagedTokens, so neither a reconcile nor a change visits all of them.
   */
  readonly firstClaimant: (key: string) => StoredToken | undefined;
  /** Returns the ManagedTokens of a requester, by the key of the service account. */
  readonly tokensOfRequester: (key: string) => readonly StoredToken[];
  readonly tokensOfNamespace: (namespace: string) => readonly StoredToken[];
  readonly countInNamespace: (namespace: string) => number;
  /** Returns the number of ManagedTokens that have a token, or had one. */
  readonly countIssued: () => number;
  /** Returns the Clusters that use a credential, by the key of its Secret. */
  readonly clustersForCredential: (key: string) => readonly Stored<Cluster>[];
  readonly #credentials: readonly Store<Secret>[];
  readonly #requesters: Store<ServiceAccount>;

  constructor({ tokens, clusters, secrets, credentials, requesters }: TokenInformers) {
    this.tokens = tokens.store;
    this.clusters = clusters.store;
    this.secrets = secrets.store;
    this.#credentials = credentials.map(({ store }) => store);
    this.#requesters = requesters.store;
    this.secretsOwnedBy = this.secrets.index(({ metadata }) =>
      (metadata.ownerReferences ?? []).slice(0, MAX_OWNERS).map(({ uid }) => ownerKeyOf(metadata.namespace, uid)),
    );
    this.tokensForCluster = this.tokens.index(({ spec }) => [spec.clusterName]);
    this.firstClaimant = this.tokens.first(claimedSecret, byAge);
    this.tokensOfRequester = this.tokens.index((token) => [requesterKeyOf(token)]);
    this.tokensOfNamespace = this.tokens.index(({ metadata }) => [metadata.namespace]);
    this.countInNamespace = this.tokens.tally(({ metadata }) => [metadata.namespace]);
    const issued = this.tokens.tally((token) => (wasIssued(token) ? [''] : []));
    this.countIssued = () => issued('');
    this.clustersForCredential = this.clusters.index(credentialKeys);
  }

  /** Returns a Cluster with Purser's credential for it; undefined if the Cluster does not exist. */
  registered(clusterName: string): RegisteredCluster | undefined {
    return registeredCluster(clusterName, this.clusters, this.#credentials);
  }

  /** Returns the set of a cluster; NO_SET if the cluster has none or does not exist. */
  setOfCluster(clusterName: string): string {
    return setOf(this.clusters.get(clusterName));
  }

  hasRequester(token: StoredToken): boolean {
    return this.#requesters.has(requesterKeyOf(token));
  }
}

/** Returns whether a ManagedToken has a token, or had one. */
export function wasIssued({ status }: StoredToken): boolean {
  return status?.tokenDigest !== undefined;
}

/** Returns the key of the owner of Secrets. It contains the namespace, so that a user of another namespace cannot add Secrets. */
export function ownerKeyOf(namespace: string, uid: string): string {
  return [namespace, uid].join('/');
}

/** Returns the key of the Secret that a ManagedToken names. */
export function secretKeyOf(token: StoredToken): string {
  return `${token.metadata.namespace}/${secretNameOf(token)}`;
}

/** Returns the key of the Secret that a ManagedToken claims; undefined if the ManagedToken is being deleted. */
export function claimedSecret(token: StoredToken): string | undefined {
  return token.metadata.deletionTimestamp === undefined ? secretKeyOf(token) : undefined;
}

/** Returns the key of the service account that requests a token. */
export function requesterKeyOf({ metadata, spec }: StoredToken): string {
  return `${metadata.namespace}/${spec.requesterServiceAccountName}`;
}

export function keysOf(tokens: readonly StoredToken[]): readonly string[] {
  return tokens.map(objectKey);
}
