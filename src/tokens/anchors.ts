// Anchors from the hub's side: finalizer and status.anchors, which Purser writes before it creates an anchor and clears after it
// deletes the anchor; revocation, and orphaned anchors.

import type { ManagedToken } from '../api/managed-token.gen.ts';
import { AnchorFinalizer } from '../api/names.ts';
import { AlertReason } from '../api/reasons.ts';
import { ManagedTokens } from '../api/resources.ts';
import { nameOf } from '../kube/paths.ts';
import type { Note } from '../kube/recorder.ts';
import { hasReason } from '../kubernetes/status.ts';
import { deleteAnchor, hasAnchor } from '../targets/anchors.ts';
import { IssueError, toIssueError } from '../targets/issue-error.ts';
import { isIssuedWith } from '../targets/policy/issued-for.ts';
import { anchorName } from '../targets/policy/token-request.ts';
import { issuerOf, type RegisteredCluster } from '../targets/registered-cluster.ts';
import { REVOCATION_UNAVAILABLE } from './events.ts';
import {
  type AnchorLocation,
  type AnchorPlace,
  anchorsOf,
  hasAnchorFinalizer,
  hasRoom,
  hasSamePlaces,
  otherAccountAnchor,
  otherFinalizers,
  recordedAnchor,
  replacedAnchor,
  unlistedAnchor,
  wantedAnchor,
  withoutPlaces,
  withWantedAnchor,
} from './policy/anchors.ts';
import { orphanedAnchorMessage } from './policy/messages.ts';
import type { TokenPlan } from './policy/plan.ts';
import { isHeld, type Situation, type TokenObservation, type TokenState } from './policy/state.ts';
import type { Step, TokenRun } from './run.ts';
import { deleteSecrets } from './secrets.ts';
import type { OrphanSource } from './tracked-token.ts';

/** Pause between attempts to delete former anchors. */
export const RETRY_MS = 300_000;

/**
 * Writes the finalizer and then the place of the anchor, where they are missing; to be called before the anchor is created.
 * An anchor of a Cluster that was replaced is reported as orphaned, unless it is found on the present one. Throws an IssueError if
 * status.anchors is full.
 */
export async function recordAnchor(
  run: TokenRun,
  token: ManagedToken,
): Promise<{ readonly token: ManagedToken; readonly events: readonly Note[] }> {
  if (token.spec.revocation !== 'BoundSecret') return { token, events: [] };
  const registered = registeredAt(run, wantedAnchor(token));
  if (!hasRoom(token)) throw new IssueError('TooManyAnchors');
  await deleteOtherAccountAnchor(run, token);
  const replaced = replacedAnchor(token, issuerOf(registered));
  const isOrphaned = replaced !== undefined && !(await isFound(run, token, replaced));
  const events = isOrphaned ? orphanEvents(run, token, replaced) : [];
  const finalizers = [...otherFinalizers(token), AnchorFinalizer];
  const kept = hasAnchorFinalizer(token) ? token : await writeFinalizers(run, token, finalizers);
  const written = await writeAnchors(run, kept, withWantedAnchor(token, issuerOf(registered)));
  run.tracked.deletedAnchors.delete(locationText(wantedAnchor(token)));
  return { token: written, events };
}

/** Deletes the anchor of another service account of the same namespace: its place is about to be written for that of the spec. */
async function deleteOtherAccountAnchor(run: TokenRun, token: ManagedToken): Promise<void> {
  const place = otherAccountAnchor(token);
  const [failure] = place === undefined ? [] : await deleteAnchors(run, token, [place]);
  if (failure !== undefined && failure.error.reason !== 'AnchorDeletionUnconfirmed') throw failure.error;
}

/**
 * Revokes the token: deletes the anchors in all listed places, then the Secrets. Throws an IssueError if an anchor that the token may
 * be bound to may still exist; those in other places are deleted all the same.
 */
export async function revoke(
  run: TokenRun,
  situation: Situation,
  { request, secrets }: { readonly request: string; readonly secrets: readonly string[] },
): Promise<Step> {
  const { observation, state } = situation;
  const { token } = observation;
  const failures = await deleteAnchors(run, token, anchorsOf(token));
  const superseded = supersededPlaces(run, situation);
  for (const { place, error } of failures) if (withoutPlaces([place], superseded).length > 0) throw error;
  const isUnbound = state.hasToken && state.record !== undefined && recordedAnchor(token, state.record) === undefined;
  const events = [...(isUnbound ? [REVOCATION_UNAVAILABLE] : []), ...failures.flatMap(({ place }) => orphanEvents(run, token, place))];
  const rest = await deleteSecrets(run, observation, secrets);
  return { observation: { ...rest, revoked: request }, isDone: false, revoked: request, events };
}

