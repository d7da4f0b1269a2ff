// Anchors: the Secrets on target clusters that tokens with revocation BoundSecret are bound to. status.anchors lists the locations where a
// ManagedToken may have one; tenants can neither write that list nor choose the name of an anchor, because the name is derived from the UID
// of the ManagedToken.

import { AnchorFinalizer } from '../../api/names.ts';
import { toAnchorName } from '../../targets/policy/grant.ts';
import { type IssuingCredential, isIssuedWith } from '../../targets/policy/registration.ts';
import type { TokenRecord } from './record.ts';
import type { StoredToken } from './spec.ts';

/** Cluster and namespace of an anchor. The name of the anchor is derived from the UID of the ManagedToken. */
export interface AnchorLocation {
  readonly cluster: string;
  readonly namespace: string;
}

/** Location of an anchor, and the service account, Cluster and credential for which Purser created the anchor. */
export interface AnchorEntry extends AnchorLocation {
  readonly serviceAccount: string;
  readonly clusterUID: string;
  readonly credential: string;
}

/** Maximum number of locations in status.anchors. */
export const MAX_ANCHORS = 16;

/**
 * Returns the anchor that the Secret's record names, with the UID of the anchor if the record has it; undefined if the record names no
 * anchor of the ManagedToken.
 */
export function parseRecordedAnchor(
  { metadata }: StoredToken,
  record: TokenRecord | undefined,
): (AnchorLocation & { readonly uid?: string }) | undefined {
  const [kind, name, uid] = record?.issuedFor.boundTo.split('/') ?? [];
  if (record === undefined || kind !== 'Secret' || name !== toAnchorName(metadata.uid)) return undefined;
  const [, , namespace = ''] = record.issuedFor.subject.split(':');
  return { cluster: record.issuedFor.cluster, namespace, ...(uid && { uid }) };
}

/** Returns the location of the anchor for tokens of this spec. */
export function wantedAnchor({ spec }: StoredToken): AnchorLocation {
  return { cluster: spec.clusterName, namespace: spec.serviceAccount.namespace };
}

/** Returns the entries of status.anchors with valid names, each location once; at most 16. */
export function anchorsOf({ status }: StoredToken): readonly AnchorEntry[] {
  const entries = new Map<string, AnchorEntry>();
  for (const { cluster, namespace, serviceAccount, clusterUID, credential } of status?.anchors ?? []) {
    if (CLUSTER.test(cluster) && NAMESPACE.test(namespace))
      entries.set(`${cluster}/${namespace}`, { cluster, namespace, serviceAccount, clusterUID, credential });
  }
  return [...entries.values()].slice(0, MAX_ANCHORS);
}

/** Returns whether a revocation has an effect: tokens of this spec are bound to an anchor, or those of a former spec were. */
export function isRevocable(token: StoredToken): boolean {
  return token.spec.revocation === 'BoundSecret' || anchorsOf(token).length > 0;
}

/** Returns the entries of status.anchors that tokens of this spec do not need. */
export function formerAnchors(token: StoredToken): readonly AnchorEntry[] {
  const entries = anchorsOf(token);
  return token.spec.revocation === 'BoundSecret' ? entries.filter((entry) => !isWanted(entry, token)) : entries;
}

/** Returns whether status.anchors has room for the location that tokens of this spec need. */
export function hasRoomForAnchor(token: StoredToken): boolean {
  return withoutEntries(anchorsOf(token), [wantedAnchor(token)]).length < MAX_ANCHORS;
}

/** Returns status.anchors with an entry, for this Cluster and credential, at the location that tokens of this spec need. */
export function withWantedAnchor(token: StoredToken, { clusterUID, credential }: IssuingCredential): readonly AnchorEntry[] {
  const wanted = wantedAnchor(token);
  const { name: serviceAccount } = token.spec.serviceAccount;
  return [...withoutEntries(anchorsOf(token), [wanted]), { ...wanted, serviceAccount, clusterUID, credential }];
}

/**
 * Returns the entry of status.anchors at the location for tokens of this spec if its anchor is for another service account; undefined
 * otherwise.
 */
export function findOtherServiceAccountAnchor(token: StoredToken): AnchorEntry | undefined {
  return anchorsOf(token).find((entry) => isSameLocation(entry, wantedAnchor(token)) && !isWanted(entry, token));
}

/**
 * Returns the entry of status.anchors at the location for tokens of this spec if it was written for another Cluster object or credential;
 * undefined otherwise.
 */
export function findReplacedAnchor(token: StoredToken, issuingCredential: IssuingCredential): AnchorEntry | undefined {
  return anchorsOf(token).find((entry) => isSameLocation(entry, wantedAnchor(token)) && !isIssuedWith(entry, issuingCredential));
}

/** Returns whether two lists have the same entries, in any order. */
export function hasSameEntries(a: readonly AnchorEntry[], b: readonly AnchorEntry[]): boolean {
  const isIn = (entry: AnchorEntry, list: readonly AnchorEntry[]) => list.some((other) => isSameEntry(entry, other));
  return a.length === b.length && a.every((entry) => isIn(entry, b));
}

/**
 * Returns the anchor that the Secret's record names but status.anchors does not list; undefined if there is none. Tenants can write the
 * record, so Purser reports such an anchor and sends nothing to its cluster.
 */
export function findUnlistedAnchor(token: StoredToken, record: TokenRecord | undefined): AnchorLocation | undefined {
  const recorded = parseRecordedAnchor(token, record);
  if (recorded === undefined || anchorsOf(token).some((entry) => isSameLocation(entry, recorded))) return undefined;
  const { cluster, namespace } = recorded;
  return CLUSTER.test(cluster) && NAMESPACE.test(namespace) ? { cluster, namespace } : undefined;
}

/** Returns the entries of a list that are at none of these locations. */
export function withoutEntries(entries: readonly AnchorEntry[], others: readonly AnchorLocation[]): readonly AnchorEntry[] {
  return entries.filter((entry) => !others.some((other) => isSameLocation(entry, other)));
}

export function hasAnchorFinalizer({ metadata }: StoredToken): boolean {
  return metadata.finalizers?.includes(AnchorFinalizer) === true;
}

/** Returns the finalizers of other controllers. */
export function otherFinalizers({ metadata }: StoredToken): readonly string[] {
  return (metadata.finalizers ?? []).filter((finalizer) => finalizer !== AnchorFinalizer);
}

/** Returns the key of a location, `cluster/namespace`. */
export function locationKeyOf({ cluster, namespace }: AnchorLocation): string {
  return `${cluster}/${namespace}`;
}

function isSameLocation(a: AnchorLocation, b: AnchorLocation): boolean {
  return a.cluster === b.cluster && a.namespace === b.namespace;
}

/** Returns whether tokens of this spec need the anchor of this entry. */
export function isWanted(entry: AnchorEntry, token: StoredToken): boolean {
  return isSameLocation(entry, wantedAnchor(token)) && entry.serviceAccount === token.spec.serviceAccount.name;
}

function isSameEntry(a: AnchorEntry, b: AnchorEntry): boolean {
  return isSameLocation(a, b) && a.serviceAccount === b.serviceAccount && a.clusterUID === b.clusterUID && a.credential === b.credential;
}

const CLUSTER = /^[a-z\d][a-z\d.-]{0,252}$/;
const NAMESPACE = /^[a-z\d][a-z\d-]{0,62}$/;
