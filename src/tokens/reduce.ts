// Objects as informers keep them: Secrets without their data, so that no token stays in memory, and ManagedTokens without the parts
// that Purser does not read, so that tenants cannot fill its memory.

import type { ManagedToken, ManagedTokenStatus } from '../api/managed-token.gen.ts';
import { AnchorFinalizer, Annotation, Label, SetAnnotation, SetFieldManager, TokensGroup } from '../api/names.ts';
import type { Secret, Stored } from '../api/resources.ts';
import type { ObjectMeta } from '../api/wire.ts';
import {
  BYTES_PER_NAMESPACE,
  estimateBytes,
  keepWithin,
  MAX_SMALL_BYTES,
  type NamespaceBudget,
  recordBytes,
} from '../kube/namespace-bytes.ts';
import { listOwnedKeys } from '../kubernetes/managed-fields.ts';
import { computeDigest, digestIfLong } from '../std/digest.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import { parseTokenClaims, type TokenClaims } from '../targets/policy/token-claims.ts';
import { TOKEN_KEY } from './outputs/outputs.ts';
import { holdsToken, type KeptClaims, type StoredSecret, toDataDigest } from './policy/secret.ts';
import { MAX_TOKEN_BYTES, type StoredToken } from './policy/spec.ts';
import { shareFields } from './shared-values.ts';

/**
 * Returns identity, metadata, claims and digests of a Secret. If the metadata is too large, drops the metadata set by others and sets
 * `isTooLarge`, because a tenant can create any number of such Secrets. The object must come from a response, because its parts are
 * replaced with shared ones.
 */
export function reduceSecret(object: Stored<Secret>): Stored<StoredSecret> {
  const whole = shareSecretParts(withoutData(object));
  const bytes = estimateBytes(whole.metadata);
  if (bytes <= MAX_METADATA_BYTES) return recordBytes(whole, bytes + estimateBytes(whole.claims));
  const stub = { ...toSecretStub(whole), isTooLarge: true as const };
  return recordBytes(stub, estimateBytes(stub));
}

/** Memory budgets for the ManagedTokens and for the Secrets in each namespace. */
export const TOKEN_BUDGET: NamespaceBudget<StoredToken> = { bytes: BYTES_PER_NAMESPACE / 2, small: MAX_SMALL_BYTES, toStub: toTokenStub };
export const SECRET_BUDGET: NamespaceBudget<StoredSecret> = { ...TOKEN_BUDGET, toStub: toSecretStub };

function withoutData({ metadata, type = 'Opaque', immutable = false, data = {} }: Stored<Secret>): Stored<StoredSecret> {
  const token = decodeToken({ data });
  const claims = selectClaims(parseTokenClaims(token));
  return {
    metadata: omitUndefined<Stored<Secret>['metadata']>({ ...metadata, managedFields: undefined }),
    type,
    immutable,
    ...(metadata.deletionTimestamp !== undefined && !holdsToken({ data }) && { isEmptied: true }),
    ...(token !== '' && { tokenDigest: computeDigest(token) }),
    dataDigest: toDataDigest(data),
    ...(claims && { claims }),
  };
}

/** Returns the claims that Purser compares with the record; undefined for an opaque token. */
function selectClaims(claims: TokenClaims | undefined): KeptClaims | undefined {
  if (claims === undefined) return undefined;
  const { subject, audiences, accountUID, issuedAt, expiresAt } = claims;
  return omitUndefined({ subject, audiences, accountUID, issuedAt, expiresAt });
}

/** Replaces parts of a Secret with equal parts of other objects, so that equal parts take memory only once. */
function shareSecretParts(secret: Stored<StoredSecret>): Stored<StoredSecret> {
  const { metadata, claims = {} } = secret;
  shareFields(secret, ['tokenDigest']);
  shareFields(metadata, SHARED_METADATA);
  shareFields(metadata.annotations ?? {}, SHARED_ANNOTATIONS);
  for (const owner of metadata.ownerReferences ?? []) shareFields(owner);
  shareFields(claims, ['subject', 'accountUID', 'audiences']);
  return secret;
}

/** Metadata fields whose values several objects have in common, such as a ManagedToken and its Secret. */
const SHARED_METADATA = ['name', 'namespace', 'uid', 'creationTimestamp', 'labels'];
const SHARED_ANNOTATIONS = [
  Annotation.issuedAt,
  Annotation.expiresAt,
  Annotation.renewAt,
  Annotation.issuedFor,
  Annotation.tokenDigest,
  Annotation.credentialId,
];

