// The hub's records of anchors: Purser adds the finalizer and an entry in status.anchors before it creates an anchor, and removes them
// after it has deleted the anchor or given up the deletion. This file also revokes tokens, and reports orphaned anchors.

import { AnchorFinalizer } from '../api/names.ts';
import { AlertReason } from '../api/reasons.ts';
import { ManagedTokens } from '../api/resources.ts';
import { startDeadline } from '../kube/deadline.ts';
import { nameOf } from '../kube/paths.ts';
import type { EventContent } from '../kube/recorder.ts';
import { hasReason } from '../kubernetes/status.ts';
import type { Result } from '../runtime/controller.ts';
import { deleteAnchor, hasAnchor } from '../targets/anchors.ts';
import { IssueError, toIssueError } from '../targets/issue-error.ts';
import { toAnchorName } from '../targets/policy/grant.ts';
import { isIssuedWith } from '../targets/policy/registration.ts';
import { type RegisteredCluster, toIssuingCredential } from '../targets/registry.ts';
import { type DeletionKey, encodeDeletionKey } from './anchor-deletions.ts';
import { REVOCATION_UNAVAILABLE } from './events.ts';
import {
  type AnchorEntry,
  type AnchorLocation,
  anchorsOf,
  findOtherServiceAccountAnchor,
  findReplacedAnchor,
  findUnlistedAnchor,
  hasAnchorFinalizer,
  hasRoomForAnchor,
  hasSameEntries,
  isWanted,
  locationKeyOf,
  otherFinalizers,
  parseRecordedAnchor,
  wantedAnchor,
  withoutEntries,
  withWantedAnchor,
} from './policy/anchors.ts';
import { formatOrphanedAnchorMessage } from './policy/messages.ts';
import type { TokenPlan } from './policy/plan.ts';
import type { StoredToken } from './policy/spec.ts';
import { type EvaluatedToken, hasCurrentToken, type TokenObservation, type TokenState } from './policy/state.ts';
import { laneOfCluster } from './priority.ts';
import { RUN_MS, type Step, type TokenDeps, type TokenRun } from './run.ts';
import { deleteSecrets } from './secrets.ts';
import type { OrphanSource } from './tracked-anchors.ts';

/** Pause between attempts to delete former anchors, in milliseconds. */
export const ANCHOR_RETRY_MS = 300_000;

/**
 * Adds the finalizer, then the anchor to status.anchors, unless they are already there. Call this before the anchor is created. Deletes the
 * anchor for another service account in the same namespace first. Returns the ManagedToken as written. Also returns an event for an
 * orphaned anchor if the entry was written for a replaced Cluster or credential, and the anchor was not found on the cluster that the
 * Cluster now refers to. Throws an IssueError if status.anchors is full, the Cluster was not found, or a request to the cluster fails, and
 * an AnchorsPendingError while another run deletes the anchor.
 */
export async function recordAnchor(
  run: TokenRun,
  token: StoredToken,
): Promise<{ readonly token: StoredToken; readonly events: readonly EventContent[] }> {
  const registered = requireRegistered(run, wantedAnchor(token));
  if (!hasRoomForAnchor(token)) throw new IssueError('TooManyAnchors');
  await deleteFirst(run, token);
  const replaced = findReplacedAnchor(token, toIssuingCredential(registered));
  const isOrphaned = replaced !== undefined && !(await isFound(run, token, replaced));
  const events = isOrphaned ? reportOrphan(run, token, replaced) : [];
  const finalizers = [...otherFinalizers(token), AnchorFinalizer];
  const kept = hasAnchorFinalizer(token) ? token : await writeFinalizers(run, token, finalizers);
  const written = await writeAnchors(run, kept, withWantedAnchor(token, toIssuingCredential(registered)));
  run.tracked.anchors.deleted.delete(locationKeyOf(wantedAnchor(token)));
  return { token: written, events };
}

/**
 * Deletes the anchor for another service account in the same namespace, because its entry in status.anchors is about to be replaced. If no
 * such anchor is listed, completes a requested deletion of the wanted anchor, because a later deletion would revoke the next token.
 */
async function deleteFirst(run: TokenRun, token: StoredToken): Promise<void> {
  const entry =
    findOtherServiceAccountAnchor(token) ??
    anchorsOf(token).find((listed) => isWanted(listed, token) && run.tracked.anchors.deletions.has(listed));
  const [failure] = entry === undefined ? [] : await deleteAnchors(run, token, [entry]);
  if (failure !== undefined && failure.error.reason !== 'AnchorDeletionUnconfirmed') throw failure.error;
}

