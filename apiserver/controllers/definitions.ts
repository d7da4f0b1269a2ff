// The controller of CustomResourceDefinitions: serves and establishes them, and deletes the custom resources of a deleted definition.

import { formatTimestamp } from '../../src/std/timestamp.ts';
import { toCustomKind, toServedKind } from '../kinds/custom.ts';
import { CLEANUP_FINALIZER, type CustomResourceDefinition, customResourceDefinitionKind, establish } from '../kinds/definition.ts';
import type { Kind } from '../kinds/kind.ts';
import { ALL_RESOURCES, type StoredObject } from '../storage/object-store.ts';
import { type Api, openStore } from '../verbs/api.ts';
import { deleteObject } from '../verbs/delete.ts';
import { updateObject } from '../verbs/update.ts';
import { createSystemWriter, type Stop, toTarget } from './controller.ts';

const RESOURCE = 'apiextensions.k8s.io/customresourcedefinitions';
const WRITER = createSystemWriter('kube-apiserver');

type StoredDefinition = CustomResourceDefinition & StoredObject;

export function serveDefinitions(api: Api): Stop {
  const definitions = () => api.store.list(RESOURCE) as readonly StoredDefinition[];
  const forEach = (all: readonly StoredDefinition[], act: (api: Api, definition: StoredDefinition) => void) =>
    all.forEach((definition) => api.attempt(() => act(api, definition)));
  forEach(definitions(), reconcile);
  return api.store.subscribe(ALL_RESOURCES, ({ resource, type, object }) => {
    if (resource !== RESOURCE) {
      // The deletion of the last custom resource completes the deletion of its definition.
      if (type === 'DELETED') forEach(definitions().filter(isTerminating), cleanUp);
      return;
    }
    const definition = object as StoredDefinition;
    const live = api.store.get(RESOURCE, definition.metadata.name);
    if (live !== undefined) return reconcile(api, live as StoredDefinition);
    api.serve(definition.spec.group, definition.spec.names.plural, undefined);
  });
}

function reconcile(api: Api, definition: StoredDefinition): void {
  const { group, names } = definition.spec;
  api.serve(group, names.plural, toServedKind(definition));
  if (isTerminating(definition)) return cleanUp(api, definition);
  const next = establish(definition, formatTimestamp(api.now()));
  if (next !== definition) updateObject(api, toTarget(customResourceDefinitionKind, definition, 'status'), next, WRITER);
}

/** Deletes the custom resources of a terminating definition; removes the cleanup finalizer when none of them is left. */
function cleanUp(api: Api, definition: StoredDefinition): void {
  const live = api.store.get(RESOURCE, definition.metadata.name);
  const { finalizers = [] } = live?.metadata ?? {};
  if (live === undefined || !finalizers.includes(CLEANUP_FINALIZER)) return;
  if (!deleteAll(api, toCustomKind(definition))) return;
  const { finalizers: _, ...metadata } = live.metadata;
  const others = finalizers.filter((name) => name !== CLEANUP_FINALIZER);
  const released = { ...live, metadata: others.length === 0 ? metadata : { ...metadata, finalizers: others } };
  updateObject(api, toTarget(customResourceDefinitionKind, live), released, WRITER);
}

/** Deletes all objects of a kind; returns false while finalizers keep some of them. */
function deleteAll(api: Api, kind: Kind): boolean {
  const objects = () => openStore(api, kind).list('') ?? [];
  for (const object of objects()) {
    if (object.metadata.deletionTimestamp === undefined) deleteObject(api, toTarget(kind, object), { dryRun: false });
  }
  return objects().length === 0;
}

function isTerminating({ metadata }: CustomResourceDefinition): boolean {
  return metadata.deletionTimestamp !== undefined;
}
