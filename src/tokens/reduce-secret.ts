// Secrets without what is secret in them: reduced as they arrive, so that no token stays in memory.

import { hash } from 'node:crypto';
import { Annotation, Label, TokenSecretKey } from '../api/names.ts';
import type { Secret } from '../api/resources.ts';
import type { ObjectMeta } from '../api/wire.ts';
import { tokenClaims } from '../targets/policy/token-claims.ts';
import { type OutputTarget, outputsText, outputTexts, type SecretTexts } from './outputs/outputs.ts';
import type { StoredSecret } from './policy/observation.ts';

/**
 * Returns what is kept of a Secret: identity, metadata, claims and digests. A Secret whose metadata is too large loses the metadata of
 * others and is marked, because a tenant can put any number of such Secrets in the way.
 */
export function reduceSecret({ metadata, type = 'Opaque', immutable = false, data = {} }: Secret): StoredSecret {
  const { managedFields: _, ...kept } = metadata;
  const isTooLarge = JSON.stringify(kept).length > MAX_METADATA_LENGTH;
  const texts = decoded(data);
  const token = texts[TokenSecretKey.token] ?? '';
  const claims = tokenClaims(token);
  return {
    metadata: isTooLarge ? ownMetadata(kept) : kept,
    ...(isTooLarge && { isTooLarge }),
    type,
    immutable,
    ...(token !== '' && { tokenDigest: digestOf(token) }),
    outputsDigest: digestOf(outputsText(texts)),
    ...(claims && { claims }),
  };
}

/** Above what a template and a record take together, in characters of JSON. */
const MAX_METADATA_LENGTH = 32_768;
const MAX_OWN_LENGTH = 8_192;
const MAX_OWNERS = 16;

function ownMetadata({
  name,
  namespace,
  uid,
  resourceVersion,
  labels = {},
  annotations = {},
  ownerReferences = [],
}: ObjectMeta): ObjectMeta {
  const known: readonly string[] = Object.values(Annotation);
  const isOwn = ([key, value]: readonly [string, string]) => known.includes(key) && value.length <= MAX_OWN_LENGTH;
  return {
    ...(name && { name }),
    ...(namespace && { namespace }),
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
    labels: Object.fromEntries(Object.entries(labels).filter(([key]) => key === Label.managedBy)),
    annotations: Object.fromEntries(Object.entries(annotations).filter(isOwn)),
    ownerReferences: ownerReferences.filter(({ controller }) => controller).slice(0, MAX_OWNERS),
  };
}

/** The `outputsDigest` of a Secret that holds what is wanted. */
export function wantedDigest(target: OutputTarget): string {
  return digestOf(outputsText(outputTexts(target, PLACEHOLDER)));
}

/** `sha256:` and the digest of a text. */
export function digestOf(text: string): string {
  return `sha256:${hash('sha256', text)}`;
}

/** The token of a Secret; empty where there is none. */
export function tokenOf({ data = {} }: Secret): string {
  return decoded(data)[TokenSecretKey.token] ?? '';
}

/** Stands for a token, and for nothing else that a Secret of ours holds. */
const PLACEHOLDER = '~purser~the-token-goes-here~';

function decoded(data: Readonly<Record<string, string>>): SecretTexts {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}
