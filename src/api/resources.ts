// The kinds that Purser reads and writes: where each is served and what its objects look like.

import type {
  CoreV1Event,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1ConfigMap,
  V1CustomResourceDefinition,
  V1Lease,
  V1Namespace,
  V1Pod,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1ServiceAccount,
} from '@kubernetes/client-node';
import type { Cluster } from './cluster.gen.ts';
import type { ManagedToken } from './managed-token.gen.ts';
import { RegistryGroup, TokensGroup, Version } from './names.ts';
import type { ObjectMeta, Wire } from './wire.ts';

const RBAC = 'rbac.authorization.k8s.io';

declare const objectType: unique symbol;

/** Where a kind is served; `T` is the type of its objects. */
export interface Resource<T> {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Never set: it lets the compiler infer `T` from a descriptor. */
  readonly [objectType]?: T;
}

/** What every object has. */
export interface ApiObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** A model of client-node that always has metadata, as every stored object does. */
type Model<T> = Wire<Omit<T, 'metadata'>> & ApiObject;

export type Secret = Model<V1Secret>;
export type ServiceAccount = Model<V1ServiceAccount>;
export type Namespace = Model<V1Namespace>;
export type Event = Model<CoreV1Event>;
export type ConfigMap = Model<V1ConfigMap>;
export type Pod = Model<V1Pod>;
export type Lease = Model<V1Lease>;
export type ClusterRole = Model<V1ClusterRole>;
export type ClusterRoleBinding = Model<V1ClusterRoleBinding>;
export type Role = Model<V1Role>;
export type RoleBinding = Model<V1RoleBinding>;

/** The spec is left open: client-node renames its keywords (`_default`, `x_kubernetes_validations`), the wire does not. */
export type CustomResourceDefinition = Model<Omit<V1CustomResourceDefinition, 'spec'>> & {
  readonly spec: Readonly<Record<string, unknown>>;
};

export const Clusters: Resource<Cluster> = clusterScoped(RegistryGroup, Version, 'clusters', 'Cluster');
export const ManagedTokens: Resource<ManagedToken> = namespaced(TokensGroup, Version, 'managedtokens', 'ManagedToken');
export const Secrets: Resource<Secret> = namespaced('', 'v1', 'secrets', 'Secret');
export const ServiceAccounts: Resource<ServiceAccount> = namespaced('', 'v1', 'serviceaccounts', 'ServiceAccount');
export const Namespaces: Resource<Namespace> = clusterScoped('', 'v1', 'namespaces', 'Namespace');
export const Events: Resource<Event> = namespaced('', 'v1', 'events', 'Event');
export const ConfigMaps: Resource<ConfigMap> = namespaced('', 'v1', 'configmaps', 'ConfigMap');
export const Pods: Resource<Pod> = namespaced('', 'v1', 'pods', 'Pod');
export const Leases: Resource<Lease> = namespaced('coordination.k8s.io', 'v1', 'leases', 'Lease');
export const ClusterRoles: Resource<ClusterRole> = clusterScoped(RBAC, 'v1', 'clusterroles', 'ClusterRole');
export const ClusterRoleBindings: Resource<ClusterRoleBinding> = clusterScoped(RBAC, 'v1', 'clusterrolebindings', 'ClusterRoleBinding');
export const Roles: Resource<Role> = namespaced(RBAC, 'v1', 'roles', 'Role');
export const RoleBindings: Resource<RoleBinding> = namespaced(RBAC, 'v1', 'rolebindings', 'RoleBinding');
export const CustomResourceDefinitions: Resource<CustomResourceDefinition> = clusterScoped(
  'apiextensions.k8s.io',
  'v1',
  'customresourcedefinitions',
  'CustomResourceDefinition',
);

function namespaced<T>(group: string, version: string, plural: string, kind: string): Resource<T> {
  return { group, version, plural, kind, namespaced: true };
}

function clusterScoped<T>(group: string, version: string, plural: string, kind: string): Resource<T> {
  return { group, version, plural, kind, namespaced: false };
}