/** Maximum estimated size of a Secret's metadata, in bytes: more than the labels and annotations of any spec and Purser's record need. */
const MAX_METADATA_BYTES = 98_304;
/** Maximum total length of Purser's annotations in a stub, in characters. */
const MAX_OWN_LENGTH = 4_096;
/** Maximum estimated size of the claims in a stub, in bytes. */
const MAX_CLAIM_BYTES = 1_024;
/** Maximum number of a Secret's owners that an index or a stub contains, or that a change triggers; tenants can add many. */
export const MAX_OWNERS = 16;
/** Maximum length of each string in an owner reference, in characters; a digest replaces a longer one. */
const MAX_NAME_LENGTH = 253;

function selectOwnMetadata({
  name,
  namespace,
  uid,
  resourceVersion,
  labels = {},
  annotations = {},
  ownerReferences = [],
}: Stored<StoredSecret>['metadata']): Stored<StoredSecret>['metadata'] {
  let length = 0;
  const own = DEFINED_ANNOTATIONS.flatMap((key) => {
    const value = annotations[key];
    if (value === undefined || length + key.length + value.length > MAX_OWN_LENGTH) return [];
    length += key.length + value.length;
    return [[key, value] as const];
  });
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    labels: Object.fromEntries(Object.entries(labels).filter(([key]) => key === Label.managedBy)),
    annotations: Object.fromEntries(own),
    ownerReferences: selectControllers(ownerReferences),
  };
}

type OwnerReferences = NonNullable<ObjectMeta['ownerReferences']>;

/** Returns the owners that are controllers, at most 16, with digests in place of overlong strings. */
function selectControllers(owners: OwnerReferences): OwnerReferences {
  const controllers = owners.filter(({ controller }) => controller).slice(0, MAX_OWNERS);
  return controllers.map((owner) => ({
    ...owner,
    apiVersion: shortenName(owner.apiVersion),
    kind: shortenName(owner.kind),
    name: shortenName(owner.name),
    uid: shortenName(owner.uid),
  }));
}

function toSecretStub({ metadata, claims, ...rest }: Stored<StoredSecret>): Stored<StoredSecret> {
  return { ...rest, metadata: selectOwnMetadata(metadata), ...(claims && estimateBytes(claims) <= MAX_CLAIM_BYTES && { claims }) };
}

/** Returns a name, or the digest of an overlong name: a substring of the name would keep the whole name in memory. */
function shortenName(name: string): string {
  return name.length > MAX_NAME_LENGTH ? computeDigest(name) : name;
}

/** Returns the token of a Secret; empty if the Secret has none. */
export function decodeToken({ data = {} }: Pick<Secret, 'data'>): string {
  return Buffer.from(data[TOKEN_KEY] ?? '', 'base64').toString();
}

/**
 * Returns the parts of a ManagedToken that Purser reads. Updates of the status and patches of the metadata leave the other parts on the
 * server unchanged. A ManagedToken that is still too large loses its labels, most annotations, the labels and annotations in spec.secret
 * and most fields of a long status, and has `isTooLarge` set. The object must come from a response, because its parts are replaced with
 * shared ones.
 */
export function reduceToken({ apiVersion, kind, metadata: whole, spec, status }: Stored<ManagedToken>): StoredToken {
  const metadata = reduceMetadata(whole);
  const reduced: StoredToken = status ? { apiVersion, kind, metadata, spec, status } : { apiVersion, kind, metadata, spec };
  return shareTokenParts(keepWithin(MAX_TOKEN_BYTES, reduced, toTokenStub));
}

/**
 * Replaces parts of a ManagedToken with equal parts of other objects; the status object itself is not shared, because its signature is
 * valid for one ManagedToken.
 */
function shareTokenParts(token: StoredToken): StoredToken {
  const { metadata, status = {} } = token;
  shareFields(token, ['apiVersion', 'kind', 'spec']);
  shareFields(metadata, SHARED_METADATA);
  shareFields(status, SHARED_STATUS);
  shareFields(status.secretRef ?? {});
  return token;
}

const SHARED_STATUS = [
  'conditions',
  'secretName',
  'serviceAccountUID',
  'issuedAt',
  'expirationTimestamp',
  'nextRotationTime',
  'credentialID',
];

const MAX_ANNOTATIONS = 16;
/** Maximum number of labels, and of annotations, of a template, as in the CRD of ManagedTokenSets. */
const MAX_TEMPLATE_TEXTS = 32;
const DEFINED_ANNOTATIONS: readonly string[] = [...Object.values(Annotation), SetAnnotation.templateDigest];

