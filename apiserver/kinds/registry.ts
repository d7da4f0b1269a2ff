// The registry of served kinds: built-in kinds, and kinds that CustomResourceDefinitions define.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { configMapKind } from './config-map.ts';
import { coreEventKind } from './event.ts';
import { type Kind, toResource } from './kind.ts';
import { leaseKind } from './lease.ts';
import { namespaceKind } from './namespace.ts';
import { nodeKind, podKind } from './pod.ts';
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from './rbac.ts';
import { secretKind } from './secret.ts';
import { serviceAccountKind } from './service-account.ts';

export class KindRegistry {
  /** Kinds by resource. */
  readonly #resources = new Map<string, Kind>();
  #all: readonly Kind[] = [];

  constructor(builtIn: readonly Kind[]) {
    for (const kind of builtIn) this.set(kind.group, kind.plural, kind);
  }

  /** Sets the kind of a resource; undefined removes the resource. */
  set(group: string, plural: string, kind: Kind | undefined): void {
    const resource = toResource({ group, plural });
    if (kind === undefined) this.#resources.delete(resource);
    else this.#resources.set(resource, kind);
    this.#all = [...this.#resources.values()];
  }

  /** Returns every kind; the same array until the next change. */
  all(): readonly Kind[] {
    return this.#all;
  }

  /** Returns the kind of a resource in one version. */
  find(group: string, version: string, plural: string): Kind | undefined {
    const kind = this.findByResource(toResource({ group, plural }));
    return kind?.version === version ? kind : undefined;
  }

  /** Returns the kind of a resource, such as `secrets` or `coordination.k8s.io/leases`, in any version. */
  findByResource(resource: string): Kind | undefined {
    return this.#resources.get(resource);
  }

  /** Returns the kind with the given group, version and `kind` field. */
  findKind(group: string, version: string, kind: string): Kind | undefined {
    return this.#all.find((each) => each.group === group && each.version === version && each.kind === kind);
  }
}

/** All built-in kinds except CustomResourceDefinition. */
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

/** Namespaces that the server creates at startup if they are missing. */
export const bootstrapNamespaces: readonly KubeObject[] = ['kube-system', 'kube-public', 'kube-node-lease', 'default'].map((name) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
}));
