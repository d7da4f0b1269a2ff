// Anchors from the hub's side: the finalizer and status.anchors, which come before an anchor and go after it; revocation, and giving up.

import type { ManagedToken } from '../api/managed-token.gen.ts';
import { AnchorFinalizer } from '../api/names.ts';
import { AlertReason } from '../api/reasons.ts';
import { ManagedTokens } from '../api/resources.ts';
import type { Note } from '../kube/event-series.ts';
import { nameOf } from '../kube/paths.ts';
import { hasReason } from '../kubernetes/status.ts';
import { deleteAnchor, hasAnchor } from '../targets/anchor.ts';
import { IssueError } from '../targets/issue-error.ts';
import { isIssuedWith } from '../targets/policy/issued-for.ts';
import { anchorName } from '../targets/policy/token-request.ts';
import type { RegisteredCluster } from '../targets/registered-cluster.ts';
import type { TokenDeps } from './deps.ts';
import { deleteSecrets } from './hub-secrets.ts';
import { REVOCATION_UNAVAILABLE } from './notes.ts';
import {
  type AnchorLocation,
  type AnchorPlace,
  anchorsOf,
  hasAnchorFinalizer,
  hasRoom,
  hasSamePlaces,
  otherFinalizers,
  recordedAnchor,
  replacedAnchor,
  unlistedAnchor,
  wantedAnchor,
  without,
  withWantedAnchor,
} from './policy/anchors.ts';
import type { TokenObservation } from './policy/observation.ts';
import type { TokenPlan } from './policy/plan.ts';
import type { TokenRecord } from './policy/record.ts';
import { isHeld, tokenState } from './policy/state.ts';
import { orphanedAnchorMessage } from './policy/tenant-messages.ts';
import type { Step } from './step.ts';

/** Pause between attempts to delete former anchors. */
export const RETRY_MS = 300_000;

/**
 * Writes the finalizer and then the place of the anchor, where they are missing; to be called before the anchor is created.
 * An anchor of a Cluster that was replaced is reported as orphaned, unless it is found on the present one.
 * Throws an IssueError if status.anchors is full.
 */
export async function recordAnchor(
  deps: TokenDeps,
  token: ManagedToken,
  signal: AbortSignal,
): Promise<{ readonly token: ManagedToken; readonly notes: readonly Note[] }> {
  if (token.spec.revocation !== 'BoundSecret') return { token, notes: [] };
  const registered = registeredAt(deps, wantedAnchor(token));
  if (!hasRoom(token)) throw new IssueError('TooManyAnchors');
  const replaced = replacedAnchor(token, registered.cluster);
  const isOrphaned = replaced !== undefined && !(await isFound(deps, token, replaced, signal));
  const notes = isOrphaned ? orphanNotes(deps, token, replaced) : [];
  const finalizers = [...otherFinalizers(token), AnchorFinalizer];
  const kept = hasAnchorFinalizer(token) ? token : await writeFinalizers(deps, token, finalizers, signal);
  const written = await writeAnchors(deps, kept, withWantedAnchor(token, registered.cluster), signal);
  deps.memory.of(token.metadata.uid ?? '').deletedAnchors.delete(locationText(wantedAnchor(token)));
  return { token: written, notes };
}

/**
 * Revokes the token: deletes the anchors in all listed places, then the Secrets. Throws an IssueError if an anchor that the token may
 * be bound to may still exist; those in other places are deleted all the same.
 */
export async function revoke(
  deps: TokenDeps,
  observation: TokenObservation,
  { request, secrets }: { readonly request: string; readonly secrets: readonly string[] },
  signal: AbortSignal,
): Promise<Step> {
  const { token } = observation;
  const failures = await deleteAnchors(deps, token, anchorsOf(token), signal);
  const superseded = supersededPlaces(deps, observation);
  for (const { place, error } of failures) if (without([place], superseded).length > 0) throw error;
  const { hasToken, record } = tokenState(observation, deps.clock.now());
  const isUnbound = hasToken && record !== undefined && recordedAnchor(token, record) === undefined;
  const notes = [...(isUnbound ? [REVOCATION_UNAVAILABLE] : []), ...failures.flatMap(({ place }) => orphanNotes(deps, token, place))];
  const rest = await deleteSecrets(deps, observation, secrets, signal);
  return { observation: { ...rest, revoked: request }, isDone: false, revoked: request, notes };
}

/**
 * Returns the listed places whose anchors do not delay a revocation when they cannot be deleted: the Secret holds a later token of
 * another place, or the Cluster is gone. Tenants choose the place of the spec and can delete the Secret, so without such a token the
 * last one may be bound in any listed place.
 */
