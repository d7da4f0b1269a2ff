// What is watched on the hub for the sake of ManagedTokens, each kind reduced to what is needed of it.

import { CredentialSecretKey, Label, LabelValue } from '../api/names.ts';
import {
  type ApiObject,
  ClusterRoleBindings,
  ClusterRoles,
  Clusters,
  ManagedTokens,
  type Secret,
  Secrets,
  ServiceAccounts,
} from '../api/resources.ts';
import type { Selection } from '../kube/calls.ts';
import type { KubeClient } from '../kube/client.ts';
import { createInformer, createReducedInformer } from '../kube/informer.ts';
import { unionOf } from '../kube/informer-union.ts';
import type { Clock } from '../std/clock.ts';
import { isManaged } from '../targets/registered-cluster.ts';
import type { TokenInformers } from './hub-view.ts';
import { reduceSecret } from './reduce-secret.ts';
import { TokenBytes } from './token-bytes.ts';

export interface InformersOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: () => number;
  /** Where Clusters may have their credentials. */
  readonly credentialNamespaces: readonly string[];
  /** Where ManagedTokens count; everywhere by default. */
  readonly namespaces?: readonly string[] | undefined;
}

/** Makes the informers; they start when somebody listens. */
export function createTokenInformers({ credentialNamespaces, namespaces, ...options }: InformersOptions): TokenInformers {
  const everywhere: readonly Selection[] = [{}];
  const places = namespaces?.map((namespace): Selection => ({ namespace })) ?? everywhere;
  const bytes = new TokenBytes();
  const ours = `${Label.managedBy}=${LabelValue.managedBy}`;
  const others = `${Label.managedBy}!=${LabelValue.managedBy}`;
  return {
    tokens: unionOf(
      places.map((selection) => createReducedInformer({ ...options, resource: ManagedTokens, selection }, bytes.reduce, bytes.forget)),
    ),
    clusters: createInformer({ ...options, resource: Clusters }),
    secrets: unionOf(
      places.map((place) =>
        createReducedInformer({ ...options, resource: Secrets, selection: { ...place, labelSelector: ours } }, reduceSecret),
      ),
    ),
    credentials: credentialNamespaces.map((namespace) =>
      createReducedInformer({ ...options, resource: Secrets, selection: { namespace, labelSelector: others } }, credentialOf),
    ),
    requesters: unionOf(
      places.map((selection) =>
        createReducedInformer({ ...options, resource: ServiceAccounts, selection }, ({ metadata }) => ({ metadata: identityOf(metadata) })),
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

const CREDENTIAL_KEYS: readonly string[] = Object.values(CredentialSecretKey);

/** Of a Secret that may be a credential only what a credential consists of. */
function credentialOf({ metadata, data = {} }: Secret): Secret {
  const { labels, ownerReferences } = metadata;
  return {
    metadata: {
      ...identityOf(metadata),
      ...(isManaged({ metadata }) && { ...(labels && { labels }), ...(ownerReferences && { ownerReferences }) }),
    },
    data: Object.fromEntries(Object.entries(data).filter(([key]) => CREDENTIAL_KEYS.includes(key))),
  };
}

function identityOf({ name, namespace, uid, resourceVersion }: ApiObject['metadata']): ApiObject['metadata'] {
  return { ...(name && { name }), ...(namespace && { namespace }), ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
}