/**
 * Returns the listed places whose anchors do not delay a revocation if they cannot be deleted: the Secret holds the last token, of
 * another place, or the Cluster is gone. Tenants choose the place of the spec and write the Secret, so unless status or memory
 * identifies that token, the last one may be bound in any listed place.
 */
function supersededPlaces({ view }: TokenRun, { observation: { token }, state }: Situation): readonly AnchorPlace[] {
  const recorded = recordedAnchor(token, state.record);
  const former = withoutPlaces(anchorsOf(token), recorded === undefined ? [wantedAnchor(token)] : [wantedAnchor(token), recorded]);
  return isHeld(state) && state.isLast ? former : former.filter(({ cluster }) => view.registered(cluster) === undefined);
}

/** Deletes the anchors and removes the finalizer from a ManagedToken that needs no anchor. */
export async function release(
  run: TokenRun,
  { observation, state }: Situation,
  anchor: Extract<TokenPlan, { readonly type: 'release' }>['anchor'],
): Promise<Step> {
  const { token } = observation;
  const places = anchor === 'none' ? [] : anchorsOf(token);
  const { kept = [], gone = [] } = Object.groupBy(places, ({ cluster }) => (run.view.registered(cluster) === undefined ? 'gone' : 'kept'));
  const [failure] = anchor === 'delete' ? await deleteAnchors(run, token, kept) : [];
  if (failure !== undefined) throw failure.error;
  // A Cluster that no longer exists does not keep the ManagedToken.
  const { events } = await dropAnchors(run, token, anchor === 'delete' ? gone : places);
  const reported = [...events, ...unlistedEvents(run, token, state)];
  const isLast = token.metadata.deletionTimestamp !== undefined && otherFinalizers(token).length === 0;
  const cleared = isLast ? token : await writeAnchors(run, token, []);
  const released = await writeFinalizers(run, cleared, otherFinalizers(token)).catch((error: unknown) => {
    if (hasReason(error, 'NotFound')) return { ...token, metadata: { ...token.metadata, finalizers: [] } };
    throw error;
  });
  return { observation: { ...observation, token: released }, isDone: isLast, events: reported };
}

/**
 * Deletes anchors that tokens of this spec no longer need. Those that fail are reported as orphaned, stay listed and are retried later,
 * except anchors that a replaced Cluster does not have. Anchors of missing Clusters make room if the list is full.
 */
export async function leave(run: TokenRun, observation: TokenObservation, places: readonly AnchorPlace[]): Promise<Step> {
  const { token } = observation;
  const failures = await deleteAnchors(run, token, places);
  const events = failures.flatMap(({ place }) => orphanEvents(run, token, place));
  const isFull = token.spec.revocation === 'BoundSecret' && !hasRoom(token);
  const isKept = ({ place, error }: FailedDeletion) =>
    error.reason !== 'AnchorDeletionUnconfirmed' && !(isFull && run.view.registered(place.cluster) === undefined);
  const left = failures.filter(isKept).map(({ place }) => place);
  const anchorsAt = run.clock.now() + RETRY_MS;
  if (left.length > 0) run.tracked.anchorsAt = anchorsAt;
  const written = await writeAnchors(run, token, withoutPlaces(anchorsOf(token), withoutPlaces(places, left)));
  return { observation: { ...observation, token: written, ...(left.length > 0 && { anchorsAt }) }, isDone: false, events };
}

/** Deletes anchors in parallel; returns those that are left, with the events that report them. */
export async function dropAnchors(run: TokenRun, token: ManagedToken, places: readonly AnchorPlace[]) {
  const left = (await deleteAnchors(run, token, places)).map(({ place }) => place);
  return { left, events: left.flatMap((place) => orphanEvents(run, token, place)) };
}

interface FailedDeletion {
  readonly place: AnchorPlace;
  readonly error: IssueError;
}

/** Tries to delete the anchors in all these places in parallel; returns the failures. */
async function deleteAnchors(run: TokenRun, token: ManagedToken, places: readonly AnchorPlace[]): Promise<readonly FailedDeletion[]> {
  const results = await Promise.all(
    places.map(async (place) => {
      try {
        await deleteAt(run, token, place);
        return [];
      } catch (error) {
        return [{ place, error: toIssueError(error, run.signal) }];
      }
    }),
  );
  return results.flat();
}

