// Secrets without what is secret in them: reduced as they arrive, so that no token stays in memory.

import { hash } from 'node:crypto';
import { Annotation, Label } from '../api/names.ts';
import type { Secret } from '../api/resources.ts';
import type { ObjectMeta } from '../api/wire.ts';
import { tokenClaims } from '../targets/policy/token-claims.ts';
import type { OutputTarget } from './outputs/forms.ts';
import { TOKEN_KEY } from './outputs/outputs.ts';
import type { StoredSecret } from './policy/observation.ts';
import { dataText, renderedOutputs } from './policy/secret.ts';

/**
 * Returns what is kept of a Secret: identity, metadata, claims and digests. A Secret whose metadata is too large loses the metadata of
 * others and is marked, because a tenant can put any number of such Secrets in the way.
 */
export function reduceSecret({ metadata, type = 'Opaque', immutable = false, data = {} }: Secret): StoredSecret {
  const { managedFields: _, ...kept } = metadata;
  const isTooLarge = JSON.stringify(kept).length > MAX_METADATA_LENGTH;
  const token = tokenOf({ data });
  const claims = tokenClaims(token);
  return {
    metadata: isTooLarge ? ownMetadata(kept) : kept,
    ...(isTooLarge && { isTooLarge }),
    type,
    immutable,
    ...(token !== '' && { tokenDigest: digestOf(token) }),
    dataDigest: digestOf(dataText(data)),
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

/** Returns the digest of the wanted outputs, rendered with a placeholder token. */
export function wantedDigest(target: OutputTarget): string {
  return digestOf(renderedOutputs(target));
}

/** `sha256:` and the digest of a text. */
export function digestOf(text: string): string {
  return `sha256:${hash('sha256', text)}`;
}

/** Returns the token of a Secret; empty if the Secret has none. */
export function tokenOf({ data = {} }: Pick<Secret, 'data'>): string {
  return Buffer.from(data[TOKEN_KEY] ?? '', 'base64').toString();
}
