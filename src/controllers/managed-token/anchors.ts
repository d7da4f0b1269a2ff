// Anchors from the hub's side: the finalizer that keeps a ManagedToken until its anchor is gone, revocation, and giving up.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { AlertReason } from '../../api/reasons.ts';
import { ManagedTokens } from '../../api/resources.ts';
import { hasReason } from '../../api/status.ts';
import { type AnchorNote, type AnchorPlace, anchorNote, anchorsOf, missingNote, wantedAnchor } from '../../domain/anchors.ts';
import type { TokenObservation } from '../../domain/token-observation.ts';
import type { TokenRecord } from '../../domain/token-record.ts';
import { anchorName } from '../../domain/token-request.ts';
import { tokenState } from '../../domain/token-state.ts';
import { deleteAnchor } from '../../issuers/anchor.ts';
import { IssueError } from '../../issuers/issue-error.ts';
import type { Note } from '../../kube/event-series.ts';
import { nameOf } from '../../kube/paths.ts';
import type { TokenDeps } from './deps.ts';
import { deleteSecrets } from './hub-secrets.ts';
import type { Step } from './step.ts';

/** The ManagedToken with our finalizer and a note of its anchor: before there is one, something must remember it. */
export async function withAnchorNote(
  deps: TokenDeps,
  token: ManagedToken,
  previous: TokenRecord | undefined,
  signal: AbortSignal,
): Promise<ManagedToken> {
  const note = token.spec.revocation === 'BoundSecret' ? missingNote(token, previous) : undefined;
  return note === undefined ? token : await patchNote(deps, token, note, signal);
}

/** Kills the token: first the anchor, then the Secrets. */
export async function revoke(
  deps: TokenDeps,
  observation: TokenObservation,
  { request, secrets }: { readonly request: string; readonly secrets: readonly string[] },
  signal: AbortSignal,
): Promise<Step> {
  const { token } = observation;
  const [present, ...former] = placesOf(deps, observation);
  if (present !== undefined) await deleteAt(deps, token, present, signal);
  // One that was left behind must not keep the present token alive.
  const { notes } = await dropAnchors(deps, token, former, signal);
  const rest = await deleteSecrets(deps, observation, secrets, signal);
  return { observation: { ...rest, revoked: request }, isDone: false, revoked: request, notes };
}

/** Lets a ManagedToken go that needs no anchor any more. */
export async function release(
  deps: TokenDeps,
  observation: TokenObservation,
  anchor: 'delete' | 'gone' | 'orphaned',
  signal: AbortSignal,
): Promise<Step> {
  const { token } = observation;
  const places = placesOf(deps, observation);
  if (anchor === 'delete') for (const place of places) await deleteAt(deps, token, place, signal);
  const { notes } = await dropAnchors(deps, token, anchor === 'orphaned' ? places : [], signal);
  const note = anchorNote(token, []);
  const released = await patchNote(deps, token, note, signal).catch((error: unknown) => {
    if (hasReason(error, 'NotFound')) return { ...token, metadata: { ...token.metadata, finalizers: note.finalizers } };
    throw error;
  });
  return { observation: { ...observation, token: released }, isDone: false, notes };
}

/** After the token moved to another cluster or namespace: deletes the anchors that it had before, if that can be done. */
export async function leave(
  deps: TokenDeps,
  observation: TokenObservation,
  places: readonly AnchorPlace[],
  signal: AbortSignal,
): Promise<Step> {
  const { token } = observation;
  const { notes } = await dropAnchors(deps, token, places, signal);
  const left = await withNoteOf(deps, token, [wantedAnchor(token)], signal);
  return { observation: { ...observation, token: left }, isDone: false, notes };
}

/** Every place in which there may be an anchor, the present token's first. */
export function placesOf(deps: TokenDeps, observation: TokenObservation): readonly AnchorPlace[] {
  return anchorsOf(observation.token, tokenState(observation, deps.clock.now()).record);
}

/** Deletes anchors as far as that can be done, and tells which are left behind. */
export async function dropAnchors(deps: TokenDeps, token: ManagedToken, places: readonly AnchorPlace[], signal: AbortSignal) {
  const left: AnchorPlace[] = [];
  for (const place of places) {
    try {
      await deleteAt(deps, token, place, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof IssueError)) throw error;
      left.push(place);
    }
  }
  return { left, notes: left.map((place) => orphaned(deps, token, place)) };
}

/** Deletes the anchor; where the cluster is gone, there is nothing to delete. */
async function deleteAt(deps: TokenDeps, token: ManagedToken, { cluster, namespace }: AnchorPlace, signal: AbortSignal): Promise<void> {
  const registered = deps.view.registered(cluster);
  if (registered === undefined) return;
  await deps.clients.use(registered, (target) => deleteAnchor(target, { namespace, name: anchorNameOf(token) }, signal));
}

function orphaned({ log, metrics }: TokenDeps, token: ManagedToken, { cluster, namespace }: AnchorPlace): Note {
  const name = anchorNameOf(token);
  const anchor = `${namespace}/${name}`;
  log.error({ cluster, anchor, reason: 'AnchorOrphaned' }, AlertReason.AnchorOrphaned);
  metrics?.orphaned({ cluster, namespace, name });
  const message = `The Secret ${anchor} on ${cluster} could not be deleted: until somebody does, tokens bound to it live to their expiry.`;
  return { type: 'Warning', reason: 'AnchorOrphaned', message };
}

function anchorNameOf({ metadata }: ManagedToken): string {
  return anchorName(metadata.uid ?? '');
}

/** The ManagedToken with a note of these places; without any, it has neither note nor finalizer. */
export async function withNoteOf(
  deps: TokenDeps,
  token: ManagedToken,
  places: readonly AnchorPlace[],
  signal: AbortSignal,
): Promise<ManagedToken> {
  return await patchNote(deps, token, anchorNote(token, places), signal);
}

async function patchNote(deps: TokenDeps, token: ManagedToken, note: AnchorNote, signal: AbortSignal): Promise<ManagedToken> {
  const { resourceVersion, uid } = token.metadata;
  const patched = await deps.hub.patch(ManagedTokens, nameOf(token), { metadata: { uid, resourceVersion, ...note } }, { signal });
  return deps.memory.of(uid ?? '').wroteToken(patched, token, deps.clock.now());
}
