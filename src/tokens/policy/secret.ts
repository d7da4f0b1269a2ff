// The Secret that holds a token: name, data, metadata and owner, and the parts that Purser keeps in memory. Purser writes a Secret only for
// the ManagedToken that owns it, and creates a missing Secret only for the oldest ManagedToken that names it.

import type { Cluster } from '../../api/cluster.gen.ts';
import { Annotation, Label, LabelValue, TokensGroup, Version } from '../../api/names.ts';
import { ManagedTokens, type Secret } from '../../api/resources.ts';
import type { NamespacedMeta, ObjectMeta, StoredIdentity } from '../../api/wire.ts';
import { computeDigest } from '../../std/digest.ts';
import { compareUtf8 } from '../../std/go-text.ts';
import { formatTimestamp } from '../../std/timestamp.ts';
import type { TokenClaims } from '../../targets/policy/token-claims.ts';
import { isOutputLabel, isTokenFree, type OutputContent, outputLabels, renderOutputs, type SecretTexts } from '../outputs/outputs.ts';
import { encodeRecord, type TokenRecord } from './record.ts';
import type { StoredToken } from './spec.ts';

/** A Secret without its data, as the informer keeps it. */
export interface StoredSecret {
  readonly metadata: NamespacedMeta & StoredIdentity;
  /** True if the metadata was too large to be kept; labels, annotations and owners set by others are then missing. */
  readonly isTooLarge?: true;
  /** True if labels, annotations and owners set by others are missing because the objects in the namespace take too much memory. */
  readonly isOverBudget?: true;
  readonly type: string;
  readonly immutable: boolean;
  /** True if the Secret is being deleted and no key holds the token in any encoding. */
  readonly isEmptied?: true;
  /** Digest of the token; undefined if the `token` key is missing or empty. */
  readonly tokenDigest?: string;
  /** Digest of all data, the token included. */
  readonly dataDigest: string;
  /** Claims of the token that Purser reads; undefined for an opaque token, and for claims too large to be kept. */
  readonly claims?: KeptClaims;
}

/** Claims that the record of a token is compared with. */
export type KeptClaims = Pick<TokenClaims, 'subject' | 'audiences' | 'accountUID' | 'issuedAt' | 'expiresAt'>;

/** Returns the name of a ManagedToken's Secret; by default, the name of the ManagedToken. */
export function secretNameOf({ metadata, spec }: StoredToken): string {
  return spec.secret.name || metadata.name;
}

/** Input for rendering a Secret, except the token. */
export interface SecretTemplate extends MetadataTemplate {
  readonly content: OutputContent;
}

/** Returns the Secret to write. */
export function desiredSecret({ content, ...template }: SecretTemplate, tokenText: string): Secret {
  const { token, record, existing } = template;
  const metadata = {
    name: secretNameOf(token),
    namespace: token.metadata.namespace,
    ...(existing && toPreconditions(existing)),
    ...desiredMetadata(template),
  };
  const texts = renderOutputs(content, { token: tokenText, expiresAt: formatTimestamp(record.expiresAt) });
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data: encodeTexts(texts) };
}

/**
 * Returns whether a Secret may hold the token in any encoding. A spec can store the token under any key that no output uses for another
 * value.
 */
export function holdsToken({ data = {} }: Pick<Secret, 'data'>): boolean {
  return Object.keys(data).some((key) => !isTokenFree(key));
}

/** Returns the Secret without the token in any encoding. The record of the token stays, except the token's digest. */
export function withoutToken(secret: Secret): Secret {
  const { [Annotation.tokenDigest]: _, ...annotations } = secret.metadata.annotations ?? {};
  const data = Object.fromEntries(Object.entries(secret.data ?? {}).filter(([key]) => isTokenFree(key)));
  return { ...secret, metadata: { ...secret.metadata, annotations }, data };
}

/**
 * Returns the digest that ties the data of a Secret to the outputs that it was rendered from. The digest shows whether the data is outdated
 * or altered, without access to the token and regardless of the encoding. The status stores the digest, because tenants can write the
 * Secret.
 */
export function toSecretDigest(outputsDigest: string, dataDigest: string): string {
  return computeDigest(`${outputsDigest} ${dataDigest}`);
}

/** Returns the digest of the outputs, rendered with placeholders instead of the token and its expiry. */
export function toOutputsDigest(content: OutputContent): string {
  const known = outputsDigests.get(content);
  if (known !== undefined) return known;
  const digest = toDataDigest(renderOutputs(content, PLACEHOLDER));
  outputsDigests.set(content, digest);
  return digest;
}

const outputsDigests = new WeakMap<OutputContent, string>();

