// The garbage collector: deletes objects in the background after the deletion of their last owner.

import type { OwnerReference } from '../../src/kubernetes/object.ts';
import { parseGroupVersion } from '../../src/kubernetes/wire/type-meta.ts';
import { resourceOf } from '../kinds/kind.ts';
import type { Registry } from '../kinds/registry.ts';
import { ALL_RESOURCES, type Change, type StoredObject } from '../storage/object-store.ts';
import type { Api } from '../verbs/api.ts';
import { deleteObject } from '../verbs/delete.ts';
import { updateObject } from '../verbs/update.ts';
import { type Stop, systemWriter, targetOf } from './controller.ts';

/** Location of a stored object. */
interface Location {
  readonly resource: string;
  readonly key: string;
}

interface Node extends Location {
  readonly owners: readonly OwnerReference[];
}

/** Stored objects with their owners and dependents. */
class OwnerGraph {
  /** All stored objects by uid. */
  readonly #nodes = new Map<string, Node>();
  /** Uids of dependents by the uid of their owner, even for owners that do not exist. */
  readonly #dependents = new Map<string, Set<string>>();
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  set(location: Location, { metadata }: StoredObject): void {
    const { uid, ownerReferences: owners = [] } = metadata;
    this.#unlink(uid);
    this.#nodes.set(uid, { ...location, owners });
    for (const owner of owners) {
      const dependents = this.#dependents.get(owner.uid) ?? new Set();
      this.#dependents.set(owner.uid, dependents.add(uid));
    }
  }

  delete({ metadata: { uid } }: StoredObject): void {
    this.#unlink(uid);
    this.#nodes.delete(uid);
  }

  locationOf(uid: string): Location | undefined {
    return this.#nodes.get(uid);
  }

  dependentsOf(uid: string): readonly Location[] {
    return [...(this.#dependents.get(uid) ?? [])].flatMap((dependent) => this.#nodes.get(dependent) ?? []);
  }

  /** Returns the owners of an object that do not exist; none if the kind of an owner is unknown. */
  missingOwners({ metadata: { namespace = '', ownerReferences = [] } }: StoredObject): readonly OwnerReference[] {
    const missing: OwnerReference[] = [];
    for (const owner of ownerReferences) {
      const expected = this.#expectedLocation(owner, namespace);
      if (expected === undefined) return [];
      const found = this.#nodes.get(owner.uid);
      if (found?.resource !== expected.resource || found.key !== expected.key) missing.push(owner);
    }
    return missing;
  }

  /** Returns the expected location of an owner: in the namespace of its dependent or cluster-scoped. Undefined for an unknown kind or namespace. */
  #expectedLocation({ apiVersion, kind: named, name }: OwnerReference, namespace: string): Location | undefined {
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
/** Grace period for an unknown owner, in milliseconds: a restore of a backup may create the owner later. */
const UNKNOWN_OWNER_GRACE_MS = 30_000;

/** Starts the controller. */
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
  /** Functions that cancel the second check of an object with a missing owner, by uid. */
  readonly #rechecks = new Map<string, Stop>();

  constructor(api: Api) {
    this.#api = api;
    this.#graph = new OwnerGraph(api.registry);
  }

  react({ type, resource, key, object }: Change): void {
    if (type !== 'DELETED') return this.observe({ resource, key }, object);
    this.#cancelRecheck(object);
    this.#graph.delete(object);
    for (const dependent of this.#graph.dependentsOf(object.metadata.uid)) this.#api.attempt(() => this.#collect(dependent));
  }

  observe(location: Location, object: StoredObject): void {
    this.#graph.set(location, object);
    const { uid } = object.metadata;
    const missing = this.#graph.missingOwners(object);
    if (missing.length === 0) return this.#cancelRecheck(object);
    // An owner with this uid and another name exists: the named owner will not be created.
    if (missing.every((owner) => this.#graph.locationOf(owner.uid) !== undefined)) return this.#api.attempt(() => this.#collect(location));
    if (this.#rechecks.has(uid)) return;
    this.#rechecks.set(
      uid,
      this.#api.wakeAt(this.#api.now() + UNKNOWN_OWNER_GRACE_MS, () => this.#collect(location)),
    );
  }

  stop(): void {
    for (const cancel of this.#rechecks.values()) cancel();
  }

  #cancelRecheck({ metadata: { uid } }: StoredObject): void {
    this.#rechecks.get(uid)?.();
    this.#rechecks.delete(uid);
  }

  /** Deletes an object whose owners are all missing; otherwise removes its references to missing owners. */
  #collect(location: Location): void {
    const object = this.#api.store.get(location.resource, location.key);
    if (object === undefined) return;
    this.#cancelRecheck(object);
    const { ownerReferences = [], deletionTimestamp } = object.metadata;
    const missing = this.#graph.missingOwners(object);
    if (missing.length === 0 || deletionTimestamp !== undefined) return;
    const kind = this.#api.registry.byResource(location.resource);
    if (kind === undefined) return;
    const present = ownerReferences.filter((owner) => !missing.includes(owner));
    const next = { ...object, metadata: { ...object.metadata, ownerReferences: present } };
    if (present.length === 0) deleteObject(this.#api, targetOf(kind, object), { dryRun: false });
    else updateObject(this.#api, targetOf(kind, object), next, WRITER);
  }
}

function keyOf({ metadata: { namespace, name } }: StoredObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
