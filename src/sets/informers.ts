// Informer of ManagedTokenSets that keeps only the fields that Purser reads, and indexes over sets, their ManagedTokens and RBAC.

import { IssueTokens } from '../access/issue-permission.ts';
import { RbacIndex } from '../access/rbac-index.ts';
import type { Cluster } from '../api/cluster.gen.ts';
import type { ManagedTokenSet } from '../api/managed-token-set.gen.ts';
import { SetAnnotation } from '../api/names.ts';
import { ManagedTokenSets, type ServiceAccount, type Stored } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { combineInformers, createReducedInformer, type Informer } from '../kube/informer.ts';
import { BYTES_PER_NAMESPACE, keepWithin, MAX_SMALL_BYTES, type NamespaceBudget } from '../kube/namespace-bytes.ts';
import type { Store } from '../kube/store.ts';
import { type LabelSelector, matchesLabels, toLabelSelector } from '../kubernetes/selectors/label-selector.ts';
import { SelectorError } from '../kubernetes/selectors/selector.ts';
import type { Clock } from '../std/clock.ts';
import { digestIfLong } from '../std/digest.ts';
import { Registry } from '../targets/registry.ts';
import type { TokenInformers } from '../tokens/informers.ts';
import type { StoredSecret } from '../tokens/policy/secret.ts';
import type { StoredToken } from '../tokens/policy/spec.ts';
import { coreMetadataOf } from '../tokens/reduce.ts';
import { requesterKeyOf, templateRequestOf } from './issue-request.ts';
import type { StoredSet } from './policy/template.ts';

export interface SetInformerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: () => number;
  /** Namespaces to watch for ManagedTokenSets; all by default. */
  readonly namespaces?: readonly string[] | undefined;
}

/** Informers that the controller of sets needs. */
export interface SetInformers extends TokenInformers {
  readonly sets: Informer<StoredSet>;
}

/** Creates the informer of ManagedTokenSets. The informer starts on subscription. */
export function createSetInformer({ namespaces, ...options }: SetInformerOptions): Informer<StoredSet> {
  const places = namespaces?.map((namespace) => ({ namespace })) ?? [{}];
  return combineInformers(
    places.map((selection) => createReducedInformer({ ...options, resource: ManagedTokenSets, selection }, reduceSet, SET_BUDGET)),
  );
}

/** Maximum size of a ManagedTokenSet as JSON, without labels and annotations of other clients, in bytes; the CRD admits about as much. */
export const MAX_SET_BYTES = 131_072;
/** Memory budget for the ManagedTokenSets in each namespace. */
export const SET_BUDGET: NamespaceBudget<StoredSet> = { bytes: BYTES_PER_NAMESPACE, small: MAX_SMALL_BYTES, toStub: toSetStub };

/**
 * Returns the parts of a ManagedTokenSet that Purser reads. A set that is still too large loses its status, its selector, and the
 * audiences, labels and annotations of its template, and has `isTooLarge` set.
 */
export function reduceSet({ apiVersion, kind, metadata, spec, status }: Stored<ManagedTokenSet>): StoredSet {
  const reduced: StoredSet = { apiVersion, kind, metadata: reduceMetadata(metadata), spec, ...(status && { status }) };
  return keepWithin(MAX_SET_BYTES, reduced, toSetStub);
}

function reduceMetadata(metadata: StoredSet['metadata']): StoredSet['metadata'] {
  const confirmation = metadata.annotations?.[SetAnnotation.confirmRemoval];
  return {
    ...coreMetadataOf(metadata),
    ...(confirmation !== undefined && { annotations: { [SetAnnotation.confirmRemoval]: digestIfLong(confirmation) } }),
  };
}

function toSetStub({ apiVersion, kind, metadata, spec }: StoredSet): StoredSet {
  const { labels: _, annotations: __, ...secret } = spec.template.spec.secret;
  const template = { metadata: {}, spec: { ...spec.template.spec, audiences: [], secret } };
  return { apiVersion, kind, metadata, spec: { ...spec, clusterSelector: {}, template } };
}

