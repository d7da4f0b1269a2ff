// The status of a ManagedTokenSet: counts, the first failures and the conditions.

import type { ManagedTokenSetCondition, ManagedTokenSetFailure, ManagedTokenSetStatus } from '../../api/managed-token-set.gen.ts';
import { SetAnnotation, SetConditionType } from '../../api/names.ts';
import { type ProfileReason, ReadyReason, SetReason } from '../../api/reasons.ts';
import { withCondition } from '../../kubernetes/conditions.ts';
import { type FieldError, formatFieldError } from '../../kubernetes/field-error.ts';
import { encodeGoJson } from '../../std/go-text.ts';
import { toSentence } from '../../std/sentence.ts';
import type { ProfilesAspect } from './cluster-profile.ts';
import { isSettled, type Member, type Rollout, readyConditionOf, type SetObservation, type SetPlan, toMemberState } from './plan.ts';
import type { RemovalDecision } from './removal.ts';
import type { StoredSet } from './template.ts';

/** Result of a run. */
export interface SetOutcome {
  readonly observation: SetObservation;
  /** True if the requester exists. */
  readonly hasRequester: boolean;
  readonly plan: SetPlan;
  readonly rollout: Rollout;
  readonly removal: RemovalDecision;
  /** State of the ClusterProfilesPublished condition; `none` to remove the condition, undefined to keep it as it is. */
  readonly profiles?: ProfilesAspect | 'none' | undefined;
}

const MAX_FAILURES = 10;
const MAX_MESSAGE_LENGTH = 1_024;

/** Returns the status to write; the current object if nothing changes. */
export function toDesiredStatus(outcome: SetOutcome, now: number): ManagedTokenSetStatus {
  const { observation, rollout, profiles } = outcome;
  const { set, members } = observation;
  const failures = members.flatMap((member) => toFailures(set, member, now));
  const ready = members.filter((member) => isReady(set, member)).length;
  const next = {
    observedGeneration: set.metadata.generation ?? 0,
    clusters: members.length,
    ready,
    failing: failures.length,
    updated: members.filter((member) => toMemberState(set, member) === 'current').length,
    failures: failures.slice(0, MAX_FAILURES),
    rollout,
    conditions: toConditions(
      profiles === 'none' ? withoutProfiles(set) : set,
      [
        toReadyCondition(outcome, ready, failures),
        toProgressingCondition(outcome, failures, now),
        ...(profiles === undefined || profiles === 'none' ? [] : [[SetConditionType.clusterProfilesPublished, profiles] as const]),
      ],
      now,
    ),
  };
  return keepIfSame(set, next);
}

/** Returns the status of a set whose spec is invalid; the current object if nothing changes. */
export function toInvalidStatus(set: StoredSet, problems: readonly FieldError[], now: number): ManagedTokenSetStatus {
  const message = toSentence(`${ReadyReason.InvalidSpec}: ${problems.map(formatFieldError).join('; ')}`);
  const aspect = { status: 'False', reason: 'InvalidSpec', message } as const;
  const conditions = toConditions(set, [[SetConditionType.ready, aspect] as const, [SetConditionType.progressing, aspect] as const], now);
  return keepIfSame(set, { ...set.status, observedGeneration: set.metadata.generation ?? 0, conditions });
}

interface Aspect {
  readonly status: 'True' | 'False';
  readonly reason: SetReason | ProfileReason | 'InvalidSpec';
  readonly message: string;
}

type TypedAspect = readonly [type: string, aspect: Aspect];

function toConditions({ metadata, status }: StoredSet, aspects: readonly TypedAspect[], now: number): readonly ManagedTokenSetCondition[] {
  const observedGeneration = metadata.generation ?? 0;
  return aspects.reduce<readonly ManagedTokenSetCondition[]>(
    (conditions, [type, aspect]) => withCondition(conditions, { type, ...aspect, observedGeneration }, now),
    status?.conditions ?? [],
  );
}

/** Returns the set without the ClusterProfilesPublished condition. */
function withoutProfiles({ status = {}, ...set }: StoredSet): StoredSet {
  const conditions = status.conditions?.filter(({ type }) => type !== SetConditionType.clusterProfilesPublished) ?? [];
  return { ...set, status: { ...status, conditions } };
}

function keepIfSame({ status }: StoredSet, next: ManagedTokenSetStatus): ManagedTokenSetStatus {
  return status !== undefined && encodeGoJson(status) === encodeGoJson(next) ? status : next;
}

function isReady(set: StoredSet, member: Member): boolean {
  const state = toMemberState(set, member);
  const isOurs = state === 'current' || state === 'drifted' || state === 'outdated' || state === 'denied';
  return isOurs && member.token !== undefined && readyConditionOf(member.token)?.status === 'True';
}

