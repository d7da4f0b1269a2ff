// Every kind that the API server knows by itself, and the objects that a fresh server starts with.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { configMapKind } from './core/config-map.ts';
import { coreEventKind } from './core/event.ts';
import { nodeKind, podKind } from './core/inert.ts';
import { namespaceKind } from './core/namespace.ts';
import { secretKind } from './core/secret.ts';
import { serviceAccountKind } from './core/service-account.ts';
import type { Kind } from './kind.ts';
import { leaseKind } from './lease.ts';
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from './rbac.ts';

/** All built-in kinds but CustomResourceDefinition. */
export const builtInKinds: readonly Kind[] = [
  configMapKind,
  coreEventKind,
  namespaceKind,
  nodeKind,
  podKind,
  secretKind,
  serviceAccountKind,
  leaseKind,
  clusterRoleBindingKind,
  clusterRoleKind,
  roleBindingKind,
  roleKind,
];

/** The namespaces of a fresh server, to be created as any client would create them. */
export const bootstrapNamespaces: readonly KubeObject[] = ['kube-system', 'kube-public', 'kube-node-lease', 'default'].map((name) =>
  namespaceKind.rules.defaulted({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
);
