// The plan of a ManagedTokenSet: which ManagedTokens to create and to change now. A changed template reaches a limited number of
// ManagedTokens at a time.

import type { ManagedTokenCondition } from '../../api/managed-token.gen.ts';
import { SetAnnotation, TokenConditionType } from '../../api/names.ts';
import type { ApiObject } from '../../api/resources.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import { parseTimestamp } from '../../std/timestamp.ts';
import type { StoredToken } from '../../tokens/policy/spec.ts';
import { contentDigestOf, digestContent, digestTemplate, recordedTemplateDigestOf, type StoredSet } from './template.ts';

/** A cluster for which the set has or should have a ManagedToken. */
export interface Member {
  readonly clusterName: string;
  /**
   * Digest of the rendered ManagedToken, the problem of the template, or the missing permission. The rendering itself is not kept, because
   * the renderings of all members would take too much memory. `missing` is set if the requester is authorized to issue the token of the
   * existing ManagedToken, but not that of the current template.
   */
  readonly rendering: { readonly digest: string } | { readonly problem: string } | { readonly missing: string };
  /** ManagedToken with the member's name, even if the set does not control it; undefined if there is none. */
  readonly token: StoredToken | undefined;
  /** Failure of the last write, until the next attempt; undefined if there is none. */
  readonly writeFailure?: string | undefined;
}

/** A set and the ManagedTokens that it has or should have. */
export interface SetObservation {
  readonly set: StoredSet;
  /** Members, sorted by cluster name. */
  readonly members: readonly Member[];
  /** ManagedTokens that the set controls, for clusters that are not members. */
  readonly surplus: readonly StoredToken[];
  /**
   * Names of clusters whose last write a mutating webhook changed. Purser does not write their ManagedTokens again before the rendering or
   * the ManagedToken changes.
   */
  readonly overridden?: ReadonlySet<string>;
}

/** State of a member's ManagedToken. */
export type MemberState =
  /** The template renders no valid ManagedToken. */
  | 'invalid'
  /** The requester is not authorized to issue the token of the template; the ManagedToken is left as it is. */
  | 'denied'
  /** The ManagedToken is not controlled by the set. */
  | 'conflict'
  | 'missing'
  | 'terminating'
  /** The ManagedToken was rendered from another version of the template. */
  | 'outdated'
  /**
   * The ManagedToken differs from its rendering: the Cluster has other labels now, or another client or a webhook changed the ManagedToken.
   */
  | 'drifted'
  | 'current';

/** A write of a member's ManagedToken. */
export interface PlannedWrite {
  readonly clusterName: string;
  /** ManagedToken to change; undefined to create it. */
  readonly token: StoredToken | undefined;
}

export interface SetPlan {
  readonly creations: readonly PlannedWrite[];
  readonly changes: readonly PlannedWrite[];
  /** Number of ManagedTokens that still have an earlier template after these writes. */
  readonly waiting: number;
  /** Number of changed ManagedTokens that have not reported a result yet. */
  readonly unsettled: number;
  /** Names of the clusters whose failures stopped the rollout; empty if the rollout is not stopped. */
  readonly stoppedBy: readonly string[];
}

/** Rollout of the current template. */
export interface Rollout {
  readonly templateDigest: string;
  readonly startTime: string;
}

export function toMemberState({ metadata, spec }: StoredSet, { rendering, token }: Member): MemberState {
  if ('missing' in rendering) return 'denied';
  if ('problem' in rendering) return 'invalid';
  if (token === undefined) return 'missing';
  if (!isControlledBy(token, metadata.uid)) return 'conflict';
  if (token.metadata.deletionTimestamp !== undefined) return 'terminating';
  if (recordedTemplateDigestOf(token.metadata) !== digestTemplate(spec.template)) return 'outdated';
  return isAsRendered(token, rendering.digest) ? 'current' : 'drifted';
}

/**
 * Returns whether a ManagedToken has the digest and the parts of a rendering. If the informer does not keep all parts, compares only the
 * digest.
 */
export function isAsRendered(token: StoredToken, digest: string): boolean {
  if (token.metadata.annotations?.[SetAnnotation.templateDigest] !== digest) return false;
  return token.isTooLarge === true || token.isOverBudget === true || digestContentOnce(token) === contentDigestOf(digest);
}

/** Content digests by ManagedToken object. Safe as a cache, because informers never modify objects. */
const CONTENTS = new WeakMap<StoredToken, string>();

