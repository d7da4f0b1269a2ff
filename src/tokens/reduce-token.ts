// ManagedTokens without the parts that Purser does not read: reduced as they arrive, so that tenants cannot fill its memory.

import { hash } from 'node:crypto';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import { AnchorFinalizer, Annotation, TokensGroup } from '../api/names.ts';
import type { ObjectMeta } from '../api/wire.ts';
import { MAX_TOKEN_BYTES, type StoredToken } from './policy/spec.ts';

/**
 * Returns what is kept of a ManagedToken. Writes of its status and patches of its metadata leave the rest as it is on the server.
 * One that is still too large, or whose namespace is over its budget, loses most of its metadata and a long status, and is marked.
 */
export function reduceToken(
  { apiVersion, kind, metadata, spec, status }: ManagedToken,
  { isOverBudget }: Pick<StoredToken, 'isOverBudget'> = {},
): StoredToken {
  const reduced: StoredToken = { apiVersion, kind, metadata: reduceMetadata(metadata), spec, ...(status && { status }) };
  const bytes = bytesIn(reduced);
  const isTooLarge = bytes > MAX_TOKEN_BYTES;
  const marks = { ...(isTooLarge && { isTooLarge }), ...(isOverBudget && { isOverBudget }) };
  const kept: StoredToken = isTooLarge || isOverBudget ? { ...stubOf(reduced), ...marks } : reduced;
  sizes.set(kept, kept === reduced ? bytes : bytesIn(kept));
  return kept;
}

/** Returns the approximate size of a reduced ManagedToken in memory, in bytes. */
export function bytesOf(token: ManagedToken): number {
  return sizes.get(token) ?? 0;
}

const sizes = new WeakMap<ManagedToken, number>();

const MAX_REQUEST_LENGTH = 256;
const MAX_ANNOTATIONS = 16;
const DEFINED: readonly string[] = Object.values(Annotation);

function reduceMetadata(metadata: ObjectMeta): ObjectMeta {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp, finalizers } = metadata;
  const annotations = ownAnnotations(metadata);
  return {
    ...(name && { name }),
    ...(namespace && { namespace }),
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
    ...(generation !== undefined && { generation }),
    ...(creationTimestamp && { creationTimestamp }),
    ...(deletionTimestamp && { deletionTimestamp }),
    ...(finalizers && { finalizers }),
    ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations.map(reduceRequest)) }),
  };
}

/** Returns the annotations under our prefix, the defined ones first: a change of any wakes the ManagedToken. */
function ownAnnotations({ annotations = {} }: ObjectMeta): readonly (readonly [string, string])[] {
  const own = Object.entries(annotations).filter(([name]) => name.startsWith(`${TokensGroup}/`));
  return own.toSorted(([a], [b]) => Number(DEFINED.includes(b)) - Number(DEFINED.includes(a))).slice(0, MAX_ANNOTATIONS);
}

/** Only a new value of a request matters, so a digest of it does. */
function reduceRequest([annotation, value]: readonly [string, string]): readonly [string, string] {
  return [annotation, value.length > MAX_REQUEST_LENGTH ? `sha256:${hash('sha256', value)}` : value];
}

function stubOf({ metadata, spec, status, ...type }: StoredToken): StoredToken {
  const { labels: _, annotations: __, ...secret } = spec.secret;
  const { annotations = {}, finalizers, ...identity } = metadata;
  // An administrator may revoke the token of any ManagedToken.
  const requests = Object.entries(annotations).filter(([name]) => name === Annotation.rotate || name === Annotation.revoke);
  // An overlong list of finalizers is not worth keeping; ours says whether there are anchors.
  const ours = finalizers?.filter((finalizer) => finalizer === AnchorFinalizer) ?? [];
  const own = bytesIn(finalizers) > MAX_PART_BYTES ? ours : finalizers;
  return {
    ...type,
    metadata: { ...identity, annotations: Object.fromEntries(requests), ...(own && { finalizers: own }) },
    spec: { ...spec, secret },
    ...(status && bytesIn(status) <= MAX_PART_BYTES && { status }),
  };
}

const MAX_PART_BYTES = 8_192;

function bytesIn(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}
