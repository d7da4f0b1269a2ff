// Where a ManagedToken may have anchors: the Secrets on target clusters that tokens with revocation BoundSecret are bound
// to. The Secret that holds the token says where its anchor is; since people may delete that one, the ManagedToken itself
// keeps a note of every place, written together with the finalizer and before there is an anchor.

import type { ManagedToken } from '../api/managed-token.gen.ts';
import { AnchorFinalizer, Annotation } from '../api/names.ts';
import type { TokenRecord } from './token-record.ts';
import { anchorName } from './token-request.ts';

/** Beside which accounts an anchor is; its name is always the same. */
export interface AnchorPlace {
  readonly cluster: string;
  readonly namespace: string;
}

/** The anchor that a token is bound to by its record, with its UID, which an opaque token does not tell; undefined when it has none. */
export function recordedAnchor(
  { metadata }: ManagedToken,
  record: TokenRecord | undefined,
): (AnchorPlace & { readonly uid?: string }) | undefined {
  const [kind, name, uid] = record?.issuedFor.boundTo.split('/') ?? [];
  if (record === undefined || kind !== 'Secret' || name !== anchorName(metadata.uid ?? '')) return undefined;
  const [, , namespace = ''] = record.issuedFor.subject.split(':');
  return { cluster: record.issuedFor.cluster, namespace, ...(uid && { uid }) };
}

/** Where tokens of this spec have their anchor. */
export function wantedAnchor({ spec }: ManagedToken): AnchorPlace {
  return { cluster: spec.clusterName, namespace: spec.serviceAccount.namespace };
}

/** Every place in which there may be an anchor, the present token's first. */
export function anchorsOf(token: ManagedToken, record: TokenRecord | undefined): readonly AnchorPlace[] {
  const recorded = recordedAnchor(token, record);
  const noted = notedAnchors(token);
  if (recorded === undefined) return noted;
  const { cluster, namespace } = recorded;
  return [{ cluster, namespace }, ...noted.filter((place) => !isSame(place, recorded))];
}

/** Where anchors are left that tokens of this spec no longer need. */
export function formerAnchors(token: ManagedToken): readonly AnchorPlace[] {
  return notedAnchors(token).filter((place) => !isSame(place, wantedAnchor(token)));
}

/** Finalizer and note, as metadata to be merged; without any place, neither. */
export function anchorNote({ metadata }: ManagedToken, places: readonly AnchorPlace[]): AnchorNote {
  const others = (metadata.finalizers ?? []).filter((finalizer) => finalizer !== AnchorFinalizer);
  if (places.length === 0) return { finalizers: others, annotations: { [Annotation.anchors]: null } };
  const text = places.slice(0, MAX_PLACES).map(placeText).join(' ');
  return { finalizers: [...others, AnchorFinalizer], annotations: { [Annotation.anchors]: text } };
}

/** The note that must be there before the next token is issued; undefined when it is. */
export function missingNote(token: ManagedToken, record: TokenRecord | undefined): AnchorNote | undefined {
  const wanted = wantedAnchor(token);
  if (isAnchored(token) && writtenPlaces(token).some((place) => isSame(place, wanted))) return undefined;
  return anchorNote(token, [wanted, ...anchorsOf(token, record).filter((place) => !isSame(place, wanted))]);
}

export interface AnchorNote {
  readonly finalizers: readonly string[];
  readonly annotations: Readonly<Record<string, string | null>>;
}

/** Who moves more often, and never gets a token, has no token bound to the first ones either. */
const MAX_PLACES = 16;

/** Whoever has the finalizer and no note has an anchor where the spec says. */
function notedAnchors(token: ManagedToken): readonly AnchorPlace[] {
  if (!isAnchored(token)) return [];
  const places = writtenPlaces(token);
  return places.length > 0 ? places : [wantedAnchor(token)];
}

function isAnchored({ metadata }: ManagedToken): boolean {
  return metadata.finalizers?.includes(AnchorFinalizer) === true;
}

function writtenPlaces({ metadata }: ManagedToken): readonly AnchorPlace[] {
  return (metadata.annotations?.[Annotation.anchors] ?? '').split(' ').flatMap(placesIn);
}

function placesIn(text: string): readonly AnchorPlace[] {
  const [, cluster, namespace] = PLACE.exec(text) ?? [];
  return cluster === undefined || namespace === undefined ? [] : [{ cluster, namespace }];
}

const PLACE = /^([a-z\d][a-z\d.-]{0,252})\/([a-z\d][a-z\d-]{0,62})$/;

function placeText({ cluster, namespace }: AnchorPlace): string {
  return `${cluster}/${namespace}`;
}

function isSame(a: AnchorPlace, b: AnchorPlace): boolean {
  return a.cluster === b.cluster && a.namespace === b.namespace;
}
