// Anchors from the hub's side: the finalizer that keeps a ManagedToken until its anchor is gone, revocation, and giving up.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { AnchorFinalizer } from '../../api/names.ts';
import { AlertReason } from '../../api/reasons.ts';
import { ManagedTokens } from '../../api/resources.ts';
import { hasReason } from '../../api/status.ts';
import type { TokenObservation } from '../../domain/token-observation.ts';
import type { TokenRecord } from '../../domain/token-record.ts';
import { anchorName } from '../../domain/token-request.ts';
import { tokenState } from '../../domain/token-state.ts';
import { deleteAnchor } from '../../issuers/anchor.ts';
import { IssueError } from '../../issuers/issue-error.ts';
import type { Note } from '../../kube/event-series.ts';
import { nameOf } from '../../kube/paths.ts';
import type { Orphan } from '../../telemetry/metrics.ts';
import type { TokenDeps } from './deps.ts';
import { deleteSecrets } from './hub-secrets.ts';
import { recordedAnchor } from './request-token.ts';
import type { Step } from './step.ts';

/** The ManagedToken with our finalizer: before there is an anchor, something must remember it. */
export async function withFinalizer(deps: TokenDeps, token: ManagedToken, signal: AbortSignal): Promise<ManagedToken> {
  const { finalizers = [] } = token.metadata;
  if (token.spec.revocation !== 'BoundSecret' || finalizers.includes(AnchorFinalizer)) return token;
  return await patchFinalizers(deps, token, [...finalizers, AnchorFinalizer], signal);
}

/** Kills the token: first the anchor, then the Secrets. */
export async function revoke(
  deps: TokenDeps,
  observation: TokenObservation,
  { request, secrets }: { readonly request: string; readonly secrets: readonly string[] },
  signal: AbortSignal,
): Promise<Step> {
  await deleteAnchorOf(deps, observation, signal);
  const rest = await deleteSecrets(deps, observation, secrets, signal);
  return { observation: rest, isDone: false, revoked: request };
}

/** Lets a ManagedToken go that needs no anchor any more. */
export async function release(
  deps: TokenDeps,
  observation: TokenObservation,
  anchor: 'delete' | 'gone' | 'orphaned',
  signal: AbortSignal,
): Promise<Step> {
  const { token } = observation;
  if (anchor === 'delete') await deleteAnchorOf(deps, observation, signal);
  const notes = anchor === 'orphaned' ? [orphaned(deps, anchorOf(deps, observation))] : [];
  const { finalizers = [] } = token.metadata;
  const rest = finalizers.filter((finalizer) => finalizer !== AnchorFinalizer);
  const released = await patchFinalizers(deps, token, rest, signal).catch((error: unknown) => {
    if (hasReason(error, 'NotFound')) return { ...token, metadata: { ...token.metadata, finalizers: rest } };
    throw error;
  });
  return { observation: { ...observation, token: released }, isDone: false, notes };
}

/** After the token moved to another cluster or namespace: deletes the anchor that it had before, if that can be done. */
export async function leaveAnchor(
  deps: TokenDeps,
  { token }: TokenObservation,
  previous: TokenRecord | undefined,
  signal: AbortSignal,
): Promise<readonly Note[]> {
  const anchor = recordedAnchor(token, previous);
  const { clusterName, serviceAccount } = token.spec;
  if (anchor === undefined || (anchor.cluster === clusterName && anchor.namespace === serviceAccount.namespace)) return [];
  return await dropAnchor(deps, anchor, signal);
}

/** After the permission is gone: deletes the anchor of the present token, if it has one and that can be done. */
export async function withdrawAnchor(deps: TokenDeps, observation: TokenObservation, signal: AbortSignal): Promise<readonly Note[]> {
  const anchor = recordedAnchor(observation.token, tokenState(observation, deps.clock.now()).record);
  return anchor === undefined ? [] : await dropAnchor(deps, anchor, signal);
}

/** Deletes an anchor, or tells that it is left behind. */
async function dropAnchor(deps: TokenDeps, anchor: Orphan, signal: AbortSignal): Promise<readonly Note[]> {
  const registered = deps.view.registered(anchor.cluster);
  if (registered === undefined) return [];
  try {
    await deps.clients.use(registered, (target) => deleteAnchor(target, anchor, signal));
    return [];
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof IssueError)) throw error;
    return [orphaned(deps, anchor)];
  }
}

/** Deletes the anchor wherever the present token is bound to it; where the cluster is gone, there is nothing to delete. */
async function deleteAnchorOf(deps: TokenDeps, observation: TokenObservation, signal: AbortSignal): Promise<void> {
  const { cluster, ...anchor } = anchorOf(deps, observation);
  const registered = deps.view.registered(cluster);
  if (registered !== undefined) await deps.clients.use(registered, (target) => deleteAnchor(target, anchor, signal));
}

function anchorOf(deps: TokenDeps, observation: TokenObservation): Orphan {
  const { token } = observation;
  const recorded = recordedAnchor(token, tokenState(observation, deps.clock.now()).record);
  if (recorded !== undefined) return { cluster: recorded.cluster, namespace: recorded.namespace, name: recorded.name };
  const { clusterName, serviceAccount } = token.spec;
  return { cluster: clusterName, namespace: serviceAccount.namespace, name: anchorName(token.metadata.uid ?? '') };
}

function orphaned({ log, metrics }: TokenDeps, { cluster, namespace, name }: Orphan): Note {
  const anchor = `${namespace}/${name}`;
  log.error({ cluster, anchor, reason: 'AnchorOrphaned' }, AlertReason.AnchorOrphaned);
  metrics?.orphaned({ cluster, namespace, name });
  const message = `The Secret ${anchor} on ${cluster} could not be deleted: until somebody does, tokens bound to it live to their expiry.`;
  return { type: 'Warning', reason: 'AnchorOrphaned', message };
}

async function patchFinalizers(
  deps: TokenDeps,
  token: ManagedToken,
  finalizers: readonly string[],
  signal: AbortSignal,
): Promise<ManagedToken> {
  const { resourceVersion, uid } = token.metadata;
  const patched = await deps.hub.patch(ManagedTokens, nameOf(token), { metadata: { uid, resourceVersion, finalizers } }, { signal });
  return deps.memory.of(uid ?? '').wroteToken(patched, token, deps.clock.now());
}
