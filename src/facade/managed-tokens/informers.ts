// Informers of the list of ManagedTokens. They keep public fields only, within a budget of memory for each namespace.

import { rulesFor } from '../../access/rbac-index.ts';
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
import { createReducedInformer, type InformerOptions, unionOf } from '../../kube/informer.ts';
import { keepWithin, NamespaceBytes, recordBytes } from '../../kube/namespace-bytes.ts';
import type { OnDemandInformers } from '../listwatch/on-demand.ts';
import { MANAGED_TOKEN_LIST } from './managed-token-list.ts';

export interface ManagedTokenInformersOptions extends Pick<InformerOptions<ManagedToken>, 'client' | 'clock' | 'random'> {
  /** Namespaces to watch for ManagedTokens; all by default. */
  readonly namespaces?: readonly string[] | undefined;
}

/** Creates the informers, which start on subscription. */
export function createManagedTokenInformers({ namespaces, ...options }: ManagedTokenInformersOptions): OnDemandInformers<ManagedToken> {
  const places = namespaces?.map((namespace) => ({ namespace })) ?? [{}];
  const follow = <T extends ApiObject<NamespacedMeta>>(resource: Resource<T>, bytes: NamespaceBytes, reduce: Reduce<T>) =>
    unionOf(
      places.map((selection) =>
        createReducedInformer({ ...options, resource, selection }, (object) => bytes.reduce(object, reduce), bytes.forget),
      ),
    );
  return {
    objects: follow(ManagedTokens, new NamespaceBytes(), toListed),
    roles: follow(Roles, new NamespaceBytes(ROLE_BYTES), reduceRole),
    bindings: follow(RoleBindings, new NamespaceBytes(BINDING_BYTES), reduceBinding),
  };
}

/** Returns the kept part of an object, and records its size. */
type Reduce<T extends ApiObject> = (object: Stored<T>, options?: { readonly isOverBudget: true }) => Stored<T>;

/** Maximum size of a listed ManagedToken, as JSON: the CRD admits less, except for labels. */
const MAX_LISTED_BYTES = 16_384;

/** Returns the public fields. A ManagedToken that is too large, or whose namespace is over its budget, loses its labels and texts. */
function toListed(token: Stored<ManagedToken>, { isOverBudget }: { readonly isOverBudget?: true } = {}): Stored<ManagedToken> {
  const reduced = MANAGED_TOKEN_LIST.toPublic(token) as unknown as Stored<ManagedToken>;
  return keepWithin(MAX_LISTED_BYTES, { reduced, isOverBudget }, stubOf);
}

function stubOf({ metadata, spec, status, ...type }: Stored<ManagedToken>): Stored<ManagedToken> {
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
 * Memory for the names that the Roles of a namespace grant, and for the subjects of its RoleBindings. Every user to whom a name is granted
 * keeps it, and a change of a Role visits all subjects. Roles and RoleBindings over the budget grant nothing.
 */
const ROLE_BYTES = { budget: 1 << 20, small: 0 };
const BINDING_BYTES = { budget: 16 << 20, small: 0 };
/** Memory for a name that a Role grants, and for a subject of a RoleBinding besides its text, in bytes. */
const NAME_BYTES = 1_024;
const SUBJECT_BYTES = 256;

/** Returns the part of a Role that grants ManagedTokens. */
function reduceRole({ metadata, rules }: Stored<Role>, { isOverBudget }: { readonly isOverBudget?: true } = {}): Stored<Role> {
  const kept = isOverBudget ? [] : rulesFor(MANAGED_TOKEN_LIST.permission, rules ?? []);
  const reduced = { metadata: identityOf(metadata), rules: [...kept] };
  recordBytes(reduced, NAME_BYTES * (kept[0]?.resourceNames?.length ?? 0));
  return reduced;
}

function reduceBinding(
  { metadata, roleRef, subjects }: Stored<RoleBinding>,
  { isOverBudget }: { readonly isOverBudget?: true } = {},
): Stored<RoleBinding> {
  const kept = isOverBudget ? [] : (subjects ?? []).map(({ kind, name, namespace }) => ({ kind, name, ...(namespace && { namespace }) }));
  const reduced = { metadata: identityOf(metadata), roleRef, subjects: kept };
  recordBytes(
    reduced,
    kept.reduce((sum, { name, namespace = '' }) => sum + SUBJECT_BYTES + name.length + namespace.length, 0),
  );
  return reduced;
}

function identityOf({ name, namespace, uid, resourceVersion }: NamespacedMeta & StoredIdentity): NamespacedMeta & StoredIdentity {
  return { name, namespace, uid, resourceVersion };
}