const PLACEHOLDER = { token: '~token~', expiresAt: '~expiry~' };

/** Returns the digest of the data of a Secret, regardless of the order of its keys. */
export function toDataDigest(data: SecretTexts): string {
  return computeDigest(JSON.stringify(Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/**
 * Returns the existing metadata that a PUT must contain: UID and resource version, so that the PUT replaces only this version, and
 * finalizers, which the PUT would otherwise remove.
 */
function toPreconditions({ uid, resourceVersion, finalizers }: ObjectMeta): ObjectMeta {
  return { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }), ...(finalizers && { finalizers }) };
}

function encodeTexts(texts: SecretTexts): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
}

type StringMap = Readonly<Record<string, string>>;
type OwnerReference = NonNullable<ObjectMeta['ownerReferences']>[number];

/** Metadata of a Secret that Purser sets. */
export type TokenMetadata = Required<Pick<ObjectMeta, 'labels' | 'annotations' | 'ownerReferences'>>;

/** Input for the metadata of a Secret. */
export interface MetadataTemplate {
  readonly token: StoredToken;
  readonly record: TokenRecord;
  /** The Cluster whose labels are copied; undefined if it does not exist. */
  readonly cluster: Cluster | undefined;
  /** Current metadata of the Secret; undefined if the Secret does not exist. */
  readonly existing?: ObjectMeta;
}

/** Returns the metadata that the Secret needs. */
export function desiredMetadata({ token, record, cluster, existing = {} }: MetadataTemplate): TokenMetadata {
  const { labels = {}, annotations = {}, outputs } = token.spec.secret;
  const template = { labels: withoutReserved({ ...copyLabels(token, cluster), ...labels }), annotations: withoutReserved(annotations) };
  const dropped = parseTemplate(existing.annotations?.[Annotation.template]);
  return {
    labels: {
      ...filterForeignEntries(existing.labels, dropped.labels),
      ...template.labels,
      [Label.managedBy]: LabelValue.managedBy,
      ...outputLabels(outputs),
    },
    annotations: {
      ...filterForeignEntries(existing.annotations, dropped.annotations),
      ...template.annotations,
      ...encodeTemplate(template),
      ...encodeRecord(record, token),
    },
    ownerReferences: [...(existing.ownerReferences ?? []).filter(({ uid }) => uid !== token.metadata.uid), toOwnerReference(token)],
  };
}

/** Returns the labels that `labelsFromCluster` selects, except those that the Cluster does not have. */
function copyLabels({ spec }: StoredToken, cluster: Cluster | undefined): StringMap {
  const labels = cluster?.metadata.labels ?? {};
  const copied = (spec.secret.argocd?.labelsFromCluster ?? []).map((key) => [key, Object.hasOwn(labels, key) ? labels[key] : undefined]);
  return Object.fromEntries(copied.filter(([, value]) => value !== undefined));
}

/** Returns whether a Secret has the desired metadata. */
export function hasMetadata(existing: ObjectMeta, { labels, annotations, ownerReferences }: TokenMetadata): boolean {
  const owners = existing.ownerReferences ?? [];
  return (
    hasSameEntries(existing.labels ?? {}, labels) &&
    hasSameEntries(existing.annotations ?? {}, annotations) &&
    owners.length === ownerReferences.length &&
    ownerReferences.every((wanted) => owners.some((owner) => isSameOwner(owner, wanted)))
  );
}

/** Returns whether the spec must not set a label or annotation because Kubernetes, Argo CD or Purser interprets it. */
export function isReserved(key: string): boolean {
  const [prefix = '', name] = key.toLowerCase().split('/');
  return name !== undefined && RESERVED_DOMAINS.some((domain) => prefix === domain || prefix.endsWith(`.${domain}`));
}

const RESERVED_DOMAINS = ['kubernetes.io', 'k8s.io', 'argocd.argoproj.io', 'purser.dev'];

function withoutReserved(texts: StringMap): StringMap {
  return Object.fromEntries(Object.entries(texts).filter(([key]) => !isReserved(key)));
}

/**
 * Returns the labels or annotations that neither Purser nor the spec has set; `dropped` contains the keys that Purser set for the spec at
 * its last write.
 */
function filterForeignEntries(texts: StringMap = {}, dropped: readonly string[]): StringMap {
  const isForeign = (key: string) => !key.startsWith(`${TokensGroup}/`) && !isOutputLabel(key) && !dropped.includes(key);
  return Object.fromEntries(Object.entries(texts).filter(([key]) => isForeign(key)));
}

interface TemplateKeys {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
}

