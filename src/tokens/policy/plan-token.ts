// Decides what is to be done for a ManagedToken from what is known of it. The list of decisions is at the end.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { fieldErrorText } from '../../kubernetes/field-error.ts';
import { instantOf } from '../../std/instant.ts';
import type { TokenLimits } from '../../targets/policy/token-request.ts';
import { anchorsOf, formerAnchors, hasAnchorFinalizer, hasRoom, recordedAnchor, without } from './anchors.ts';
import type { StoredSecret, TokenObservation } from './observation.ts';
import type { HoldPlan, SecretWrite, TokenPlan } from './plan.ts';
import { mayIssueAt, whyIssue } from './reasons-to-issue.ts';
import { conflictOf } from './secret-claim.ts';
import { desiredMetadata, hasMetadata } from './secret-metadata.ts';
import { specProblems } from './spec.ts';
import { ownedNames, type TokenState, tokenState } from './state.ts';
import { invalidSpecFailure, secretConflictFailure, tokenFailure } from './tenant-messages.ts';

/**
 * Returns whether the token has to leave the Secret, as far as that follows without knowledge of the Cluster: what happens to the
 * Secret of a requester without permission must not depend on it.
 */
export function isToBeStripped(observation: TokenObservation, now: number): boolean {
  const plan = planToken({ ...observation, cluster: undefined }, now);
  return plan.type === 'hold' && plan.strip;
}

/** Decides. Total: whatever is observed, there is a plan, and it never asks to be looked at again in the past. */
export function planToken(observation: TokenObservation, now: number, limits: TokenLimits = {}): TokenPlan {
  const scene: Scene = { observation, state: tokenState(observation, now), now, limits };
  for (const decide of DECISIONS) {
    const plan = decide(scene);
    if (plan !== undefined) return plan.type === 'hold' ? leavingAnchors(scene, plan) : plan;
  }
  return { type: 'wait', until: nextLookAt(now, [scene.state.renewAt, observation.verifyAt, observation.anchorsAt]) };
}

/** Until when a ManagedToken that is being deleted waits for its anchors to go. */
export function giveUpAt({ metadata }: ManagedToken): number | undefined {
  const deletedAt = instantOf(metadata.deletionTimestamp);
  return deletedAt && deletedAt + GIVE_UP_MS;
}

interface Scene {
  readonly observation: TokenObservation;
  readonly state: TokenState;
  readonly now: number;
  readonly limits: TokenLimits;
}

type Decision = (scene: Scene) => TokenPlan | undefined;

/** In a day much can happen to a clock. */
const LONGEST_WAIT_MS = 86_400_000;
const GIVE_UP_MS = 600_000;

const beingDeleted: Decision = ({ observation, state, now }) => {
  const { token } = observation;
  if (token.metadata.deletionTimestamp === undefined) return undefined;
  if (observation.failed !== undefined) return { ...held(state, now), failure: observation.failed };
  const isAnchored = anchorsOf(token).length > 0;
  if (!isAnchored && hasAnchorFinalizer(token)) return { type: 'release', anchor: 'none' };
  // While a finalizer of another controller keeps the object, the Secret stays; the token must not outlive its expiry there.
  if (!isAnchored) return state.secret === undefined ? { type: 'none' } : held(state, now);
  return { type: 'release', anchor: now < (giveUpAt(token) ?? 0) ? 'delete' : 'orphaned' };
};

/**
 * A token without an anchor cannot be revoked; a failure of the next token does not prevent a revocation. A revocation that fails
 * prevents the next token, but neither withdrawal nor the removal of a token that has to leave the Secret.
 */
const revoked: Decision = ({ observation, state, now }) => {
  const { revokeRequest } = state;
  if (revokeRequest === undefined || anchorsOf(observation.token).length === 0) return undefined;
  if (observation.failed !== undefined) return { ...held(state, now), failure: observation.failed };
  return { type: 'revoke', request: revokeRequest, secrets: ownedNames(observation) };
};

const ownedByOthers: Decision = ({ observation, state, now }) => {
  const conflict = conflictOf(observation);
  return conflict && { ...held(state, now), failure: secretConflictFailure(conflict) };
};

const suspended: Decision = ({ observation, state, now }) => {
  if (!observation.token.spec.rotation.suspend) return undefined;
  return { ...held(state, now), strip: state.hasToken && (state.expired || isForAnotherSpec(state)) };
};

const invalid: Decision = ({ observation, state, now, limits }) => {
  const problems = specProblems(observation.token, limits);
  return problems.length === 0 ? undefined : { ...held(state, now), failure: invalidSpecFailure(problems.map(fieldErrorText)) };
};

const clusterMissing: Decision = ({ observation: { token, cluster }, state, now }) => {
  return cluster === undefined ? { ...held(state, now), failure: tokenFailure('ClusterNotFound', token) } : undefined;
};