/** Returns the metadata that identifies an object and its version, with the times of its creation and deletion. */
export function coreMetadataOf({
  name,
  namespace,
  uid,
  resourceVersion,
  generation,
  creationTimestamp,
  deletionTimestamp,
}: Stored<ManagedToken>['metadata']): Stored<ManagedToken>['metadata'] {
  return omitUndefined({ name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp });
}

function reduceMetadata(metadata: Stored<ManagedToken>['metadata']): Stored<ManagedToken>['metadata'] {
  const { finalizers } = metadata;
  const labels = selectSetByTemplate(metadata, 'labels');
  const annotations = [...selectOwnAnnotations(metadata), ...selectSetByTemplate(metadata, 'annotations')];
  // API servers admit one controller.
  const controllers = selectControllers(metadata.ownerReferences ?? []).slice(0, 1);
  return {
    ...coreMetadataOf(metadata),
    ...(finalizers && { finalizers }),
    ...(controllers.length > 0 && { ownerReferences: controllers }),
    ...(labels.length > 0 && { labels: Object.fromEntries(labels) }),
    ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations.map(reduceText)) }),
  };
}

/**
 * Returns at most MAX_ANNOTATIONS annotations under Purser's prefix; those that Purser defines come first. A change to any of them triggers
 * a reconcile.
 */
function selectOwnAnnotations({ annotations = {} }: ObjectMeta): readonly (readonly [string, string])[] {
  const own = Object.entries(annotations).filter(([name]) => name.startsWith(`${TokensGroup}/`));
  return own
    .toSorted(([a], [b]) => Number(DEFINED_ANNOTATIONS.includes(b)) - Number(DEFINED_ANNOTATIONS.includes(a)))
    .slice(0, MAX_ANNOTATIONS);
}

/** Returns the labels or annotations that the controller of ManagedTokenSets has set, without those under Purser's prefix. */
function selectSetByTemplate(metadata: ObjectMeta, part: 'labels' | 'annotations'): readonly (readonly [string, string])[] {
  const { managedFields = [], [part]: texts = {} } = metadata;
  const names = listOwnedKeys(managedFields, SetFieldManager, part).filter((name) => !name.startsWith(`${TokensGroup}/`));
  return names.flatMap((name) => (Object.hasOwn(texts, name) ? [[name, texts[name] ?? ''] as const] : [])).slice(0, MAX_TEMPLATE_TEXTS);
}

/** Replaces a long value of an annotation with its digest: Purser only compares values. */
function reduceText([annotation, value]: readonly [string, string]): readonly [string, string] {
  return [annotation, digestIfLong(value)];
}

/** Returns the fields of an overlong status that Purser must keep, for example to find anchors. The CRD limits the size of these fields. */
function selectRecords(status: ManagedTokenStatus): ManagedTokenStatus {
  const { observedGeneration, lastRevokeRequest, tokenDigest, tokenSignature, secretDigest, secretRef, anchors } = status;
  return omitUndefined({ observedGeneration, lastRevokeRequest, tokenDigest, tokenSignature, secretDigest, secretRef, anchors });
}

function toTokenStub({ metadata, spec, status, ...type }: StoredToken): StoredToken {
  const { labels: _, annotations: __, ...secret } = spec.secret;
  const { labels: ___, annotations = {}, finalizers, ...identity } = metadata;
  // Annotations that request a rotation or revocation stay: an administrator must be able to revoke any token.
  const requests = Object.entries(annotations).filter(([name]) => STUB_ANNOTATIONS.has(name));
  // From an overlong list, only Purser's own finalizer is kept: it shows that there are anchors.
  const ours = finalizers?.filter((finalizer) => finalizer === AnchorFinalizer) ?? [];
  const own = estimateBytes(finalizers) > MAX_PART_BYTES ? ours : finalizers;
  return {
    ...type,
    metadata: { ...identity, annotations: Object.fromEntries(requests), ...(own && { finalizers: own }) },
    spec: { ...spec, secret },
    ...(status && { status: estimateBytes(status) <= MAX_PART_BYTES ? status : selectRecords(status) }),
  };
}

const MAX_PART_BYTES = 8_192;
const STUB_ANNOTATIONS: ReadonlySet<string> = new Set([Annotation.rotate, Annotation.revoke, SetAnnotation.templateDigest]);
