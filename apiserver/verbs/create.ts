// Create: from a decoded object to a stored one.

import { randomUUID } from 'node:crypto';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { alreadyExists, badRequest, unclassified } from '../../src/kubernetes/status.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import type { Kind } from '../kinds/kind.ts';
import { deduplicateOwners } from '../kinds/lifecycle.ts';
import type { KindStore } from '../storage/kind-store.ts';
import { admitCreate } from './admission.ts';
import { type Api, checkValid, resourceName, storeOf, type Target, type Writer } from './api.ts';
import { tracked } from './tracked.ts';

/** Names that Kubernetes generates have room for this many characters before the random ones. */
const MAX_GENERATED_PREFIX = 58;
const NAME_TRIES = 8;

/** Creates what an ordinary POST describes; field ownership is recorded for the writer. */
export function createObject(api: Api, target: Target, decoded: KubeObject, writer: Writer): KubeObject {
  const { kind, namespace } = target;
  const { object, warnings } = deduplicateOwners(withoutDeletion(inNamespace(decoded, kind, namespace)), 'create');
  warnings.forEach(writer.warn);
  return storeNew(api, kind, tracked(api, target, { next: object, writer }), writer);
}

/** Stores a new object whose managed fields are settled. */
export function storeNew(api: Api, kind: Kind, object: KubeObject, writer: Writer): KubeObject {
  admitCreate(api, kind, object);
  api.checkEscalation(writer.user, kind, object);
  const store = storeOf(api, kind);
  const fresh = kind.rules.prepareForCreate(withSystemMetadata(named(object, store, api), api.now()));
  checkValid(kind, fresh, kind.rules.validate(fresh));
  kind.rules.warnings(fresh).forEach(writer.warn);
  if (!writer.dryRun && namesVersion(fresh)) throw unclassified('resourceVersion should not be set on objects to be created');
  const existing = store.get(fresh.metadata.namespace ?? '', fresh.metadata.name ?? '');
  if (existing !== undefined) throw exists(kind, existing);
  return writer.dryRun ? store.preview(fresh) : store.put(fresh);
}

/** The object without the version that it is based on: a create that an update or an apply turns into has none. */
export function withoutVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** The object in the namespace of the URL, or in none; 400 if it says that it is in another. */
export function inNamespace(object: KubeObject, kind: Kind, namespace: string): KubeObject {
  const { namespace: own = '', ...metadata } = object.metadata;
  if (!kind.namespaced) return { ...object, metadata };
  if (own === namespace) return object;
  if (own !== '') throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  return { ...object, metadata: { ...metadata, namespace } };
}

/** What only a deletion sets. */
function withoutDeletion(object: KubeObject): KubeObject {
  const { deletionTimestamp: _, deletionGracePeriodSeconds: __, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Generates a name where only a prefix is given. */
function named(object: KubeObject, store: KindStore, api: Api): KubeObject {
  const { name = '', generateName = '', namespace = '' } = object.metadata;
  if (name !== '' || generateName === '') return object;
  const prefix = generateName.slice(0, MAX_GENERATED_PREFIX);
  let generated = prefix + api.nameSuffix();
  for (let tries = 1; tries < NAME_TRIES && store.get(namespace, generated) !== undefined; tries++) generated = prefix + api.nameSuffix();
  return { ...object, metadata: { ...object.metadata, name: generated } };
}

function withSystemMetadata(object: KubeObject, now: number): KubeObject {
  const { selfLink: _, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, uid: randomUUID(), creationTimestamp: formatTimestamp(now) } };
}

/** A version that is no number, or zero, is as good as none. */
function namesVersion({ metadata: { resourceVersion = '' } }: KubeObject): boolean {
  return /^\d+$/.test(resourceVersion) && Number(resourceVersion) !== 0;
}

function exists(kind: Kind, { metadata }: KubeObject): Error {
  const prefix = metadata.deletionTimestamp === undefined ? '' : 'object is being deleted: ';
  return alreadyExists(resourceName(kind), metadata.name ?? '', prefix);
}
