// Who owns whom, kept up to date change by change.

import type { KubeObject, OwnerReference } from '../../src/kubernetes/object.ts';
import { parseGroupVersion } from '../../src/kubernetes/wire/type-meta.ts';
import type { Registry } from '../kinds/registry.ts';
import { resourceOf } from '../storage/kind-store.ts';

/** Where an object is stored. */
export interface Place {
  readonly resource: string;
  readonly key: string;
}

interface Node extends Place {
  readonly owners: readonly OwnerReference[];
}

export class OwnerGraph {
  /** Every stored object by uid. */
  readonly #nodes = new Map<string, Node>();
  /** By the uid of the owner, whether that exists or not: the uids of its dependents. */
  readonly #dependents = new Map<string, Set<string>>();
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  set(place: Place, { metadata }: KubeObject): void {
    const { uid = '', ownerReferences: owners = [] } = metadata;
    this.#unlink(uid);
    this.#nodes.set(uid, { ...place, owners });
    for (const owner of owners) {
      const dependents = this.#dependents.get(owner.uid) ?? new Set();
      this.#dependents.set(owner.uid, dependents.add(uid));
    }
  }

  delete({ metadata: { uid = '' } }: KubeObject): void {
    this.#unlink(uid);
    this.#nodes.delete(uid);
  }

  place(uid: string): Place | undefined {
    return this.#nodes.get(uid);
  }

  dependentsOf(uid: string): readonly Place[] {
    return [...(this.#dependents.get(uid) ?? [])].flatMap((dependent) => this.#nodes.get(dependent) ?? []);
  }

  /** The owners that an object does not have; none as long as there is one of which that cannot be told. */
  lostOwners({ metadata: { namespace = '', ownerReferences = [] } }: KubeObject): readonly OwnerReference[] {
    const lost: OwnerReference[] = [];
    for (const owner of ownerReferences) {
      const expected = this.#placeOf(owner, namespace);
      if (expected === undefined) return [];
      const found = this.#nodes.get(owner.uid);
      if (found?.resource !== expected.resource || found.key !== expected.key) lost.push(owner);
    }
    return lost;
  }

  /** Where an owner has to be: in the namespace of its dependent or at the cluster scope. Its kind may not be known, nor its namespace. */
  #placeOf({ apiVersion, kind: named, name }: OwnerReference, namespace: string): Place | undefined {
    const { group, version } = parseGroupVersion(apiVersion);
    const kind = this.#registry.findKind(group, version, named);
    if (kind === undefined || (kind.namespaced && namespace === '')) return undefined;
    return { resource: resourceOf(kind), key: kind.namespaced ? `${namespace}/${name}` : name };
  }

  #unlink(uid: string): void {
    for (const owner of this.#nodes.get(uid)?.owners ?? []) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
  }
}
