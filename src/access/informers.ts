// Informers of ClusterRoles and ClusterRoleBindings on the hub. They keep only the identity of each object and the fields that RbacIndex
// reads.

import { type ClusterRole, type ClusterRoleBinding, ClusterRoleBindings, ClusterRoles } from '../api/resources.ts';
import type { StoredIdentity } from '../api/wire.ts';
import { createReducedInformer, type Informer, type InformerOptions } from '../kube/informer.ts';

/** Informers of the hub's ClusterRoles and ClusterRoleBindings. */
export interface ClusterRbacInformers {
  readonly roles: Informer<ClusterRole>;
  readonly bindings: Informer<ClusterRoleBinding>;
}

/** Creates the informers. An informer starts on its first subscription. */
export function createClusterRbacInformers(
  options: Pick<InformerOptions<ClusterRole>, 'client' | 'clock' | 'random'>,
): ClusterRbacInformers {
  return {
    roles: createReducedInformer({ ...options, resource: ClusterRoles }, ({ metadata, rules = [] }) => ({
      metadata: pickIdentity(metadata),
      rules,
    })),
    bindings: createReducedInformer({ ...options, resource: ClusterRoleBindings }, ({ metadata, roleRef, subjects = [] }) => ({
      metadata: pickIdentity(metadata),
      roleRef,
      subjects,
    })),
  };
}

function pickIdentity({ name, uid, resourceVersion }: StoredIdentity): StoredIdentity {
  return { name, uid, resourceVersion };
}