/**
 * Revokes the token: deletes all anchors in status.anchors, then the Secrets. Throws an IssueError if an anchor that the token may be bound
 * to could not be deleted; the other anchors are still deleted.
 */
export async function revoke(
  run: TokenRun,
  evaluated: EvaluatedToken,
  { request, secrets }: { readonly request: string; readonly secrets: readonly string[] },
): Promise<Step> {
  const { observation, state } = evaluated;
  const { token } = observation;
  const failures = await deleteAnchors(run, token, anchorsOf(token));
  const superseded = findSupersededEntries(run, evaluated);
  for (const { entry, error } of failures) if (withoutEntries([entry], superseded).length > 0) throw error;
  const isUnbound = state.hasToken && state.record !== undefined && parseRecordedAnchor(token, state.record) === undefined;
  const events = [...(isUnbound ? [REVOCATION_UNAVAILABLE] : []), ...failures.flatMap(({ entry }) => reportOrphan(run, token, entry))];
  const rest = await deleteSecrets(run, observation, secrets);
  return { observation: { ...rest, revoked: request }, isDone: false, revoked: request, events };
}

/**
 * Returns the entries of status.anchors whose anchors need not be deleted for a revocation to succeed. If the Secret holds a current token
 * that is the last issued one, these are all entries except the wanted and the recorded location; otherwise, only those of them whose
 * Cluster was deleted. Tenants choose the location in the spec and can write the Secret: unless status or memory identifies the token in
 * the Secret as the last one, the last token may be bound to any listed anchor.
 */
function findSupersededEntries({ view }: TokenRun, { observation: { token }, state }: EvaluatedToken): readonly AnchorEntry[] {
  const recorded = parseRecordedAnchor(token, state.record);
  const former = withoutEntries(anchorsOf(token), recorded === undefined ? [wantedAnchor(token)] : [wantedAnchor(token), recorded]);
  return hasCurrentToken(state) && state.isLast ? former : former.filter(({ cluster }) => view.registry.registered(cluster) === undefined);
}

/**
 * Deletes the anchors, unless `anchor` is `none`, and removes the finalizer of a ManagedToken that is being deleted or needs no anchor.
 * Reports the anchors that may remain, which are then orphaned. If `anchor` is `delete`, throws an IssueError if an anchor on a registered
 * Cluster could not be deleted.
 */
export async function release(
  run: TokenRun,
  { observation, state }: EvaluatedToken,
  anchor: Extract<TokenPlan, { readonly type: 'release' }>['anchor'],
): Promise<Step> {
  const { token } = observation;
  const entries = anchor === 'none' ? [] : anchorsOf(token);
  const { kept = [], gone = [] } = Object.groupBy(entries, ({ cluster }) =>
    run.view.registry.registered(cluster) === undefined ? 'gone' : 'kept',
  );
  const [failure] = anchor === 'delete' ? await deleteAnchors(run, token, kept) : [];
  if (failure !== undefined) throw failure.error;
  // A deleted Cluster does not delay the deletion of the ManagedToken.
  const { events } = await dropAnchors(run, token, anchor === 'delete' ? gone : entries);
  const reported = [...events, ...reportUnlistedAnchor(run, token, state)];
  const isLast = token.metadata.deletionTimestamp !== undefined && otherFinalizers(token).length === 0;
  const cleared = isLast ? token : await writeAnchors(run, token, []);
  const released = await writeFinalizers(run, cleared, otherFinalizers(token)).catch((error: unknown) => {
    if (hasReason(error, 'NotFound')) return { ...token, metadata: { ...token.metadata, finalizers: [] } };
    throw error;
  });
  return { observation: { ...observation, token: released }, isDone: isLast, events: reported };
}

/**
 * Deletes anchors that tokens of this spec no longer need. Reports an anchor that cannot be deleted as orphaned, and keeps it in
 * status.anchors for a later attempt, unless the Cluster or the credential was replaced, and the anchor was not found on the cluster that
 * the Cluster now refers to. If the list has no room for the anchor that tokens of this spec need, also drops anchors of deleted Clusters
 * from the list.
 */
export async function pruneAnchors(run: TokenRun, observation: TokenObservation, entries: readonly AnchorEntry[]): Promise<Step> {
  const { token } = observation;
  const failures = await deleteAnchors(run, token, entries);
  const events = failures.flatMap(({ entry }) => reportOrphan(run, token, entry));
  const isFull = token.spec.revocation === 'BoundSecret' && !hasRoomForAnchor(token);
  const isKept = ({ entry, error }: FailedDeletion) =>
    error.reason !== 'AnchorDeletionUnconfirmed' && !(isFull && run.view.registry.registered(entry.cluster) === undefined);
  const left = failures.filter(isKept).map(({ entry }) => entry);
  const anchorsAt = run.clock.now() + ANCHOR_RETRY_MS;
  if (left.length > 0) run.tracked.anchorsAt = anchorsAt;
  const written = await writeAnchors(run, token, withoutEntries(anchorsOf(token), withoutEntries(entries, left)));
  return { observation: { ...observation, token: written, ...(left.length > 0 && { anchorsAt }) }, isDone: false, events };
}