function digestContentOnce(token: StoredToken): string {
  const content = CONTENTS.get(token) ?? digestContent(token);
  CONTENTS.set(token, content);
  return content;
}

/** Returns whether the set with this UID controls an object. */
export function isControlledBy({ metadata: { ownerReferences = [] } }: ApiObject, setUid: string): boolean {
  return ownerReferences.some(({ controller, uid }) => controller === true && uid === setUid);
}

/** Returns the rollout of the current template; `now` is its start if it is new. */
export function resolveRollout({ spec, status }: StoredSet, now: string): Rollout {
  const digest = digestTemplate(spec.template);
  const known = status?.rollout;
  return known?.templateDigest === digest ? known : { templateDigest: digest, startTime: now };
}

/** Returns the writes that are due now. */
export function planSet(observation: SetObservation, rollout: Rollout, now: number): SetPlan {
  const { set, members, overridden = new Set() } = observation;
  const { maxConcurrent } = set.spec.rollout;
  const states = members.map((member) => ({ member, state: toMemberState(set, member) }));
  const of = (state: MemberState) => states.filter((each) => each.state === state).map(({ member }) => member);
  const current = [...of('current'), ...of('drifted')];
  const outdated = of('outdated');
  const changed = current.flatMap(({ clusterName, token }) => (token !== undefined && isChanged(token) ? [{ clusterName, token }] : []));
  const unsettled = changed.filter(({ token }) => !isSettled(token, now)).length;
  const denied = of('denied');
  const left = outdated.length + denied.length;
  const failed = [...changed.filter(({ token }) => isSettled(token, now) && failedSince(token, rollout)), ...denied];
  const wave = Math.min(maxConcurrent, current.length + left);
  const isStopped = left > 0 && failed.length > 0 && failed.length * WAVE_SHARE >= wave;
  const writable = (list: readonly Member[]) => list.filter(({ writeFailure }) => writeFailure === undefined);
  const next = isStopped
    ? []
    : writable(outdated)
        .toSorted(byReadiness)
        .slice(0, Math.max(0, maxConcurrent - unsettled));
  return {
    creations: writable(of('missing')).map(toWrite),
    changes: [...writable(of('drifted')).filter(({ clusterName }) => !overridden.has(clusterName)), ...next].map(toWrite),
    waiting: left - next.length,
    unsettled,
    stoppedBy: isStopped ? failed.map(({ clusterName }) => clusterName) : [],
  };
}

/** Reciprocal of the share of failed ManagedTokens in a wave that stops the rollout: one third. */
const WAVE_SHARE = 3;
/** Time for which a ManagedToken may be pending before it is considered failed, in milliseconds. */
const PENDING_MS = 5_000;

/** Returns whether a ManagedToken reports a result for its current spec: it is ready, has failed, or has been pending for PENDING_MS. */
export function isSettled(token: StoredToken, now: number): boolean {
  const ready = readyConditionOf(token);
  if (ready === undefined || ready.status === 'Unknown' || token.status?.observedGeneration !== token.metadata.generation) return false;
  return now >= (failsAt(token) ?? 0);
}

/** Returns the time at which a pending ManagedToken is considered failed; undefined if it is not pending. */
export function failsAt(token: StoredToken): number | undefined {
  const { status, reason, lastTransitionTime } = readyConditionOf(token) ?? {};
  return status === 'False' && reason === 'Pending' ? (parseTimestamp(lastTransitionTime) ?? 0) + PENDING_MS : undefined;
}

/** Returns the Ready condition of a ManagedToken; undefined if there is none. */
export function readyConditionOf(token: StoredToken): ManagedTokenCondition | undefined {
  return findCondition(token, TokenConditionType.ready);
}

/** Returns whether the spec has changed since the creation. */
function isChanged({ metadata }: StoredToken): boolean {
  return (metadata.generation ?? 1) > 1;
}

function failedSince(token: StoredToken, { startTime }: Rollout): boolean {
  const ready = readyConditionOf(token);
  return ready?.status === 'False' && (parseTimestamp(ready.lastTransitionTime) ?? 0) >= (parseTimestamp(startTime) ?? 0);
}

/** Orders members by readiness: those whose ManagedToken is not ready come last, because they must not delay the others. */
function byReadiness(a: Member, b: Member): number {
  return computeReadinessRank(a) - computeReadinessRank(b);
}

function computeReadinessRank({ token }: Member): number {
  return token !== undefined && readyConditionOf(token)?.status === 'True' ? 0 : 1;
}

function toWrite({ clusterName, token }: Member): PlannedWrite {
  return { clusterName, token };
}