/** Writes the anchors that a withdrawal left; removes the finalizer if there is none. */
export async function writeLeftAnchors(run: TokenRun, token: ManagedToken, left: readonly AnchorPlace[]): Promise<ManagedToken> {
  const written = await writeAnchors(run, token, left);
  return left.length > 0 || !hasAnchorFinalizer(token) ? written : await writeFinalizers(run, written, otherFinalizers(token));
}

/** Returns the event for the anchor that the Secret's record names and status.anchors does not. */
export function unlistedEvents(run: TokenRun, token: ManagedToken, { record, isLast }: TokenState): readonly Note[] {
  const place = unlistedAnchor(token, record);
  // The digest of the last issuance covers the place, so that tenants cannot forge it.
  return place === undefined ? [] : orphanEvents(run, token, place, isLast ? 'recorded' : 'claimed');
}

/**
 * Deletes the anchor. Throws an IssueError if it may still exist: a deleted Cluster may be re-created, and its tokens are valid then; a
 * Cluster that was replaced may lead to another cluster, where the anchor is not found.
 */
async function deleteAt(run: TokenRun, token: ManagedToken, place: AnchorPlace): Promise<void> {
  const registered = registeredAt(run, place);
  const anchor = { namespace: place.namespace, name: anchorNameOf(token) };
  const wasFound = await run.clients.use(registered, (target) => deleteAnchor(target, anchor, run.signal));
  if (isIssuedWith(place, issuerOf(registered))) return;
  const { deletedAnchors } = run.tracked;
  if (wasFound) deletedAnchors.add(locationText(place));
  else if (!deletedAnchors.has(locationText(place))) throw new IssueError('AnchorDeletionUnconfirmed');
}

/** Returns whether the anchor is on the cluster that its Cluster leads to now, or was deleted there. */
async function isFound(run: TokenRun, token: ManagedToken, place: AnchorPlace): Promise<boolean> {
  if (run.tracked.deletedAnchors.has(locationText(place))) return true;
  const anchor = { namespace: place.namespace, name: anchorNameOf(token) };
  return await run.clients.use(registeredAt(run, place), (target) => hasAnchor(target, anchor, run.signal));
}

function registeredAt({ view }: TokenRun, { cluster }: AnchorLocation): RegisteredCluster {
  const registered = view.registered(cluster);
  if (registered === undefined) throw new IssueError('ClusterNotFound');
  return registered;
}

function locationText({ cluster, namespace }: AnchorLocation): string {
  return `${cluster}/${namespace}`;
}

/** Reports an orphaned anchor once. The metric, which an alert reads, contains only places that Purser recorded. */
function orphanEvents(run: TokenRun, token: ManagedToken, place: AnchorLocation, source: OrphanSource = 'recorded'): readonly Note[] {
  const { tracked, log, metrics } = run;
  const { cluster, namespace } = place;
  const key = locationText(place);
  const name = anchorNameOf(token);
  if (!tracked.isUnreportedOrphan(key, source)) return [];
  tracked.reportOrphan(key, source);
  const isRecorded = source === 'recorded';
  const fields = { cluster, anchor: `${namespace}/${name}`, reason: 'AnchorOrphaned' };
  log[isRecorded ? 'error' : 'warn'](fields, AlertReason.AnchorOrphaned);
  if (isRecorded) metrics?.recordOrphan({ cluster, namespace, name });
  return [{ type: 'Warning', reason: 'AnchorOrphaned', message: orphanedAnchorMessage(place, name) }];
}

function anchorNameOf({ metadata }: ManagedToken): string {
  return anchorName(metadata.uid ?? '');
}

/** Writes status.anchors if it differs. */
async function writeAnchors(run: TokenRun, token: ManagedToken, places: readonly AnchorPlace[]): Promise<ManagedToken> {
  const listed = token.status?.anchors ?? [];
  if (hasSamePlaces(places, listed)) return token;
  const { anchors: _, ...rest } = token.status ?? {};
  const status = places.length > 0 ? { ...rest, anchors: places } : rest;
  run.tracked.status = status;
  const written = await run.hub.updateStatus(ManagedTokens, { ...token, status }, { signal: run.signal });
  return run.tracked.recordTokenWrite(written, token, run.clock.now());
}

async function writeFinalizers(run: TokenRun, token: ManagedToken, finalizers: readonly string[]): Promise<ManagedToken> {
  const { resourceVersion, uid } = token.metadata;
  const patched = await run.hub.patch(
    ManagedTokens,
    nameOf(token),
    { metadata: { uid, resourceVersion, finalizers } },
    { signal: run.signal },
  );
  return run.tracked.recordTokenWrite(patched, token, run.clock.now());
}
