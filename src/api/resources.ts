// Kinds that Purser reads and writes: API paths and object types.

import type {
  CoreV1Event,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1ConfigMap,
  V1CustomResourceDefinition,
  V1EndpointSlice,
  V1Lease,
  V1Namespace,
  V1Pod,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1ServiceAccount,
} from '@kubernetes/client-node';
import type { Cluster } from './cluster.gen.ts';
import type { ClusterProfile } from './cluster-profile.ts';
import type { ManagedToken } from './managed-token.gen.ts';
import type { ManagedTokenSet } from './managed-token-set.gen.ts';
import { InventoryGroup, RegistryGroup, TokensGroup, Version } from './names.ts';
import type { NamespacedMeta, ObjectMeta, StoredIdentity, Wire } from './wire.ts';

const RBAC = 'rbac.authorization.k8s.io';

declare const objectType: unique symbol;

/** API path of a kind; `T` is the type of its objects. */
export interface Resource<T> {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Never set; lets the compiler infer `T`. */
  readonly [objectType]?: T;
}

/** Fields of every object; `M` is the metadata of its kind. */
export interface ApiObject<M extends ObjectMeta = ObjectMeta> {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: M;
}

/** An object from an API server, with a name, a uid and a resourceVersion. KubeClient rejects objects without them. */
export type Stored<T extends ApiObject> = T & { readonly metadata: StoredIdentity };

/** A model of client-node with metadata. */
type Model<T, M extends ObjectMeta = ObjectMeta> = Wire<Omit<T, 'metadata'>> & ApiObject<M>;
type NamespacedModel<T> = Model<T, NamespacedMeta>;

export type Secret = NamespacedModel<V1Secret>;
export type ServiceAccount = NamespacedModel<V1ServiceAccount>;
export type Namespace = Model<V1Namespace>;
export type Event = NamespacedModel<CoreV1Event>;
export type ConfigMap = NamespacedModel<V1ConfigMap>;
export type Pod = NamespacedModel<V1Pod>;
export type EndpointSlice = NamespacedModel<V1EndpointSlice>;
export type Lease = NamespacedModel<V1Lease>;
export type Role = NamespacedModel<V1Role>;
export type RoleBinding = NamespacedModel<V1RoleBinding>;
export type ClusterRole = Model<V1ClusterRole>;
export type ClusterRoleBinding = Model<V1ClusterRoleBinding>;

/** A CRD. Its spec is untyped, because client-node renames schema keywords (`_default`, `x_kubernetes_validations`). */
export type CustomResourceDefinition = Model<Omit<V1CustomResourceDefinition, 'spec'>> & {
  readonly spec: Readonly<Record<string, unknown>>;
};

export const Clusters: Resource<Cluster> = declareClusterScoped(RegistryGroup, Version, 'clusters', 'Cluster');
export const ManagedTokens: Resource<ManagedToken> = declareNamespaced(TokensGroup, Version, 'managedtokens', 'ManagedToken');
export const ManagedTokenSets: Resource<ManagedTokenSet> = declareNamespaced(TokensGroup, Version, 'managedtokensets', 'ManagedTokenSet');
export const ClusterProfiles: Resource<ClusterProfile> = declareNamespaced(InventoryGroup, 'v1alpha1', 'clusterprofiles', 'ClusterProfile');
export const Secrets: Resource<Secret> = declareNamespaced('', 'v1', 'secrets', 'Secret');
export const ServiceAccounts: Resource<ServiceAccount> = declareNamespaced('', 'v1', 'serviceaccounts', 'ServiceAccount');
export const Namespaces: Resource<Namespace> = declareClusterScoped('', 'v1', 'namespaces', 'Namespace');
export const Events: Resource<Event> = declareNamespaced('', 'v1', 'events', 'Event');
export const ConfigMaps: Resource<ConfigMap> = declareNamespaced('', 'v1', 'configmaps', 'ConfigMap');
export const Pods: Resource<Pod> = declareNamespaced('', 'v1', 'pods', 'Pod');
export const EndpointSlices: Resource<EndpointSlice> = declareNamespaced('discovery.k8s.io', 'v1', 'endpointslices', 'EndpointSlice');
export const Leases: Resource<Lease> = declareNamespaced('coordination.k8s.io', 'v1', 'leases', 'Lease');
export const Roles: Resource<Role> = declareNamespaced(RBAC, 'v1', 'roles', 'Role');
export const RoleBindings: Resource<RoleBinding> = declareNamespaced(RBAC, 'v1', 'rolebindings', 'RoleBinding');
export const ClusterRoles: Resource<ClusterRole> = declareClusterScoped(RBAC, 'v1', 'clusterroles', 'ClusterRole');
export const ClusterRoleBindings: Resource<ClusterRoleBinding> = declareClusterScoped(
  RBAC,
  'v1',
  'clusterrolebindings',
  'ClusterRoleBinding',
);
export const CustomResourceDefinitions: Resource<CustomResourceDefinition> = declareClusterScoped(
  'apiextensions.k8s.io',
  'v1',
  'customresourcedefinitions',
  'CustomResourceDefinition',
);

function declareNamespaced<T>(group: string, version: string, plural: string, kind: string): Resource<T> {
  return { group, version, plural, kind, namespaced: true };
}

function declareClusterScoped<T>(group: string, version: string, plural: string, kind: string): Resource<T> {
  return { group, version, plural, kind, namespaced: false };
}

/** Metadata that `isStored` requires of every object, for error messages; a namespaced object also needs its namespace. */
export const STORED_FIELDS = 'name, uid and resourceVersion';

/** Returns whether an object has the metadata that `Stored` promises; a namespaced object also needs its namespace. */
export function isStored<T extends ApiObject>(resource: Resource<T>, object: T | null | undefined): object is Stored<T> {
  const metadata: unknown = object?.metadata;
  if (typeof metadata !== 'object' || metadata === null) return false;
  const { name, uid, resourceVersion, namespace } = metadata as Readonly<Record<string, unknown>>;
  return isText(name) && isText(uid) && isText(resourceVersion) && (!resource.namespaced || isText(namespace));
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
