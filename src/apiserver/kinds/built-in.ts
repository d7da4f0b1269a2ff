// Every kind that the API server knows by itself, and the objects that a fresh server starts with.

import type { KubeObject } from '../object.ts';
import { configMapKind } from './config-map.ts';
import { coreEventKind } from './event.ts';
import { eventsEventKind } from './events-event.ts';
import type { Kind } from './kind.ts';
import { leaseKind } from './lease.ts';
import { namespaceKind } from './namespace.ts';
import { nodeKind } from './node.ts';
import { podKind } from './pod.ts';
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from './rbac.ts';
import { secretKind } from './secret.ts';
import { serviceAccountKind } from './service-account.ts';

/** All built-in kinds but CustomResourceDefinition. */
export const builtInKinds: readonly Kind[] = [
  configMapKind,
  coreEventKind,
  namespaceKind,
  nodeKind,
  podKind,
  secretKind,
  serviceAccountKind,
  eventsEventKind,
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