/** Returns a list with the failure of a member; empty if there is none. */
function toFailures(set: StoredSet, member: Member, now: number): readonly ManagedTokenSetFailure[] {
  const { clusterName, rendering, token, writeFailure } = member;
  const failure = (reason: string, message: string) => [{ clusterName, reason, message: message.slice(0, MAX_MESSAGE_LENGTH) }];
  const state = toMemberState(set, member);
  if ('missing' in rendering)
    return failure('Forbidden', `${toSentence(ReadyReason.Forbidden)} ${formatDeniedRemedy(set, rendering.missing)}`);
  if ('problem' in rendering) return failure('TemplateInvalid', toSentence(`${SetReason.TemplateInvalid}: ${rendering.problem}`));
  if (state === 'conflict') {
    const remedy = `Delete ManagedToken ${token?.metadata.name}, or re-create the set with another name.`;
    return failure('NameConflict', `${toSentence(SetReason.NameConflict)} ${remedy}`);
  }
  if (writeFailure !== undefined) return failure('WriteFailed', toSentence(`${SetReason.WriteFailed}: ${writeFailure}`));
  if (token === undefined || !isSettled(token, now)) return [];
  const ready = readyConditionOf(token);
  return ready?.status === 'False' ? failure(ready.reason, ready.message) : [];
}

function formatDeniedRemedy({ metadata, spec }: StoredSet, permission: string): string {
  const requester = `${metadata.namespace}/${spec.template.spec.requesterServiceAccountName}`;
  return `Allow service account ${requester} to ${permission}, or correct the template.`;
}

function toReadyCondition(outcome: SetOutcome, ready: number, failures: readonly ManagedTokenSetFailure[]): TypedAspect {
  const { set, members } = outcome.observation;
  if (!outcome.hasRequester) return [SetConditionType.ready, toRequesterNotFound(set)];
  if (members.length === 0) return [SetConditionType.ready, toAspect('True', 'NoClusters')];
  if (ready === members.length) return [SetConditionType.ready, toAspect('True', 'AllReady')];
  const [first] = failures;
  const detail = `${ready} of ${members.length} clusters are ready${first === undefined ? '' : `; ${formatFirstFailure(first)}`}`;
  return [SetConditionType.ready, toAspect('False', 'NotAllReady', detail)];
}

function toRequesterNotFound({ metadata, spec }: StoredSet): Aspect {
  const cause = `Service account ${metadata.namespace}/${spec.template.spec.requesterServiceAccountName} was not found.`;
  const message = `${cause} Create it, or correct spec.template.spec.requesterServiceAccountName.`;
  return { status: 'False', reason: 'RequesterNotFound', message };
}

function toProgressingCondition(
  { observation, hasRequester, plan, removal }: SetOutcome,
  failures: readonly ManagedTokenSetFailure[],
  now: number,
): TypedAspect {
  const { set, members, surplus, overridden = new Set() } = observation;
  const type = SetConditionType.progressing;
  if (removal.type === 'paused') return [type, toAspect('False', 'RemovalPaused', formatRemovalDetail(set, removal))];
  const [name] = plan.stoppedBy;
  if (name !== undefined) {
    const failure = failures.find(({ clusterName }) => clusterName === name);
    const kept = plan.waiting === 1 ? '1 cluster keeps' : `${plan.waiting} clusters keep`;
    const rest = `${kept} the earlier template. Correct the template, or the cause of the failure`;
    return [type, toAspect('False', 'RolloutStopped', `${failure ? formatFirstFailure(failure) : `cluster ${name} failed`}. ${rest}`)];
  }
  const pending = members.filter((member) => isPending(set, member, now)).length;
  if (pending === 0 && surplus.length === 0) {
    return [type, hasRequester ? toAspect('False', 'Complete') : toRequesterNotFound(set)];
  }
  const removals = surplus.length === 0 ? '' : `; ManagedTokens to remove: ${surplus.length}`;
  const mutated = members.filter((member) => overridden.has(member.clusterName) && toMemberState(set, member) === 'drifted').length;
  const mutations = mutated === 0 ? '' : `; ManagedTokens that an admission webhook changes: ${mutated}. ${MUTATION_REMEDY}`;
  return [type, toAspect('True', 'RollingOut', `${pending} of ${members.length} clusters are pending${removals}${mutations}`)];
}

const MUTATION_REMEDY = 'Exempt the ManagedTokens from the mutating admission webhooks that change them';

/** Returns whether Purser still has to write a member's ManagedToken, or waits for its deletion or its result. */
function isPending(set: StoredSet, member: Member, now: number): boolean {
  const state = toMemberState(set, member);
  if (state === 'invalid' || state === 'denied' || state === 'conflict') return false;
  return state !== 'current' || member.token === undefined || !isSettled(member.token, now);
}

function formatRemovalDetail({ metadata }: StoredSet, { count, value }: Extract<RemovalDecision, { type: 'paused' }>): string {
  const command = `kubectl annotate -n ${metadata.namespace} mts/${metadata.name} ${SetAnnotation.confirmRemoval}=${value} --overwrite`;
  const surplus = count === 1 ? '1 ManagedToken no longer has' : `${count} ManagedTokens no longer have`;
  return `${surplus} a Cluster that the selector matches and the requester may issue tokens for. Check the labels of the Clusters, spec.clusterSelector and the permission of the requester, or run ${command} to remove the ManagedTokens`;
}

function formatFirstFailure({ clusterName, reason, message }: ManagedTokenSetFailure): string {
  return `cluster ${clusterName} failed with ${reason}: ${message.replace(/\.$/, '')}`;
}

/** Returns the state of a condition; `detail` is one or more sentences, without the first capital letter and the last full stop. */
function toAspect(status: 'True' | 'False', reason: SetReason, detail?: string): Aspect {
  const meaning = toSentence(SetReason[reason]);
  return { status, reason, message: detail === undefined ? meaning : `${meaning} ${toSentence(detail)}` };
}