function encodeTemplate({ labels, annotations }: { readonly labels: StringMap; readonly annotations: StringMap }): StringMap {
  const keys: TemplateKeys = { labels: Object.keys(labels).sort(), annotations: Object.keys(annotations).sort() };
  return keys.labels.length + keys.annotations.length === 0 ? {} : { [Annotation.template]: JSON.stringify(keys) };
}

function parseTemplate(text: string | undefined): TemplateKeys {
  // Most Secrets have no such annotation, and a caught error takes longer than the rest of this function.
  if (text === undefined) return { labels: [], annotations: [] };
  try {
    const { labels, annotations } = Object(JSON.parse(text)) as Partial<Record<keyof TemplateKeys, unknown>>;
    return { labels: keysOf(labels), annotations: keysOf(annotations) };
  } catch {
    return { labels: [], annotations: [] };
  }
}

function keysOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((key) => typeof key === 'string') : [];
}

function toOwnerReference({ metadata }: StoredToken): OwnerReference {
  return {
    apiVersion: `${TokensGroup}/${Version}`,
    kind: 'ManagedToken',
    name: metadata.name,
    uid: metadata.uid,
    controller: true,
    blockOwnerDeletion: false,
  };
}

function isSameOwner(a: OwnerReference, b: OwnerReference): boolean {
  return (
    a.uid === b.uid &&
    a.name === b.name &&
    a.kind === b.kind &&
    a.apiVersion === b.apiVersion &&
    Boolean(a.controller) === Boolean(b.controller) &&
    Boolean(a.blockOwnerDeletion) === Boolean(b.blockOwnerDeletion)
  );
}

function hasSameEntries(a: StringMap, b: StringMap): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key]);
}

/** Returns whether the ManagedToken owns the object, and no other controller does. */
export function isOwnedBy({ ownerReferences = [] }: ObjectMeta, { metadata }: StoredToken): boolean {
  const controllers = ownerReferences.filter(({ controller }) => controller);
  return (
    metadata.uid !== undefined &&
    ownerReferences.some(({ uid }) => uid === metadata.uid) &&
    controllers.every(({ uid }) => uid === metadata.uid)
  );
}

/** Returns the name of `first`, the first claimant of the Secret, if it is older than this ManagedToken; undefined otherwise. */
export function earlierClaimant(token: StoredToken, first: StoredToken | undefined): string | undefined {
  return first !== undefined && byAge(first, token) < 0 ? first.metadata.name : undefined;
}

/** The Secret that a ManagedToken names, and the ManagedToken with an earlier claim to it. */
export interface SecretClaim {
  readonly token: StoredToken;
  readonly secret: StoredSecret | undefined;
  readonly claimant?: string | undefined;
}

/** A Secret that another object owns or will own, or that Purser cannot write. */
export interface SecretConflict {
  readonly name: string;
  /** Name of the ManagedToken that owns or claims the Secret; undefined if no other ManagedToken does. */
  readonly owner: string | undefined;
  /** True if the Secret does not exist yet, and an older ManagedToken names it. */
  readonly isClaimed: boolean;
  /** True if this ManagedToken owns the Secret, and the metadata of the Secret is too large for Purser to write it without a loss. */
  readonly isTooLarge?: true;
  /** True if this ManagedToken owns the Secret, and Purser does not keep the Secret's metadata because the namespace is over its budget. */
  readonly isOverBudget?: true;
}

/** Returns the conflict over the Secret; undefined if this ManagedToken may create or write it. */
export function findConflict({ token, secret, claimant }: SecretClaim): SecretConflict | undefined {
  const name = secretNameOf(token);
  if (secret === undefined) return claimant === undefined ? undefined : { name, owner: claimant, isClaimed: true };
  if (!isOwnedBy(secret.metadata, token)) return { name, owner: findOwner(secret.metadata), isClaimed: false };
  if (secret.isTooLarge) return { name, owner: undefined, isClaimed: false, isTooLarge: true };
  return secret.isOverBudget ? { name, owner: undefined, isClaimed: false, isOverBudget: true } : undefined;
}

function findOwner({ ownerReferences = [] }: ObjectMeta): string | undefined {
  const isManagedToken = (owner: { apiVersion: string; kind: string }) =>
    owner.kind === ManagedTokens.kind && owner.apiVersion.startsWith(`${TokensGroup}/`);
  return ownerReferences.find((owner) => owner.controller && isManagedToken(owner))?.name;
}

/** Compares ManagedTokens by age, the oldest first. The order never changes. */
export function byAge({ metadata: a }: StoredToken, { metadata: b }: StoredToken): number {
  return compareUtf8(a.creationTimestamp ?? '', b.creationTimestamp ?? '') || compareUtf8(a.uid, b.uid);
}