/** Only key of the index of sets that publish ClusterProfiles. */
const PUBLISHING_KEY = 'publishing';

/** Stores of the informers and indexes over them; sends no requests. */
export class SetView {
  readonly sets: Store<StoredSet>;
  readonly tokens: Store<StoredToken>;
  readonly secrets: Store<StoredSecret>;
  readonly registry: Registry;
  /** Permissions of requesters to issue tokens; kept up to date by `createSetTriggers`. */
  readonly permissions = new RbacIndex(IssueTokens);
  /** Returns the ManagedTokens that a set controls, by the key that `toControllerKey` returns for the set. */
  readonly tokensOfSet: (key: string) => readonly StoredToken[];
  readonly setsOfNamespace: (namespace: string) => readonly StoredSet[];
  readonly setsOfRequester: (key: string) => readonly StoredSet[];
  readonly #publishingSets: (key: typeof PUBLISHING_KEY) => readonly StoredSet[];
  readonly #countTokens: (namespace: string) => number;
  readonly #countSets: (namespace: string) => number;
  readonly #requesters: Store<ServiceAccount>;

  constructor({ sets, tokens, secrets, requesters, ...registry }: SetInformers) {
    this.sets = sets.store;
    this.tokens = tokens.store;
    this.secrets = secrets.store;
    this.registry = new Registry(registry);
    this.#requesters = requesters.store;
    this.tokensOfSet = this.tokens.index(({ metadata: { namespace, ownerReferences = [] } }) =>
      ownerReferences.filter(({ controller }) => controller).map(({ uid }) => toControllerKey(namespace, uid)),
    );
    this.setsOfNamespace = this.sets.index(({ metadata }) => [metadata.namespace]);
    this.setsOfRequester = this.sets.index((set) => [requesterKeyOf(templateRequestOf(set))]);
    this.#publishingSets = this.sets.index(({ spec }) => (spec.clusterProfiles ? [PUBLISHING_KEY] : []));
    this.#countTokens = this.tokens.tally(({ metadata }) => [metadata.namespace]);
    this.#countSets = this.sets.tally(({ metadata }) => [metadata.namespace]);
  }

  /** Returns the sets that publish ClusterProfiles. */
  publishingSets(): readonly StoredSet[] {
    return this.#publishingSets(PUBLISHING_KEY);
  }

  /** Returns the number of ManagedTokens and sets in a namespace. */
  readonly countInNamespace = (namespace: string): number => this.#countTokens(namespace) + this.#countSets(namespace);

  /** Returns whether the informer has the service account with this key. */
  hasRequester(key: string): boolean {
    return this.#requesters.has(key);
  }
}

/**
 * Returns the key by which ManagedTokens are indexed by controller. The key contains the namespace, so that a ManagedToken in another
 * namespace that names the same controller is not found.
 */
export function toControllerKey(namespace: string, uid: string): string {
  return `${namespace}/${uid}`;
}

/** Returns the selector of a set, or the error that makes it invalid. */
export function resolveSelector({ spec }: StoredSet): LabelSelector | SelectorError {
  const known = SELECTORS.get(spec);
  if (known !== undefined) return known;
  const selector = parseSelector(spec);
  SELECTORS.set(spec, selector);
  return selector;
}

/** Returns whether a set selects a Cluster. A Cluster that is being deleted is not selected, regardless of its finalizers. */
export function selectsCluster(set: StoredSet, { metadata }: Stored<Cluster>): boolean {
  const selector = resolveSelector(set);
  return !(selector instanceof SelectorError) && metadata.deletionTimestamp === undefined && matchesLabels(selector, metadata.labels);
}

/** Selectors by spec object. Safe as a cache, because informers never modify objects. */
const SELECTORS = new WeakMap<object, LabelSelector | SelectorError>();

function parseSelector({ clusterSelector }: StoredSet['spec']): LabelSelector | SelectorError {
  try {
    return toLabelSelector(clusterSelector);
  } catch (error) {
    if (error instanceof SelectorError) return error;
    throw error;
  }
}