/** Deletes anchors in parallel. Returns those whose deletion failed, with the events that report them. */
export async function dropAnchors(run: TokenRun, token: StoredToken, entries: readonly AnchorEntry[]) {
  const left = (await deleteAnchors(run, token, entries)).map(({ entry }) => entry);
  return { left, events: left.flatMap((entry) => reportOrphan(run, token, entry)) };
}

interface FailedDeletion {
  readonly entry: AnchorEntry;
  readonly error: IssueError;
}

/**
 * Tries to delete the anchors at these locations in parallel, and returns the failures. Requests deletions on clusters of other lanes, and
 * throws AnchorsPendingError until all have results.
 */
async function deleteAnchors(run: TokenRun, token: StoredToken, entries: readonly AnchorEntry[]): Promise<readonly FailedDeletion[]> {
  const { tracked, clock, slot, key } = run;
  const { deletions } = tracked.anchors;
  deletions.retain(anchorsOf(token));
  const free = entries.filter((entry) => deletions.isFree(entry));
  const lanes = new Map(free.map((entry) => [entry, laneOfCluster(run.view.registry.registered(entry.cluster))]));
  const isHere = (entry: AnchorEntry) => slot === undefined || (lanes.get(entry) ?? slot.lane) === slot.lane;
  for (const entry of free) if (!isHere(entry)) deletions.request(entry, lanes.get(entry) ?? '', clock.monotonic());
  for (const lane of new Set(free.filter((entry) => !isHere(entry)).map((entry) => lanes.get(entry) ?? ''))) {
    slot?.request(encodeDeletionKey({ tokenKey: key, lane }));
  }
  const here = free.filter(isHere);
  deletions.begin(here);
  try {
    await Promise.all(here.map(async (entry) => deletions.finish(entry, await tryDeleteAt(run, token, entry))));
  } finally {
    deletions.abandon(here);
  }
  return deletions.takeFailures(entries, clock.monotonic());
}

/** Deletes an anchor. Returns the IssueError if the deletion fails; undefined otherwise. */
async function tryDeleteAt(run: TokenRun, token: StoredToken, entry: AnchorEntry): Promise<IssueError | undefined> {
  try {
    await deleteAt(run, token, entry);
    return undefined;
  } catch (error) {
    return toIssueError(error, run.signal);
  }
}

/**
 * Deletes the anchors that earlier runs of the ManagedToken left to this lane, then triggers the ManagedToken. Sends requests only to the
 * cluster of the lane. Records failures as results for the ManagedToken; throws only for defects, or if `signal` aborts.
 */
export async function deleteRequestedAnchors(deps: TokenDeps, { tokenKey, lane }: DeletionKey, signal: AbortSignal): Promise<Result> {
  const { view, memory, timers, slot } = deps;
  const token = view.tokens.get(tokenKey);
  if (token === undefined) return {};
  const { uid } = token.metadata;
  const tracked = memory.of(uid);
  const entries = tracked.anchors.deletions.start(lane, ({ cluster }) => laneOfCluster(view.registry.registered(cluster)) === lane);
  const deadline = startDeadline(timers, RUN_MS, signal);
  const run: TokenRun = { ...deps, key: tokenKey, uid, tracked, signal: deadline.signal };
  const timeout = new IssueError('ClusterTimeout', `the deletion of an anchor took more than ${RUN_MS / 1_000} s`);
  try {
    await Promise.all(
      entries.map(async (entry) => {
        const error = await tryDeleteAt(run, token, entry).catch((thrown: unknown) => {
          if (!deadline.hasPassed || signal.aborted) throw thrown;
          return timeout;
        });
        tracked.anchors.deletions.finish(entry, error);
      }),
    );
    return {};
  } finally {
    deadline.clear();
    tracked.anchors.deletions.abandon(entries);
    slot?.request(tokenKey);
  }
}

/** Writes the anchors that remain after a withdrawal to status.anchors; removes the finalizer if none remain. */
export async function writeRemainingAnchors(run: TokenRun, token: StoredToken, left: readonly AnchorEntry[]): Promise<StoredToken> {
  const written = await writeAnchors(run, token, left);
  return left.length > 0 || !hasAnchorFinalizer(token) ? written : await writeFinalizers(run, written, otherFinalizers(token));
}