function supersededPlaces(deps: TokenDeps, observation: TokenObservation): readonly AnchorPlace[] {
  const { token } = observation;
  const state = tokenState(observation, deps.clock.now());
  const recorded = recordedAnchor(token, state.record);
  const former = without(anchorsOf(token), recorded === undefined ? [wantedAnchor(token)] : [wantedAnchor(token), recorded]);
  return isHeld(state) ? former : former.filter(({ cluster }) => deps.view.registered(cluster) === undefined);
}

/** Removes the finalizer from a ManagedToken that needs no anchor any more. */
export async function release(
  deps: TokenDeps,
  observation: TokenObservation,
  anchor: Extract<TokenPlan, { readonly type: 'release' }>['anchor'],
  signal: AbortSignal,
): Promise<Step> {
  const { token } = observation;
  const places = anchor === 'none' ? [] : anchorsOf(token);
  const { kept = [], gone = [] } = Object.groupBy(places, ({ cluster }) => (deps.view.registered(cluster) === undefined ? 'gone' : 'kept'));
  const [failure] = anchor === 'delete' ? await deleteAnchors(deps, token, kept, signal) : [];
  if (failure !== undefined) throw failure.error;
  // A ManagedToken is not kept for a Cluster that is gone.
  const { notes } = await dropAnchors(deps, token, anchor === 'delete' ? gone : places, signal);
  const reported = [...notes, ...unlistedNotes(deps, token, recordOf(deps, observation))];
  const isLast = token.metadata.deletionTimestamp !== undefined && otherFinalizers(token).length === 0;
  const cleared = isLast ? token : await writeAnchors(deps, token, [], signal);
  const released = await writeFinalizers(deps, cleared, otherFinalizers(token), signal).catch((error: unknown) => {
    if (hasReason(error, 'NotFound')) return { ...token, metadata: { ...token.metadata, finalizers: [] } };
    throw error;
  });
  return { observation: { ...observation, token: released }, isDone: isLast, notes: reported };
}

/**
 * Deletes anchors that tokens of this spec no longer need; those that fail are reported as orphaned, stay listed and are tried again
 * later, except those that a replaced Cluster does not have. Those of Clusters that are gone make room when the list is full.
 */
export async function leave(
  deps: TokenDeps,
  observation: TokenObservation,
  places: readonly AnchorPlace[],
  signal: AbortSignal,
): Promise<Step> {
  const { token } = observation;
  const failures = await deleteAnchors(deps, token, places, signal);
  const notes = failures.flatMap(({ place }) => orphanNotes(deps, token, place));
  const isFull = token.spec.revocation === 'BoundSecret' && !hasRoom(token);
  const isKept = ({ place, error }: FailedDeletion) =>
    error.reason !== 'AnchorUnconfirmed' && !(isFull && deps.view.registered(place.cluster) === undefined);
  const left = failures.filter(isKept).map(({ place }) => place);
  const anchorsAt = deps.clock.now() + RETRY_MS;
  if (left.length > 0) deps.memory.of(token.metadata.uid ?? '').anchorsAt = anchorsAt;
  const written = await writeAnchors(deps, token, without(anchorsOf(token), without(places, left)), signal);
  return { observation: { ...observation, token: written, ...(left.length > 0 && { anchorsAt }) }, isDone: false, notes };
}

/** Deletes anchors in parallel as far as possible; reports those that are left. */
export async function dropAnchors(deps: TokenDeps, token: ManagedToken, places: readonly AnchorPlace[], signal: AbortSignal) {
  const left = (await deleteAnchors(deps, token, places, signal)).map(({ place }) => place);
  return { left, notes: left.flatMap((place) => orphanNotes(deps, token, place)) };
}

interface FailedDeletion {
  readonly place: AnchorPlace;
  readonly error: IssueError;
}

/** Tries to delete the anchors in all these places in parallel, and returns the failures. */
async function deleteAnchors(
  deps: TokenDeps,
  token: ManagedToken,
  places: readonly AnchorPlace[],
  signal: AbortSignal,
): Promise<readonly FailedDeletion[]> {
  const results = await Promise.all(
    places.map(async (place) => {
      try {
        await deleteAt(deps, token, place, signal);
        return [];
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof IssueError)) throw error;
        return [{ place, error }];
      }
    }),
  );
  return results.flat();
}

/** Writes the anchors that a withdrawal left; without any, the finalizer goes, too. */
export async function writeLeftAnchors(
  deps: TokenDeps,
  token: ManagedToken,
  left: readonly AnchorPlace[],
  signal: AbortSignal,
): Promise<ManagedToken> {
  const written = await writeAnchors(deps, token, left, signal);
  return left.length > 0 || !hasAnchorFinalizer(token) ? written : await writeFinalizers(deps, written, otherFinalizers(token), signal);
}

