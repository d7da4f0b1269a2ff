// Garbage collection in the background: deletes objects after their last owner.

import type { KubeObject, OwnerReference } from '../../src/kubernetes/object.ts';
import { parseGroupVersion } from '../../src/kubernetes/wire/type-meta.ts';
import type { Registry } from '../kinds/registry.ts';
import { resourceOf } from '../storage/kind-store.ts';
import { ALL_RESOURCES, type Change } from '../storage/object-store.ts';
import type { Api } from '../verbs/api.ts';
import { deleteObject } from '../verbs/delete.ts';
import { updateObject } from '../verbs/update.ts';
import { kindOfResource, type Stop, systemWriter, targetOf } from './controller.ts';

/** Storage location of an object. */
export interface Place {
  readonly resource: string;
  readonly key: string;
}

interface Node extends Place {
  readonly owners: readonly OwnerReference[];
}

class OwnerGraph {
  /** Every stored object by uid. */
  readonly #nodes = new Map<string, Node>();
  /** Uids of dependents by the uid of their owner, which need not exist. */
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

  /** Returns the owners of an object that do not exist; none if that is unknown for one of them. */
  missingOwners({ metadata: { namespace = '', ownerReferences = [] } }: KubeObject): readonly OwnerReference[] {
    const lost: OwnerReference[] = [];
    for (const owner of ownerReferences) {
      const expected = this.#placeOf(owner, namespace);
      if (expected === undefined) return [];
      const found = this.#nodes.get(owner.uid);
      if (found?.resource !== expected.resource || found.key !== expected.key) lost.push(owner);
    }
    return lost;
  }

  /** Returns the location of an owner: the namespace of its dependent, or the cluster scope. Undefined if its kind is unknown. */
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

const WRITER = systemWriter('kube-controller-manager');
/** Grace period for an unknown owner, which may be created later, as when a backup is restored. */
const UNKNOWN_OWNER_GRACE_MS = 30_000;

export function collectGarbage(api: Api): Stop {
  const collector = new GarbageCollector(api);
  for (const resource of api.store.resources()) {
    for (const object of api.store.list(resource)) collector.observe({ resource, key: keyOf(object) }, object);
  }
  const unsubscribe = api.store.subscribe(ALL_RESOURCES, (change) => collector.react(change));
  return () => {
    unsubscribe();
    collector.stop();
  };
}

class GarbageCollector {
  readonly #api: Api;
  readonly #graph: OwnerGraph;
  /** Cancels the second check of an object without its owner, by uid. */
  readonly #rechecks = new Map<string, Stop>();

  constructor(api: Api) {
    this.#api = api;
    this.#graph = new OwnerGraph(api.registry);
  }

  react({ type, resource, key, object }: Change): void {
    if (type !== 'DELETED') return this.observe({ resource, key }, object);
    this.#cancelRecheck(object);
    this.#graph.delete(object);
    for (const dependent of this.#graph.dependentsOf(object.metadata.uid ?? '')) this.#api.attempt(() => this.#collect(dependent));
  }

  observe(place: Place, object: KubeObject): void {
    this.#graph.set(place, object);
    const { uid = '' } = object.metadata;
    const lost = this.#graph.missingOwners(object);
    if (lost.length === 0) return this.#cancelRecheck(object);
    // An owner that exists under another name will not appear under this one.
    if (lost.every((owner) => this.#graph.place(owner.uid) !== undefined)) return this.#api.attempt(() => this.#collect(place));
    if (this.#rechecks.has(uid)) return;
    this.#rechecks.set(
      uid,
      this.#api.wakeAt(this.#api.now() + UNKNOWN_OWNER_GRACE_MS, () => this.#collect(place)),
    );
  }

  stop(): void {
    for (const cancel of this.#rechecks.values()) cancel();
  }

  #cancelRecheck({ metadata: { uid = '' } }: KubeObject): void {
    this.#rechecks.get(uid)?.();
    this.#rechecks.delete(uid);
  }

  /** Deletes an object without owners; removes references to deleted owners from an object with other owners. */
  #collect(place: Place): void {
    const object = this.#api.store.get(place.resource, place.key);
    if (object === undefined) return;
    this.#cancelRecheck(object);
    const { ownerReferences = [], deletionTimestamp } = object.metadata;
    const lost = this.#graph.missingOwners(object);
    if (lost.length === 0 || deletionTimestamp !== undefined) return;
    const present = ownerReferences.filter((owner) => !lost.includes(owner));
    if (present.length === 0) this.#delete(place, object);
    else this.#setOwners(place, object, present);
  }

  #delete({ resource }: Place, object: KubeObject): void {
    const kind = kindOfResource(this.#api, resource);
    if (kind !== undefined) deleteObject(this.#api, targetOf(kind, object), { dryRun: false });
  }

  #setOwners({ resource }: Place, object: KubeObject, ownerReferences: readonly OwnerReference[]): void {
    const kind = kindOfResource(this.#api, resource);
    const next = { ...object, metadata: { ...object.metadata, ownerReferences } };
    if (kind !== undefined) updateObject(this.#api, targetOf(kind, object), next, WRITER);
  }
}

function keyOf({ metadata: { namespace, name = '' } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
