// A hub whose ManagedTokens, Roles and RoleBindings the test writes, and replicas of the façade that list the ManagedTokens.

import type { ManagedToken } from '../../../src/api/managed-token.gen.ts';
import type { ApiObject, Role, RoleBinding } from '../../../src/api/resources.ts';
import { computeWatchLimits } from '../../../src/facade/limits/concurrency.ts';
import { createListEndpoints, createSharedLimits } from '../../../src/facade/listwatch/list-endpoints.ts';
import { MANAGED_TOKEN_LIST } from '../../../src/facade/managed-tokens/managed-token-list.ts';
import { combineInformers, type Informer } from '../../../src/kube/informer.ts';
import { FakeClock } from '../../support/clock.ts';
import { silentLog } from '../../support/silent-log.ts';
import { Collection, Follower, HandHub, ListReplica, type ReplicaOptions } from './replica.ts';

/** A subject of a binding. */
export interface TokenSubject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** Permission on ManagedTokens: its role, the namespace of its binding, its subject, and the names that it covers. */
export interface TokenGrant {
  readonly name: string;
  /** Namespace of the RoleBinding; undefined for a ClusterRoleBinding. */
  readonly namespace: string | undefined;
  /** Kind of the role that a RoleBinding refers to. */
  readonly roleKind: 'Role' | 'ClusterRole';
  readonly names: readonly string[] | 'all';
  readonly subject: TokenSubject;
}

/** A hub with ManagedTokens. With `namespaces`, replicas watch each of them separately. */
export class TokenHub extends HandHub {
  readonly #namespaces: readonly string[] | undefined;
  /** Collections that replicas watch, by namespace; empty for all namespaces. */
  readonly tokens: ReadonlyMap<string, Collection<ManagedToken>>;
  readonly namespacedRoles = new Collection<Role>(this);
  readonly namespacedBindings = new Collection<RoleBinding>(this);

  constructor(namespaces?: readonly string[]) {
    super();
    this.#namespaces = namespaces;
    this.tokens = new Map((namespaces ?? ['']).map((namespace) => [namespace, new Collection<ManagedToken>(this)]));
  }

  putToken(key: string, labels: Readonly<Record<string, string>> = {}, clusterName = 'prod'): void {
    const { namespace, name } = splitKey(key);
    const spec = { clusterName, serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: ['a'] };
    const token = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', metadata: { namespace, labels }, spec };
    this.#collectionOf(namespace).put(name, token as unknown as ManagedToken);
  }

  deleteToken(key: string): void {
    this.#collectionOf(splitKey(key).namespace).delete(key);
  }

  grantTokens({ name, namespace, roleKind, names, subject }: TokenGrant): void {
    const rule = { apiGroups: ['tokens.purser.dev'], resources: ['managedtokens'], verbs: ['list'] };
    const rules = [names === 'all' ? rule : { ...rule, resourceNames: [...names] }].filter(() => names === 'all' || names.length > 0);
    const apiGroup = 'rbac.authorization.k8s.io';
    const kind = namespace === undefined ? 'ClusterRole' : roleKind;
    if (kind === 'Role' && namespace !== undefined) this.namespacedRoles.put(name, { metadata: { namespace }, rules });
    else this.roles.put(name, { rules });
    const binding = { roleRef: { apiGroup, kind, name }, subjects: [subject] };
    if (namespace === undefined) this.bindings.put(name, binding);
    else this.namespacedBindings.put(name, { metadata: { namespace }, ...binding });
  }

  #collectionOf(namespace: string): Collection<ManagedToken> {
    const collection = this.tokens.get(this.#namespaces === undefined ? '' : namespace);
    if (collection === undefined) throw new Error(`the namespace ${namespace} is not watched`);
    return collection;
  }
}

function splitKey(key: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}

/** One replica of the façade with the list of ManagedTokens. */
export class TokenReplica extends ListReplica {
  constructor(
    hub: TokenHub,
    clock = new FakeClock(),
    { watchLimits: limits = computeWatchLimits(undefined), ...options }: ReplicaOptions = {},
  ) {
    const tokens = [...hub.tokens].map(([namespace, collection]) => [`objects ${namespace}`, new Follower(hub, collection)] as const);
    const [roles, bindings] = [new Follower(hub, hub.roles), new Follower(hub, hub.bindings)];
    const inNamespaces = {
      roles: new Follower<Role>(hub, hub.namespacedRoles),
      bindings: new Follower<RoleBinding>(hub, hub.namespacedBindings),
    };
    const random = () => 0.5;
    const endpoints = createListEndpoints({
      list: MANAGED_TOKEN_LIST,
      objects: combineInformers(tokens.map(([, follower]) => toInformer(follower))),
      roles,
      bindings,
      inNamespaces,
      hub,
      clock,
      random,
      log: silentLog,
      limits: createSharedLimits([MANAGED_TOKEN_LIST], { clock, random, watchLimits: limits }),
      ...options,
    });
    super(clock, endpoints, {
      roles,
      bindings,
      'namespaced roles': inNamespaces.roles,
      'namespaced bindings': inNamespaces.bindings,
      ...Object.fromEntries(tokens),
    });
  }
}

/** Returns a Follower as the part of an informer that lists use. */
function toInformer<T extends ApiObject>({ store, batches$ }: Follower<T>): Informer<T> {
  return { store, batches$ } as unknown as Informer<T>;
}