/**
 * Reports an anchor that the Secret's record names but status.anchors does not list: logs it and returns its event. Returns an empty list
 * if there is no such anchor, or if `isUnreportedOrphan` returns false.
 */
export function reportUnlistedAnchor(run: TokenRun, token: StoredToken, { record, isLast }: TokenState): readonly EventContent[] {
  const entry = findUnlistedAnchor(token, record);
  // The digest of the last issuance covers the location, so tenants cannot forge the location.
  return entry === undefined ? [] : reportOrphan(run, token, entry, isLast ? 'recorded' : 'claimed');
}

/**
 * Deletes the anchor. Throws an IssueError if the anchor may still exist: the request failed; the Cluster was deleted, so Purser cannot
 * reach the anchor; or the Cluster or its credential was replaced, and the anchor was not found on the cluster that Purser now reaches.
 */
async function deleteAt(run: TokenRun, token: StoredToken, entry: AnchorEntry): Promise<void> {
  const registered = requireRegistered(run, entry);
  const anchor = { namespace: entry.namespace, name: anchorNameOf(token) };
  const wasFound = await run.clients.use(registered, (target) => deleteAnchor(target, anchor, run.signal));
  if (isIssuedWith(entry, toIssuingCredential(registered))) return;
  const { deleted } = run.tracked.anchors;
  if (wasFound) deleted.add(locationKeyOf(entry));
  else if (!deleted.has(locationKeyOf(entry))) throw new IssueError('AnchorDeletionUnconfirmed');
}

/** Returns whether the cluster that the Cluster now refers to has the anchor, or had it until Purser deleted it. */
async function isFound(run: TokenRun, token: StoredToken, entry: AnchorEntry): Promise<boolean> {
  if (run.tracked.anchors.deleted.has(locationKeyOf(entry))) return true;
  const anchor = { namespace: entry.namespace, name: anchorNameOf(token) };
  return await run.clients.use(requireRegistered(run, entry), (target) => hasAnchor(target, anchor, run.signal));
}

function requireRegistered({ view }: TokenRun, { cluster }: AnchorLocation): RegisteredCluster {
  const registered = view.registry.registered(cluster);
  if (registered === undefined) throw new IssueError('ClusterNotFound');
  return registered;
}

/**
 * Logs an orphaned anchor and returns its event; returns an empty list if `isUnreportedOrphan` returns false. The metric, on which an alert
 * is based, includes only anchors whose locations Purser itself recorded.
 */
function reportOrphan(
  run: TokenRun,
  token: StoredToken,
  entry: AnchorLocation,
  source: OrphanSource = 'recorded',
): readonly EventContent[] {
  const { tracked, log, metrics } = run;
  const { cluster, namespace } = entry;
  const key = locationKeyOf(entry);
  const name = anchorNameOf(token);
  if (!tracked.anchors.isUnreportedOrphan(key, source)) return [];
  tracked.anchors.recordOrphanReport(key, source);
  const isRecorded = source === 'recorded';
  const fields = { cluster, anchor: `${namespace}/${name}`, reason: 'AnchorOrphaned' };
  log[isRecorded ? 'error' : 'warn'](fields, AlertReason.AnchorOrphaned);
  if (isRecorded) metrics?.recordOrphan({ cluster, namespace, name });
  return [{ type: 'Warning', reason: 'AnchorOrphaned', message: formatOrphanedAnchorMessage(entry, name) }];
}

function anchorNameOf({ metadata }: StoredToken): string {
  return toAnchorName(metadata.uid);
}

/** Writes status.anchors if the list has changed. */
async function writeAnchors(run: TokenRun, token: StoredToken, entries: readonly AnchorEntry[]): Promise<StoredToken> {
  const listed = token.status?.anchors ?? [];
  if (hasSameEntries(entries, listed)) return token;
  const { anchors: _, ...rest } = token.status ?? {};
  const status = entries.length > 0 ? { ...rest, anchors: entries } : rest;
  run.tracked.status = status;
  const written = await run.hub.updateStatus(ManagedTokens, { ...token, status }, { signal: run.signal });
  return run.tracked.recordTokenWrite(written, token, run.clock.now());
}

async function writeFinalizers(run: TokenRun, token: StoredToken, finalizers: readonly string[]): Promise<StoredToken> {
  const { resourceVersion, uid } = token.metadata;
  const patched = await run.hub.patch(
    ManagedTokens,
    nameOf(token),
    { metadata: { uid, resourceVersion, finalizers } },
    { signal: run.signal },
  );
  return run.tracked.recordTokenWrite(patched, token, run.clock.now());
}
