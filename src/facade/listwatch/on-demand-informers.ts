// Informers for a list on demand. They keep the reduced objects of the list, and the parts of Roles and RoleBindings that grant access to
// these objects, within memory budgets for each namespace.

import { type Permission, reduceRules } from '../../access/rbac-index.ts';
import { type ApiObject, type Resource, type Role, type RoleBinding, RoleBindings, Roles, type Stored } from '../../api/resources.ts';
import type { NamespacedMeta, StoredIdentity } from '../../api/wire.ts';
import { combineInformers, createReducedInformer, type InformerOptions } from '../../kube/informer.ts';
import { type NamespaceBudget, recordBytes } from '../../kube/namespace-bytes.ts';
import { computeDigest } from '../../std/digest.ts';
import type { OnDemandInformers } from './on-demand.ts';

export interface OnDemandInformersOptions extends Pick<InformerOptions<ApiObject>, 'client' | 'clock' | 'random'> {
  /** Namespaces to watch; all by default. */
  readonly namespaces?: readonly string[] | undefined;
  /**
   * Called for each namespace whose objects of one resource exceed the budget: once until the informers are created again, and for at most
   * 100 namespaces per resource.
   */
  readonly onOverBudget?: (namespace: string, plural: string) => void;
}

/** The objects that a list keeps. */
export interface KeptKind<T extends ApiObject> {
  readonly resource: Resource<T>;
  /** Permission of callers on the objects. */
  readonly permission: Permission;
  /** Returns the kept part of an object, and records its size with `keepWithin` or `recordBytes`. */
  readonly reduce: (object: Stored<T>) => Stored<T>;
  readonly budget: NamespaceBudget<T>;
}

/** Creates the informers. An informer starts on its first subscription. */
export function createOnDemandInformers<T extends ApiObject>(
  { resource, permission, reduce, budget }: KeptKind<T>,
  { namespaces, onOverBudget = () => {}, ...options }: OnDemandInformersOptions,
): OnDemandInformers<T> {
  const places = namespaces?.map((namespace) => ({ namespace })) ?? [{}];
  const follow = <K extends ApiObject>(kind: Resource<K>, toKept: (object: Stored<K>) => Stored<K>, limits: NamespaceBudget<K>) => {
    const reported = { ...limits, onOver: reportOnce((namespace) => onOverBudget(namespace, kind.plural)) };
    return combineInformers(places.map((selection) => createReducedInformer({ ...options, resource: kind, selection }, toKept, reported)));
  };
  return {
    objects: follow(resource, reduce, budget),
    roles: follow(Roles, (role) => reduceRole(permission, role), ROLE_BUDGET),
    bindings: follow(RoleBindings, reduceBinding, BINDING_BUDGET),
  };
}

/** Maximum number of namespaces over their budget that are reported for each resource. */
const MAX_REPORTED_NAMESPACES = 100;

/** Returns a function that reports each namespace once, and at most MAX_REPORTED_NAMESPACES namespaces. */
function reportOnce(report: (namespace: string) => void): (namespace: string) => void {
  const reported = new Set<string>();
  return (namespace) => {
    if (reported.has(namespace) || reported.size === MAX_REPORTED_NAMESPACES) return;
    reported.add(namespace);
    report(namespace);
  };
}

/**
 * Memory for the Roles in a namespace: enough for 128 granted names. The budget is small, because the granted names are also kept for each
 * user with an open watch. Roles over the budget grant nothing.
 */
const ROLE_BUDGET: NamespaceBudget<Role> = { bytes: 1 << 20, small: 0, toStub: (role) => ({ ...role, rules: [] }) };
/** Memory for a Role that grants all objects, and for each name in a Role, in bytes. */
const ROLE_BYTES = 1_024;
const NAME_BYTES = 8_192;

/** Memory that the permission index may use for the RoleBindings of one namespace. RoleBindings over the budget grant nothing. */
const BINDING_BUDGET: NamespaceBudget<RoleBinding> = { bytes: 16 << 20, small: 0, toStub: (binding) => ({ ...binding, subjects: [] }) };
/** Memory for a RoleBinding, and for each of its subjects, besides their texts, in bytes. */
const BINDING_BYTES = 256;
const SUBJECT_BYTES = 256;

/** Maximum length of the name of a Role or a RoleBinding, in characters; the hub has no limit. */
const MAX_NAME_LENGTH = 253;

/** Returns the part of a Role that grants a permission. A Role with an overlong name grants nothing. */
function reduceRole(permission: Permission, { metadata, rules }: Stored<Role>): Stored<Role> {
  const kept = isOverlong(metadata.name) ? [] : reduceRules(permission, rules ?? []);
  const bytes = kept.map(({ resourceNames = [] }) => Math.max(ROLE_BYTES, NAME_BYTES * resourceNames.length));
  return recordBytes({ metadata: toIdentity(metadata), rules: kept }, bytes[0] ?? 0);
}

/**
 * Returns the part of a RoleBinding that grants its role. A RoleBinding grants nothing if its own name or the name of its role is overlong.
 */
function reduceBinding({ metadata, roleRef, subjects }: Stored<RoleBinding>): Stored<RoleBinding> {
  const role = isOverlong(roleRef.name) ? '' : roleRef.name;
  const grants = role !== '' && !isOverlong(metadata.name);
  const kept = (grants ? (subjects ?? []) : []).map(({ kind, name, namespace }) => ({ kind, name, ...(namespace && { namespace }) }));
  const texts = kept.reduce((sum, { name, namespace = '' }) => sum + name.length + namespace.length, role.length);
  return recordBytes(
    { metadata: toIdentity(metadata), roleRef: { ...roleRef, name: role }, subjects: kept },
    BINDING_BYTES + SUBJECT_BYTES * kept.length + texts,
  );
}

/**
 * Returns the identity of an object. Replaces an overlong name with % and its digest. No other object has this name, because names on the
 * hub contain no percent sign.
 */
function toIdentity({ name, namespace, uid, resourceVersion }: NamespacedMeta & StoredIdentity): NamespacedMeta & StoredIdentity {
  return { name: isOverlong(name) ? `%${computeDigest(name)}` : name, namespace, uid, resourceVersion };
}

function isOverlong(name: string): boolean {
  return name.length > MAX_NAME_LENGTH;
}
