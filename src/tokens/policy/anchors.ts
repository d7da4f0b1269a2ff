// Anchors: the Secrets on target clusters that tokens with revocation BoundSecret are bound to. status.anchors lists the places
// where a ManagedToken may have one; tenants can write neither that list nor the name of an anchor, which follows from the UID.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { AnchorFinalizer } from '../../api/names.ts';
import { anchorName } from '../../targets/policy/token-request.ts';
import type { TokenRecord } from './record.ts';

/** Cluster and namespace of an anchor; its name is always the same. */
export interface AnchorPlace {
  readonly cluster: string;
  readonly namespace: string;
}

/** Maximum number of places in status.anchors. */
export const MAX_ANCHORS = 16;

/** Returns the anchor that the Secret's record names, with the UID that an opaque token does not show; undefined without one. */
export function recordedAnchor(
  { metadata }: ManagedToken,
  record: TokenRecord | undefined,
): (AnchorPlace & { readonly uid?: string }) | undefined {
  const [kind, name, uid] = record?.issuedFor.boundTo.split('/') ?? [];
  if (record === undefined || kind !== 'Secret' || name !== anchorName(metadata.uid ?? '')) return undefined;
  const [, , namespace = ''] = record.issuedFor.subject.split(':');
  return { cluster: record.issuedFor.cluster, namespace, ...(uid && { uid }) };
}

/** Returns the place of the anchor for tokens of this spec. */
export function wantedAnchor({ spec }: ManagedToken): AnchorPlace {
  return { cluster: spec.clusterName, namespace: spec.serviceAccount.namespace };
}

/** Returns the listed places: valid names only, each once, at most 16. */
export function anchorsOf({ status }: ManagedToken): readonly AnchorPlace[] {
  const places = new Map<string, AnchorPlace>();
  for (const { cluster, namespace } of status?.anchors ?? []) {
    if (CLUSTER.test(cluster) && NAMESPACE.test(namespace)) places.set(`${cluster}/${namespace}`, { cluster, namespace });
  }
  return [...places.values()].slice(0, MAX_ANCHORS);
}

/** Returns whether a revocation has an effect: tokens of this spec are bound to an anchor, or those of a former spec were. */
export function isRevocable(token: ManagedToken): boolean {
  return token.spec.revocation === 'BoundSecret' || anchorsOf(token).length > 0;
}

/** Returns the listed places that tokens of this spec do not need. */
export function formerAnchors(token: ManagedToken): readonly AnchorPlace[] {
  const places = anchorsOf(token);
  return token.spec.revocation === 'BoundSecret' ? without(places, [wantedAnchor(token)]) : places;
}

/** Returns the list with the place that tokens of this spec need; undefined if there is no room for it. */
export function withWantedAnchor(token: ManagedToken): readonly AnchorPlace[] | undefined {
  const places = anchorsOf(token);
  const wanted = wantedAnchor(token);
  if (places.some((place) => isSamePlace(place, wanted))) return places;
  return places.length < MAX_ANCHORS ? [...places, wanted] : undefined;
}

/**
 * Returns the anchor that the Secret's record names and status.anchors does not. Tenants can write the record, so Purser reports
 * such an anchor and sends nothing to its cluster.
 */
export function unlistedAnchor(token: ManagedToken, record: TokenRecord | undefined): AnchorPlace | undefined {
  const recorded = recordedAnchor(token, record);
  if (recorded === undefined || anchorsOf(token).some((place) => isSamePlace(place, recorded))) return undefined;
  const { cluster, namespace } = recorded;
  return CLUSTER.test(cluster) && NAMESPACE.test(namespace) ? { cluster, namespace } : undefined;
}

/** Returns the places of a list that another list does not have. */
export function without(places: readonly AnchorPlace[], others: readonly AnchorPlace[]): readonly AnchorPlace[] {
  return places.filter((place) => !others.some((other) => isSamePlace(place, other)));
}

export function hasAnchorFinalizer({ metadata }: ManagedToken): boolean {
  return metadata.finalizers?.includes(AnchorFinalizer) === true;
}

/** Returns the finalizers of other controllers. */
export function otherFinalizers({ metadata }: ManagedToken): readonly string[] {
  return (metadata.finalizers ?? []).filter((finalizer) => finalizer !== AnchorFinalizer);
}

function isSamePlace(a: AnchorPlace, b: AnchorPlace): boolean {
  return a.cluster === b.cluster && a.namespace === b.namespace;
}

const CLUSTER = /^[a-z\d][a-z\d.-]{0,252}$/;
const NAMESPACE = /^[a-z\d][a-z\d-]{0,62}$/;
