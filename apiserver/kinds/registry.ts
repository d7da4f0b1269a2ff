// The registry of served kinds: the built-in ones, and those of CustomResourceDefinitions.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { configMapKind } from './config-map.ts';
import { coreEventKind } from './event.ts';
import type { Kind } from './kind.ts';
import { leaseKind } from './lease.ts';
import { namespaceKind } from './namespace.ts';
import { nodeKind, podKind } from './pod.ts';
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from './rbac.ts';
import { secretKind } from './secret.ts';
import { serviceAccountKind } from './service-account.ts';

export class Registry {
  /** By group and plural; one entry per served version. */
  readonly #resources = new Map<string, readonly Kind[]>();
  #all: readonly Kind[] = [];

  constructor(builtIn: readonly Kind[]) {
    for (const [resource, kinds] of Map.groupBy(builtIn, resourceOf)) this.#resources.set(resource, kinds);
    this.#all = [...this.#resources.values()].flat();
  }

  /** Makes `kinds`, one per served version, all that is known of a resource; none of them removes it. */
  set(group: string, plural: string, kinds: readonly Kind[]): void {
    const resource = resourceOf({ group, plural });
    if (kinds.length === 0) this.#resources.delete(resource);
    else this.#resources.set(resource, kinds);
    this.#all = [...this.#resources.values()].flat();
  }

  /** Every version of every kind. The same array until something changes. */
  all(): readonly Kind[] {
    return this.#all;
  }

  find(group: string, version: string, plural: string): Kind | undefined {
    return this.versionsOf(group, plural).find((kind) => kind.version === version);
  }

  /** Returns the versions in which a resource is served. */
  versionsOf(group: string, plural: string): readonly Kind[] {
    return this.#resources.get(resourceOf({ group, plural })) ?? [];
  }

  /** Returns the kind that objects with this type belong to. */
  findKind(group: string, version: string, kind: string): Kind | undefined {
    return this.#all.find((each) => each.group === group && each.version === version && each.kind === kind);
  }

  isRegistered(group: string, version: string, kind: string): boolean {
    return this.findKind(group, version, kind) !== undefined;
  }
}

function resourceOf({ group, plural }: Pick<Kind, 'group' | 'plural'>): string {
  return `${group}/${plural}`;
}

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
