// Informers for the list of ManagedTokens. They keep only the public fields of ManagedTokens, and the parts of Roles and RoleBindings that
// grant access to ManagedTokens, within memory budgets for each namespace.

import { reduceRules } from '../../access/rbac-index.ts';
import type { ManagedToken } from '../../api/managed-token.gen.ts';
import {
  type ApiObject,
  ManagedTokens,
  type Resource,
  type Role,
  type RoleBinding,
  RoleBindings,
  Roles,
  type Stored,
} from '../../api/resources.ts';
import type { NamespacedMeta, StoredIdentity } from '../../api/wire.ts';
import { combineInformers, createReducedInformer, type InformerOptions } from '../../kube/informer.ts';
import { BYTES_PER_NAMESPACE, keepWithin, MAX_SMALL_BYTES, type NamespaceBudget, recordBytes } from '../../kube/namespace-bytes.ts';
import { digestOf } from '../../std/digest.ts';
import type { OnDemandInformers } from '../listwatch/on-demand.ts';
import { MANAGED_TOKEN_LIST } from './managed-token-list.ts';

export interface ManagedTokenInformersOptions extends Pick<InformerOptions<ManagedToken>, 'client' | 'clock' | 'random'> {
  /** Namespaces to watch for ManagedTokens; all by default. */
  readonly namespaces?: readonly string[] | undefined;
  /** Called once for each namespace whose objects of one resource exceed the budget, for at most 100 namespaces per resource. */
  readonly onOverBudget?: (namespace: string, plural: string) => void;
}

/** Creates the informers. An informer starts on its first subscription. */
export function createManagedTokenInformers({
  namespaces,
  onOverBudget = () => {},
  ...options
}: ManagedTokenInformersOptions): OnDemandInformers<ManagedToken> {
  const places = namespaces?.map((namespace) => ({ namespace })) ?? [{}];
  const follow = <T extends ApiObject>(resource: Resource<T>, reduce: (object: Stored<T>) => Stored<T>, limits: NamespaceBudget<T>) => {
    const budget = { ...limits, onOver: reportOnce((namespace) => onOverBudget(namespace, resource.plural)) };
    return combineInformers(places.map((selection) => createReducedInformer({ ...options, resource, selection }, reduce, budget)));
  };
  return {
    objects: follow(ManagedTokens, toListed, LISTED_BUDGET),
    roles: follow(Roles, reduceRole, ROLE_BUDGET),
    bindings: follow(RoleBindings, reduceBinding, BINDING_BUDGET),
  };
}

/** Maximum number of namespaces over their budget that are reported for each resource. */
const MAX_REPORTED = 100;

/** Returns a function that reports each namespace once, and at most MAX_REPORTED namespaces. */
function reportOnce(report: (namespace: string) => void): (namespace: string) => void {
  const reported = new Set<string>();
  return (namespace) => {
    if (reported.has(namespace) || reported.size === MAX_REPORTED) return;
    reported.add(namespace);
    report(namespace);
  };
}

/** Maximum size of a listed ManagedToken as JSON, in bytes. The limits in the CRD are lower, but do not cover labels. */
const MAX_LISTED_BYTES = 16_384;

/** Budget for the ManagedTokens in a namespace. Those over the budget are listed without labels, annotations and condition messages. */
const LISTED_BUDGET: NamespaceBudget<ManagedToken> = { bytes: BYTES_PER_NAMESPACE, small: MAX_SMALL_BYTES, toStub };

/** Returns the public fields of a ManagedToken, or its stub if they are too large. */
function toListed(token: Stored<ManagedToken>): Stored<ManagedToken> {
  return keepWithin(MAX_LISTED_BYTES, MANAGED_TOKEN_LIST.toPublic(token) as unknown as Stored<ManagedToken>, toStub);
}

/** Returns a ManagedToken without labels, annotations and condition messages. */
function toStub({ metadata, spec, status, ...type }: Stored<ManagedToken>): Stored<ManagedToken> {
  const { labels: _, ...identity } = metadata;
  const { labels: __, annotations: ___, ...secret } = spec.secret;
  const conditions = status?.conditions?.map((condition) => ({ ...condition, message: '' }));
  return {
    ...type,
    metadata: identity,
    spec: { ...spec, secret },
    ...(status && { status: { ...status, ...(conditions && { conditions }) } }),
  };
}

/**
 * Memory for the Roles in a namespace: enough for 128 granted names. The budget is small, because the granted names are also kept for each
 * user with an open watch. Roles over the budget grant nothing.
 */
const ROLE_BUDGET: NamespaceBudget<Role> = { bytes: 1 << 20, small: 0, toStub: (role) => ({ ...role, rules: [] }) };
/** Memory for a Role that grants all ManagedTokens, and for each name in a Role, in bytes. */
const ROLE_BYTES = 1_024;
const NAME_BYTES = 8_192;

/** Memory that the permission index may use for the RoleBindings of one namespace. RoleBindings over the budget grant nothing. */
const BINDING_BUDGET: NamespaceBudget<RoleBinding> = { bytes: 16 << 20, small: 0, toStub: (binding) => ({ ...binding, subjects: [] }) };
/** Memory for a RoleBinding, and for each of its subjects, besides their texts, in bytes. */
const BINDING_BYTES = 256;
const SUBJECT_BYTES = 256;

/** Maximum length of a name. The hub does not limit the names of Roles and RoleBindings. */
const MAX_NAME_LENGTH = 253;

/** Returns the part of a Role that grants access to ManagedTokens. A Role with an overlong name grants nothing. */
function reduceRole({ metadata, rules }: Stored<Role>): Stored<Role> {
  const kept = isOverlong(metadata.name) ? [] : reduceRules(MANAGED_TOKEN_LIST.permission, rules ?? []);
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
  return { name: isOverlong(name) ? `%${digestOf(name)}` : name, namespace, uid, resourceVersion };
}

function isOverlong(name: string): boolean {
  return name.length > MAX_NAME_LENGTH;
}
