// The garbage collector: deletes objects in the background after the deletion of their last owner.

import type { OwnerReference } from '../../src/kubernetes/object.ts';
import { parseGroupVersion } from '../../src/kubernetes/wire/group-version-kind.ts';
import { toResource } from '../kinds/kind.ts';
import type { KindRegistry } from '../kinds/registry.ts';
import { ALL_RESOURCES, type StoredObject } from '../storage/object-store.ts';
import type { Api } from '../verbs/api.ts';
import { deleteObject } from '../verbs/delete.ts';
import { updateObject } from '../verbs/update.ts';
import { createSystemWriter, type Stop, toTarget } from './controller.ts';

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
  readonly #registry: KindRegistry;

  constructor(registry: KindRegistry) {
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

  dependentsOf(uid: string): readonly Location[] {
    return [...(this.#dependents.get(uid) ?? [])].flatMap((dependent) => this.#nodes.get(dependent) ?? []);
  }

  /** Returns an object's references to missing owners; none if the expected location of any owner is unknown. */
  findMissingOwners({ metadata: { namespace = '', ownerReferences = [] } }: StoredObject): readonly OwnerReference[] {
    const missing: OwnerReference[] = [];
    for (const owner of ownerReferences) {
      const expected = this.#findExpectedLocation(owner, namespace);
      if (expected === undefined) return [];
      const found = this.#nodes.get(owner.uid);
      if (found?.resource !== expected.resource || found.key !== expected.key) missing.push(owner);
    }
    return missing;
  }

  /** Returns the location where an owner must be stored; undefined if its kind is unknown, or namespaced while the dependent is not. */
  #findExpectedLocation({ apiVersion, kind: named, name }: OwnerReference, namespace: string): Location | undefined {
    const { group, version } = parseGroupVersion(apiVersion);
    const kind = this.#registry.findKind(group, version, named);
    if (kind === undefined || (kind.namespaced && namespace === '')) return undefined;
    return { resource: toResource(kind), key: kind.namespaced ? `${namespace}/${name}` : name };
  }

  #unlink(uid: string): void {
    for (const owner of this.#nodes.get(uid)?.owners ?? []) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
  }
}

const WRITER = createSystemWriter('kube-controller-manager');

export function collectGarbage(api: Api): Stop {
  const graph = new OwnerGraph(api.registry);
  const stored = api.store
    .resources()
    .flatMap((resource) => api.store.list(resource).map((object) => ({ location: { resource, key: toKey(object) }, object })));
  for (const { location, object } of stored) graph.set(location, object);
  for (const { location } of stored) api.attempt(() => collect(api, graph, location));
  return api.store.subscribe(ALL_RESOURCES, ({ type, resource, key, object }) => {
    if (type !== 'DELETED') {
      graph.set({ resource, key }, object);
      return collect(api, graph, { resource, key });
    }
    graph.delete(object);
    for (const dependent of graph.dependentsOf(object.metadata.uid)) api.attempt(() => collect(api, graph, dependent));
  });
}

/** Deletes an object whose owners are all missing; otherwise removes its references to missing owners. */
function collect(api: Api, graph: OwnerGraph, { resource, key }: Location): void {
  const object = api.store.get(resource, key);
  const kind = api.registry.findByResource(resource);
  if (object === undefined || kind === undefined) return;
  const { ownerReferences = [], deletionTimestamp } = object.metadata;
  const missing = graph.findMissingOwners(object);
  if (missing.length === 0 || deletionTimestamp !== undefined) return;
  const present = ownerReferences.filter((owner) => !missing.includes(owner));
  const next = { ...object, metadata: { ...object.metadata, ownerReferences: present } };
  if (present.length === 0) deleteObject(api, toTarget(kind, object), { dryRun: false });
  else updateObject(api, toTarget(kind, object), next, WRITER);
}

function toKey({ metadata: { namespace, name } }: StoredObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
