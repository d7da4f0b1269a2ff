// Who owns whom, kept up to date change by change.

import type { KubeObject, OwnerReference } from '../../apimachinery/object.ts';

/** Where an object is stored. */
export interface Place {
  readonly resource: string;
  readonly key: string;
}

interface Node extends Place {
  readonly namespace: string;
  readonly owners: readonly OwnerReference[];
}

export class OwnerGraph {
  /** Every stored object by uid. */
  readonly #nodes = new Map<string, Node>();
  /** By the uid of the owner, whether that exists or not: the uids of its dependents. */
  readonly #dependents = new Map<string, Set<string>>();

  set(place: Place, { metadata }: KubeObject): void {
    const { uid = '', namespace = '', ownerReferences: owners = [] } = metadata;
    this.#unlink(uid);
    this.#nodes.set(uid, { ...place, namespace, owners });
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

  /** The owners of an object that exist where it can have owners: in its own namespace or at the cluster scope. */
  presentOwners({ metadata: { namespace = '', ownerReferences = [] } }: KubeObject): readonly OwnerReference[] {
    return ownerReferences.filter(({ uid }) => {
      const owner = this.#nodes.get(uid);
      // Whether a cluster-scoped object's namespaced owner exists cannot be told from its reference, so it is never collected.
      return owner !== undefined && (namespace === '' || owner.namespace === '' || owner.namespace === namespace);
    });
  }

  #unlink(uid: string): void {
    for (const owner of this.#nodes.get(uid)?.owners ?? []) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
  }
}
