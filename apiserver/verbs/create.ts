// Create: stores a new object.

import { randomUUID } from 'node:crypto';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { alreadyExists, badRequest, forbidden, notFound, unclassified } from '../../src/kubernetes/status.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import type { Kind } from '../kinds/kind.ts';
import type { KindStore } from '../storage/kind-store.ts';
import type { StoredObject } from '../storage/object-store.ts';
import { type Api, checkValid, openStore, type RequestTarget, toResourceName, type Writer } from './api.ts';
import { trackFields } from './field-tracking.ts';

/** Maximum length of the prefix in generated names, in characters. */
const MAX_PREFIX_LENGTH = 58;
/** Maximum number of attempts to generate a free name. */
const NAME_ATTEMPTS = 8;

/** Stores a new object; records the writer as the owner of the object's fields. */
export function createObject(api: Api, target: RequestTarget, decoded: KubeObject, writer: Writer): KubeObject {
  const { kind, namespace } = target;
  const next = withoutDeletion(withNamespace(decoded, kind, namespace));
  return storeNew(api, kind, trackFields(api, target, { next, writer }), writer);
}

/** Checks and stores a new object, which must already have its managedFields. */
export function storeNew(api: Api, kind: Kind, object: KubeObject, writer: Writer): KubeObject {
  admitCreate(api, kind, object);
  const store = openStore(api, kind);
  const fresh = kind.rules.prepareForCreate(withSystemMetadata(withGeneratedName(object, store, api), api.now()));
  checkValid(kind, fresh, kind.rules.validate(fresh));
  if (!writer.dryRun && hasResourceVersion(fresh)) throw unclassified('resourceVersion should not be set on objects to be created');
  const existing = store.get(fresh.metadata.namespace ?? '', fresh.metadata.name ?? '');
  if (existing !== undefined) throw conflictWith(kind, existing);
  return writer.dryRun ? store.preview(fresh) : store.put(fresh);
}

/** Returns the object without resourceVersion, for an apply that creates it. */
export function withoutVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Returns a namespaced object in `namespace`, or a cluster-scoped object without namespace. Throws 400 if the namespaces differ. */
export function withNamespace(object: KubeObject, kind: Kind, namespace: string): KubeObject {
  const { namespace: own = '', ...metadata } = object.metadata;
  if (!kind.namespaced) return { ...object, metadata };
  if (own === namespace) return object;
  if (own !== '') throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  return { ...object, metadata: { ...metadata, namespace } };
}

/** Returns the object without the fields that only a delete sets. */
function withoutDeletion(object: KubeObject): KubeObject {
  const { deletionTimestamp: _, deletionGracePeriodSeconds: __, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Generates the name of an object that has only a generateName. */
function withGeneratedName(object: KubeObject, store: KindStore, api: Api): KubeObject {
  const { name = '', generateName = '', namespace = '' } = object.metadata;
  if (name !== '' || generateName === '') return object;
  const prefix = generateName.slice(0, MAX_PREFIX_LENGTH);
  let generated = prefix + api.nameSuffix();
  for (let attempt = 1; attempt < NAME_ATTEMPTS && store.get(namespace, generated) !== undefined; attempt++)
    generated = prefix + api.nameSuffix();
  return { ...object, metadata: { ...object.metadata, name: generated } };
}

function withSystemMetadata(object: KubeObject, now: number): KubeObject {
  const { selfLink: _, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, uid: randomUUID(), creationTimestamp: formatTimestamp(now) } };
}

/** Returns true for a resourceVersion other than zero. Ignores strings that are not numbers. */
function hasResourceVersion({ metadata: { resourceVersion = '' } }: KubeObject): boolean {
  return /^\d+$/.test(resourceVersion) && Number(resourceVersion) !== 0;
}

function conflictWith(kind: Kind, { metadata }: StoredObject): Error {
  const prefix = metadata.deletionTimestamp === undefined ? '' : 'object is being deleted: ';
  return alreadyExists(toResourceName(kind), metadata.name, prefix);
}

const NAMESPACES = { group: '', name: 'namespaces' };
const PROTECTED_NAMESPACES: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);

/** Throws 403 if the kind or the namespace of a new object is terminating, and 404 if the namespace is missing. */
export function admitCreate(api: Api, kind: Kind, { metadata }: KubeObject): void {
  if (kind.createRejection !== undefined) throw forbidden(toResourceName(kind), metadata.name ?? '', kind.createRejection);
  if (!kind.namespaced) return;
  const namespace = metadata.namespace ?? '';
  const found = api.store.get('namespaces', namespace);
  if (found === undefined) throw notFound(NAMESPACES, namespace);
  if (found.metadata.deletionTimestamp !== undefined)
    throw namespaceTerminating(kind, namespace, metadata.name || metadata.generateName || '');
}

/** Throws 403 for the deletion of a protected namespace. */
export function admitDelete(kind: Kind, name: string): void {
  if (kind.group !== '' || kind.plural !== 'namespaces' || !PROTECTED_NAMESPACES.has(name)) return;
  throw forbidden(NAMESPACES, name, 'this namespace may not be deleted');
}

function namespaceTerminating(kind: Kind, namespace: string, name: string): Error {
  return forbidden(toResourceName(kind), name, `unable to create new content in namespace ${namespace} because it is being terminated`, [
    { reason: 'NamespaceTerminating', message: `namespace ${namespace} is being terminated`, field: 'metadata.namespace' },
  ]);
}
