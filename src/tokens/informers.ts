// Informers of ManagedTokens, their Secrets and their requesters. Each informer keeps only the fields that Purser reads. HubView indexes
// these objects and the other objects on the hub that the controller needs.

import { clusterSetOf } from '../access/cluster-set.ts';
import type { ClusterRbacInformers } from '../access/informers.ts';
import { IssueTokens } from '../access/issue-permission.ts';
import { RbacIndex } from '../access/rbac-index.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import { Label, LabelValue } from '../api/names.ts';
import { ManagedTokens, Secrets, type ServiceAccount, ServiceAccounts } from '../api/resources.ts';
import type { NamespacedMeta, ObjectMeta, StoredIdentity } from '../api/wire.ts';
import type { Selection } from '../kube/client.ts';
import { combineInformers, createReducedInformer, type Informer, type InformerOptions } from '../kube/informer.ts';
import { objectKeyOf } from '../kube/paths.ts';
import type { Lookup, Store } from '../kube/store.ts';
import { Registry, type RegistryInformers } from '../targets/registry.ts';
import { byAge, type StoredSecret, secretNameOf } from './policy/secret.ts';
import type { StoredToken } from './policy/spec.ts';
import { MAX_OWNERS, reduceSecret, reduceToken, SECRET_BUDGET, TOKEN_BUDGET } from './reduce.ts';

/** Informers that the controller of ManagedTokens needs. */
export interface TokenInformers extends RegistryInformers, ClusterRbacInformers {
  readonly tokens: Informer<StoredToken>;
  /** Secrets of ManagedTokens, selected by Purser's label. */
  readonly secrets: Informer<StoredSecret>;
  /** Service accounts in the watched namespaces; each requester must be one of them. */
  readonly requesters: Informer<ServiceAccount>;
}

export interface TokenInformersOptions extends Pick<InformerOptions<ManagedToken>, 'client' | 'clock' | 'random'> {
  /** Namespaces to watch for ManagedTokens; all by default. */
  readonly namespaces?: readonly string[] | undefined;
}

/** Creates the informers of ManagedTokens, their Secrets and their requesters. Each informer starts on subscription. */
export function createTokenInformers({
  namespaces,
  ...options
}: TokenInformersOptions): Pick<TokenInformers, 'tokens' | 'secrets' | 'requesters'> {
  const everywhere: readonly Selection[] = [{}];
  const selections = namespaces?.map((namespace): Selection => ({ namespace })) ?? everywhere;
  const ours = `${Label.managedBy}=${LabelValue.managedBy}`;
  return {
    tokens: combineInformers(
      selections.map((selection) => createReducedInformer({ ...options, resource: ManagedTokens, selection }, reduceToken, TOKEN_BUDGET)),
    ),
    secrets: combineInformers(
      selections.map((selection) =>
        createReducedInformer(
          { ...options, resource: Secrets, selection: { ...selection, labelSelector: ours } },
          reduceSecret,
          SECRET_BUDGET,
        ),
      ),
    ),
    requesters: combineInformers(
      selections.map((selection) =>
        createReducedInformer({ ...options, resource: ServiceAccounts, selection }, ({ metadata }) => ({
          metadata: reduceRequesterMetadata(metadata),
        })),
      ),
    ),
  };
}

function reduceRequesterMetadata({
  namespace,
  name,
  uid,
  resourceVersion,
}: NamespacedMeta & StoredIdentity): NamespacedMeta & StoredIdentity {
  return { name, uid, resourceVersion, namespace };
}

/** Stores of the informers and indexes over them; sends no requests. */
export class HubView {
  readonly tokens: Store<StoredToken>;
  readonly registry: Registry;
  readonly secrets: Store<StoredSecret>;
  /** Permissions of requesters to issue tokens; kept up to date by `tokenTriggers`. */
  readonly permissions = new RbacIndex(IssueTokens);
  readonly tokensForCluster: Lookup<StoredToken>;
  /** Returns the ManagedTokens of a cluster that have a token, or had one, and whose rotation is not suspended. */
  readonly verifiableForCluster: Lookup<StoredToken>;
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
  readonly #requesters: Store<ServiceAccount>;
  /** Finds Secrets by `ownerKeyOf`. To save memory, the index omits Secrets that have the same name as their owner, as most do. */
  readonly #ownedSecrets: Lookup<StoredSecret>;

  constructor({ tokens, secrets, requesters, ...registry }: TokenInformers) {
    this.tokens = tokens.store;
    this.registry = new Registry(registry);
    this.secrets = secrets.store;
    this.#requesters = requesters.store;
    this.#ownedSecrets = this.secrets.index(({ metadata }) =>
      ownersOf(metadata).flatMap(({ name, uid }) => (name === metadata.name ? [] : [ownerKeyOf(metadata.namespace, uid)])),
    );
    this.tokensForCluster = this.tokens.index(({ spec }) => [spec.clusterName]);
    this.verifiableForCluster = this.tokens.index((token) => (isVerifiable(token) ? [token.spec.clusterName] : []));
    this.firstClaimant = this.tokens.first(claimedSecret, byAge);
    this.tokensOfRequester = this.tokens.index((token) => [requesterKeyOf(token)]);
    this.tokensOfNamespace = this.tokens.index(({ metadata }) => [metadata.namespace]);
    this.countInNamespace = this.tokens.tally(({ metadata }) => [metadata.namespace]);
    const issued = this.tokens.tally((token) => (wasIssued(token) ? [''] : []));
    this.countIssued = () => issued('');
  }

  /** Returns the set of a cluster; NO_CLUSTER_SET if the cluster has none or does not exist. */
  clusterSetOf(clusterName: string): string {
    return clusterSetOf(this.registry.clusters.get(clusterName));
  }

  /** Returns Secrets that a ManagedToken owns in its namespace; at most `limit`. */
  secretsOwnedBy(token: StoredToken, limit: number): readonly StoredSecret[] {
    const { namespace, uid } = token.metadata;
    const namesake = this.secrets.get(objectKeyOf(token));
    const isOwned = namesake !== undefined && ownersOf(namesake.metadata).some((owner) => owner.uid === uid);
    const others = this.#ownedSecrets(ownerKeyOf(namespace, uid), limit);
    return isOwned ? [namesake, ...others].slice(0, limit) : others;
  }

  hasRequester(token: StoredToken): boolean {
    return this.#requesters.has(requesterKeyOf(token));
  }
}

/** Returns whether a ManagedToken has a token, or had one. */
export function wasIssued({ status }: StoredToken): boolean {
  return status?.tokenDigest !== undefined;
}

/** Returns whether the token of a ManagedToken can be verified, unless its Secret contains none. */
export function isVerifiable(token: StoredToken): boolean {
  return wasIssued(token) && !token.spec.rotation.suspend && token.metadata.deletionTimestamp === undefined;
}

function ownersOf({ ownerReferences = [] }: ObjectMeta): NonNullable<ObjectMeta['ownerReferences']> {
  return ownerReferences.slice(0, MAX_OWNERS);
}

/**
 * Returns the key by which Secrets are indexed by owner. The key contains the namespace, so that a Secret in another namespace that names
 * the same owner is not found.
 */
function ownerKeyOf(namespace: string, uid: string): string {
  return [namespace, uid].join('/');
}

/** Returns the key of a ManagedToken's Secret, whether or not the Secret exists. */
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
  return tokens.map(objectKeyOf);
}