/** Reports the anchor that the Secret's record names and status.anchors does not. */
export function unlistedNotes(deps: TokenDeps, token: ManagedToken, record: TokenRecord | undefined): readonly Note[] {
  const place = unlistedAnchor(token, record);
  return place === undefined ? [] : orphanNotes(deps, token, place, false);
}

function recordOf({ clock }: TokenDeps, observation: TokenObservation): TokenRecord | undefined {
  return tokenState(observation, clock.now()).record;
}

/**
 * Deletes the anchor. Throws an IssueError if it may still exist: a Cluster that is gone may come back, and its tokens with it; a Cluster
 * that was replaced may lead to another cluster, where the anchor is not found.
 */
async function deleteAt(deps: TokenDeps, token: ManagedToken, place: AnchorPlace, signal: AbortSignal): Promise<void> {
  const registered = registeredAt(deps, place);
  const anchor = { namespace: place.namespace, name: anchorNameOf(token) };
  const wasFound = await deps.clients.use(registered, (target) => deleteAnchor(target, anchor, signal));
  if (isIssuedWith(place, registered.cluster)) return;
  const { deletedAnchors } = deps.memory.of(token.metadata.uid ?? '');
  if (wasFound) deletedAnchors.add(locationText(place));
  else if (!deletedAnchors.has(locationText(place))) throw new IssueError('AnchorUnconfirmed');
}

/** Returns whether the anchor is on the cluster that its Cluster leads to now, or was deleted there. */
async function isFound(deps: TokenDeps, token: ManagedToken, place: AnchorPlace, signal: AbortSignal): Promise<boolean> {
  if (deps.memory.of(token.metadata.uid ?? '').deletedAnchors.has(locationText(place))) return true;
  const anchor = { namespace: place.namespace, name: anchorNameOf(token) };
  return await deps.clients.use(registeredAt(deps, place), (target) => hasAnchor(target, anchor, signal));
}

function registeredAt({ view }: TokenDeps, { cluster }: AnchorLocation): RegisteredCluster {
  const registered = view.registered(cluster);
  if (registered === undefined) throw new IssueError('ClusterNotFound');
  return registered;
}

function locationText({ cluster, namespace }: AnchorLocation): string {
  return `${cluster}/${namespace}`;
}

/** Reports an orphaned anchor once; metrics name only places that Purser recorded itself. */
function orphanNotes(deps: TokenDeps, token: ManagedToken, place: AnchorLocation, isListed = true): readonly Note[] {
  const { cluster, namespace } = place;
  const name = anchorNameOf(token);
  if (!deps.memory.of(token.metadata.uid ?? '').isNewOrphan(locationText(place))) return [];
  deps.log.error({ cluster, anchor: `${namespace}/${name}`, reason: 'AnchorOrphaned' }, AlertReason.AnchorOrphaned);
  deps.metrics?.orphaned(isListed ? { cluster, namespace, name } : { cluster: '', namespace: '', name: '' });
  return [{ type: 'Warning', reason: 'AnchorOrphaned', message: orphanedAnchorMessage(place, name) }];
}

function anchorNameOf({ metadata }: ManagedToken): string {
  return anchorName(metadata.uid ?? '');
}

/** Writes status.anchors if it differs. */
async function writeAnchors(
  deps: TokenDeps,
  token: ManagedToken,
  places: readonly AnchorPlace[],
  signal: AbortSignal,
): Promise<ManagedToken> {
  const listed = token.status?.anchors ?? [];
  if (hasSamePlaces(places, listed)) return token;
  const { anchors: _, ...rest } = token.status ?? {};
  const status = places.length > 0 ? { ...rest, anchors: places } : rest;
  const tracked = deps.memory.of(token.metadata.uid ?? '');
  tracked.status = status;
  const written = await deps.hub.updateStatus(ManagedTokens, { ...token, status }, { signal });
  return tracked.wroteToken(written, token, deps.clock.now());
}

async function writeFinalizers(
  deps: TokenDeps,
  token: ManagedToken,
  finalizers: readonly string[],
  signal: AbortSignal,
): Promise<ManagedToken> {
  const { resourceVersion, uid } = token.metadata;
  const patched = await deps.hub.patch(ManagedTokens, nameOf(token), { metadata: { uid, resourceVersion, finalizers } }, { signal });
  return deps.memory.of(uid ?? '').wroteToken(patched, token, deps.clock.now());
}