const issuanceNeeded: Decision = ({ observation, state, now }) => {
  const reason = whyIssue(state, observation, now);
  if (reason === undefined) return undefined;
  if (observation.failed !== undefined) return { ...held(state, now), failure: observation.failed };
  const at = mayIssueAt(reason, state, now);
  if (at > now) return { ...held(state, now), until: nextLookAt(now, [at]) };
  const expectsAccount = reason === 'RotationDue' || reason === 'RotationRequested';
  const accountUID = expectsAccount ? state.record?.issuedFor.accountUID : undefined;
  return {
    type: 'issue',
    reason,
    write: writeOf(observation.secret),
    dropOld: state.hasToken && isToBeDropped(state),
    freshAnchor: state.revokeRequest !== undefined,
    ...(accountUID && { accountUID }),
    ...(state.record && { previous: state.record }),
  };
};

/** The Secret stays as it is: no token is written next to addresses and certificates that are not pinned. */
const notWritable: Decision = ({ observation: { unwritable }, state, now }) => {
  if (unwritable === undefined) return undefined;
  return { ...held(state, now), failure: unwritable, until: nextLookAt(now, [state.renewAt]) };
};

const secretDiffers: Decision = ({ observation, state: { secret, record } }) => {
  if (secret === undefined || record === undefined) return undefined;
  const { token, outputsDigest } = observation;
  const isRight =
    secret === observation.secret &&
    writeOf(secret) === 'update' &&
    secret.outputsDigest === outputsDigest &&
    hasMetadata(secret.metadata, desiredMetadata(token, record, secret.metadata));
  return isRight ? undefined : { type: 'rewrite', from: secret.metadata.name ?? '', write: writeOf(observation.secret), record };
};

const formerSecrets: Decision = ({ observation }) => {
  const secrets = ownedNames({ ...observation, secret: undefined });
  return secrets.length > 0 ? { type: 'remove', secrets } : undefined;
};

/** Makes room in status.anchors for the place of the next token; the anchor of the present token goes last. */
const anchorsFull: Decision = ({ observation: { token, anchorsAt = 0 }, state: { record }, now }) => {
  if (token.spec.revocation !== 'BoundSecret' || hasRoom(token) || anchorsAt > now) return undefined;
  const recorded = recordedAnchor(token, record);
  return { type: 'leave', places: without(formerAnchors(token), recorded ? [recorded] : []) };
};

/** Deletes the anchors that tokens of this spec do not need, but for that of the token that the Secret holds. */
const anchorsLeft: Decision = ({ observation: { token, anchorsAt = 0 }, state: { hasToken, record }, now }) => {
  const recorded = hasToken ? recordedAnchor(token, record) : undefined;
  const places = anchorsAt > now ? [] : without(formerAnchors(token), recorded ? [recorded] : []);
  return places.length > 0 ? { type: 'leave', places } : undefined;
};

const finalizerUnused: Decision = ({ observation: { token } }) => {
  const isUnused = token.spec.revocation !== 'BoundSecret' && hasAnchorFinalizer(token) && anchorsOf(token).length === 0;
  return isUnused ? { type: 'release', anchor: 'none' } : undefined;
};

const verificationDue: Decision = ({ observation: { verifyAt }, now }) =>
  verifyAt !== undefined && verifyAt <= now ? { type: 'verify' } : undefined;

/** The first that has something to say decides. */
const DECISIONS: readonly Decision[] = [
  beingDeleted,
  revoked,
  ownedByOthers,
  suspended,
  invalid,
  clusterMissing,
  anchorsFull,
  issuanceNeeded,
  notWritable,
  secretDiffers,
  formerSecrets,
  anchorsLeft,
  finalizerUnused,
  verificationDue,
];

/** A token that nothing replaces loses its former anchors all the same, after it has left the Secret. */
function leavingAnchors(scene: Scene, plan: HoldPlan): TokenPlan {
  const { observation, now } = scene;
  if (plan.strip || formerAnchors(observation.token).length === 0) return plan;
  return anchorsLeft(scene) ?? { ...plan, until: nextLookAt(now, [plan.until, observation.anchorsAt]) };
}

/** Nothing is done, but a token must not outlive its expiry, nor the spec that it was issued for. */
function held({ hasToken, record, expired, ...state }: TokenState, now: number): Pick<HoldPlan, 'type' | 'strip' | 'until'> {
  const until = hasToken && record !== undefined && !expired ? nextLookAt(now, [record.expiresAt]) : undefined;
  return { type: 'hold', strip: hasToken && isToBeDropped({ expired, ...state }), ...(until !== undefined && { until }) };
}

/** A user who may re-create a Cluster must not empty the Secrets of others: that token stays until the next one is there. */
function isForAnotherSpec({ superseded }: Pick<TokenState, 'superseded'>): boolean {
  return superseded !== undefined && superseded !== 'ClusterReplaced';
}

function isToBeDropped(state: Pick<TokenState, 'superseded' | 'expired' | 'forged'>): boolean {
  return isForAnotherSpec(state) || state.expired || state.forged;
}

/** Neither `immutable` nor `type` can be taken back. */
function writeOf(secret: StoredSecret | undefined): SecretWrite {
  if (secret === undefined) return 'create';
  return secret.immutable || secret.type !== 'Opaque' ? 'replace' : 'update';
}

/** The first of these instants that lies ahead; a day from now at the latest. */
export function nextLookAt(now: number, candidates: readonly (number | undefined)[]): number {
  const ahead = candidates.filter((at) => at !== undefined && at > now) as number[];
  return Math.min(now + LONGEST_WAIT_MS, ...ahead);
}
