// The plan for a ManagedToken: the next action, decided from one observation. DECISIONS lists the rules in order, and REASONS at the end
// lists the reasons to issue a token.

import { Annotation } from '../../api/names.ts';
import type { IssueReason } from '../../api/reasons.ts';
import { formatFieldError } from '../../kubernetes/field-error.ts';
import { parseTimestamp } from '../../std/timestamp.ts';
import type { TokenLimits } from '../../targets/policy/grant.ts';
import {
  type AnchorEntry,
  anchorsOf,
  findUnlistedAnchor,
  formerAnchors,
  hasAnchorFinalizer,
  hasRoomForAnchor,
  parseRecordedAnchor,
  withoutEntries,
} from './anchors.ts';
import { invalidSpecFailure, secretConflictFailure, type TokenFailure, tokenFailure } from './messages.ts';
import { requestOf, type TokenRecord } from './record.ts';
import { earliestRenewAt } from './rotation.ts';
import { desiredMetadata, findConflict, hasMetadata, type StoredSecret, toSecretDigest } from './secret.ts';
import { type StoredToken, specProblems } from './spec.ts';
import {
  deriveSecretState,
  type EvaluatedToken,
  evaluateToken,
  ownedSecretNames,
  type TokenObservation,
  type TokenState,
} from './state.ts';

/** Kind of write: `replace` deletes the Secret first, because neither `immutable` nor `type` can be changed. */
export type SecretWrite = 'create' | 'update' | 'replace';

/** Plan that issues no token for now. */
export interface HoldPlan {
  readonly type: 'hold';
  /** Failure that prevents the issuance; undefined if Purser waits for another reason, such as suspended rotation. */
  readonly failure?: TokenFailure;
  /** True if the token must be removed from the Secret. */
  readonly mustStrip: boolean;
  /** Time of the next reconcile; undefined if only a change triggers it. */
  readonly until?: number;
}

/** Plan that issues a token and writes it. */
export interface IssuePlan {
  readonly type: 'issue';
  readonly reason: IssueReason;
  readonly write: SecretWrite;
  /** True if the old token must be removed from the Secret even if no new token can be issued. */
  readonly mustDropOld: boolean;
  /** UID of the service account that the token must be for; undefined if any UID is acceptable. */
  readonly accountUID?: string;
  /** True if an existing anchor must be deleted first. */
  readonly needsNewAnchor: boolean;
  /** Record of the token that is replaced; undefined if the record is missing or damaged. */
  readonly previous?: TokenRecord;
}

/** Plan that writes the current token again. */
export interface RewritePlan {
  readonly type: 'rewrite';
  /** Name of the Secret that holds the token. */
  readonly from: string;
  readonly write: SecretWrite;
  readonly record: TokenRecord;
}

/** One action; the next plan follows from its result. */
export type TokenPlan =
  /** The ManagedToken is being deleted, and Purser has nothing left to do. */
  | { readonly type: 'none' }
  /** Nothing is due. */
  | { readonly type: 'wait'; readonly until: number }
  | HoldPlan
  | IssuePlan
  | RewritePlan
  /**
   * Deletes Secrets with former names: all of them once the desired Secret holds the token; before that, only those whose tokens must not
   * stay.
   */
  | { readonly type: 'remove'; readonly secrets: readonly string[] }
  /** Deletes all anchors and then these Secrets, as this value of the `revoke` annotation requests. */
  | { readonly type: 'revoke'; readonly request: string; readonly secrets: readonly string[] }
  /** Deletes anchors that tokens of this spec no longer use. */
  | { readonly type: 'prune'; readonly entries: readonly AnchorEntry[] }
  /**
   * Deletes the anchors, then removes the finalizer. If `anchor` is `delete`, Purser retries until each anchor is deleted; if `orphaned`,
   * it tries once and reports the anchors that remain; if `none`, it sends no request to any cluster.
   */
  | { readonly type: 'release'; readonly anchor: 'delete' | 'orphaned' | 'none' }
  /** Verifies the token with a TokenReview on its cluster. */
  | { readonly type: 'verify' };

/** Returns the plan for an observation. Every observation has a plan, and no plan requests a reconcile in the past. */
export function planToken(evaluated: EvaluatedToken, limits: TokenLimits = {}): TokenPlan {
  for (const decide of DECISIONS) {
    const plan = decide(evaluated, limits);
    if (plan !== undefined) return plan.type === 'hold' ? cleanUpFirst(evaluated, limits, plan) : plan;
  }
  const { observation, state, now } = evaluated;
  return { type: 'wait', until: nextReconcileAt(now, [state.renewAt, observation.verifyAt, observation.anchorsAt]) };
}

/**
 * Returns whether the token must be removed from the Secret. The Cluster does not affect the result: a requester without permission must
 * not learn anything about the Cluster.
 */
export function mustStripToken(observation: TokenObservation, now: number): boolean {
  const plan = planToken(evaluateToken({ ...observation, cluster: undefined, issuingCredential: undefined }, now));
  return plan.type === 'hold' && plan.mustStrip;
}

/** Returns the earliest of these times that is in the future, but at most a day from now: the clock may be set in the meantime. */
export function nextReconcileAt(now: number, candidates: readonly (number | undefined)[]): number {
  const ahead = candidates.filter((at) => at !== undefined && at > now) as number[];
  return Math.min(now + LONGEST_WAIT_MS, ...ahead);
}

/** Returns the time at which a ManagedToken that is being deleted stops waiting for its anchors; undefined if it is not being deleted. */
export function anchorDeadlineAt({ metadata }: StoredToken): number | undefined {
  const deletedAt = parseTimestamp(metadata.deletionTimestamp);
  return deletedAt && deletedAt + GIVE_UP_MS;
}

type Decision = (evaluated: EvaluatedToken, limits: TokenLimits) => TokenPlan | undefined;

const LONGEST_WAIT_MS = 86_400_000;
const GIVE_UP_MS = 600_000;

const beingDeleted: Decision = ({ observation, state, now }) => {
  const { token } = observation;
  if (token.metadata.deletionTimestamp === undefined) return undefined;
  if (observation.failed !== undefined) return { ...toHold(state, now), failure: observation.failed };
  if (observation.isDeletingAnchors) return toHold(state, now);
  const isAnchored = anchorsOf(token).length > 0;
  if (!isAnchored && hasAnchorFinalizer(token)) return { type: 'release', anchor: 'none' };
  // While a finalizer of another controller keeps the object, the Secret stays, and an expired token must still be removed from it.
  if (!isAnchored) return state.secret === undefined ? { type: 'none' } : toHold(state, now);
  return { type: 'release', anchor: now < (anchorDeadlineAt(token) ?? 0) ? 'delete' : 'orphaned' };
};

/**
 * Only a token with an anchor can be revoked. Revocation precedes issuance, so a failing issuance does not prevent a revocation. A failing
 * revocation prevents issuance, but neither withdrawal nor the removal of a token that must leave the Secret.
 */
const revoked: Decision = ({ observation, state, now }) => {
  const { revokeRequest } = state;
  if (revokeRequest === undefined || anchorsOf(observation.token).length === 0) return undefined;
  if (observation.failed !== undefined) return { ...toHold(state, now), failure: observation.failed };
  if (observation.isDeletingAnchors) return toHold(state, now);
  return { type: 'revoke', request: revokeRequest, secrets: ownedSecretNames(observation) };
};

const ownedByOthers: Decision = ({ observation, state, now }) => {
  const conflict = findConflict(observation);
  return conflict && { ...toHold(state, now), failure: secretConflictFailure(conflict) };
};

const suspended: Decision = ({ observation, state, now }) => {
  if (!observation.token.spec.rotation.suspend) return undefined;
  return { ...toHold(state, now), mustStrip: state.hasToken && (state.expired || isForAnotherSpec(state)) };
};

const invalid: Decision = ({ observation, state, now }, limits) => {
  const problems = specProblems(observation.token, limits);
  return problems.length === 0 ? undefined : { ...toHold(state, now), failure: invalidSpecFailure(problems.map(formatFieldError)) };
};

const clusterMissing: Decision = ({ observation: { token, cluster }, state, now }) => {
  return cluster === undefined ? { ...toHold(state, now), failure: tokenFailure('ClusterNotFound', token) } : undefined;
};

const issuanceNeeded: Decision = ({ observation, state, now }) => {
  const reason = findIssueReason(state, observation, now);
  if (reason === undefined) return undefined;
  if (observation.failed !== undefined) return { ...toHold(state, now), failure: observation.failed };
  const at = earliestIssueAt(reason, state, now);
  if (at > now) return { ...toHold(state, now), until: nextReconcileAt(now, [at]) };
  const expectsAccount = reason === 'RotationDue' || reason === 'RotationRequested';
  const accountUID = expectsAccount ? state.record?.issuedFor.accountUID : undefined;
  return {
    type: 'issue',
    reason,
    write: chooseWrite(observation.secret),
    mustDropOld: state.hasToken && isToBeDropped(state),
    needsNewAnchor: state.revokeRequest !== undefined,
    ...(accountUID && { accountUID }),
    ...(state.record && { previous: state.record }),
  };
};

/** Keeps the Secret: no token is written next to addresses and certificates that are not pinned. */
const notWritable: Decision = ({ observation: { unwritable }, state, now }) => {
  if (unwritable === undefined) return undefined;
  return { ...toHold(state, now), failure: unwritable, until: nextReconcileAt(now, [state.renewAt]) };
};

const secretDiffers: Decision = ({ observation, state: { secret, record } }) => {
  if (secret === undefined || record === undefined) return undefined;
  const { token, cluster, outputsDigest = '', writtenDigest } = observation;
  const isCurrent =
    secret === observation.secret &&
    chooseWrite(secret) === 'update' &&
    writtenDigest === toSecretDigest(outputsDigest, secret.dataDigest) &&
    hasMetadata(secret.metadata, desiredMetadata({ token, record, cluster, existing: secret.metadata }));
  return isCurrent ? undefined : { type: 'rewrite', from: secret.metadata.name, write: chooseWrite(observation.secret), record };
};

const formerSecrets: Decision = ({ observation }) => {
  const secrets = ownedSecretNames({ ...observation, secret: undefined });
  return secrets.length > 0 ? { type: 'remove', secrets } : undefined;
};

/** Makes room in status.anchors for the location of the next token; the anchor of the current token stays until another plan deletes it. */
const anchorsFull: Decision = ({ observation: { token, anchorsAt = 0, isDeletingAnchors }, state, now }) => {
  if (token.spec.revocation !== 'BoundSecret' || hasRoomForAnchor(token) || anchorsAt > now) return undefined;
  if (isDeletingAnchors) return toHold(state, now);
  const recorded = parseRecordedAnchor(token, state.record);
  return { type: 'prune', entries: withoutEntries(formerAnchors(token), recorded ? [recorded] : []) };
};

/**
 * Deletes the anchors that tokens of this spec do not need. A token for another spec has been removed from the Secret by then. The record
 * of a token does not protect its anchor, because tenants can forge the record.
 */
const anchorsLeft: Decision = ({ observation: { token, anchorsAt = 0, isDeletingAnchors }, now }) => {
  const entries = anchorsAt > now || isDeletingAnchors ? [] : formerAnchors(token);
  return entries.length > 0 ? { type: 'prune', entries } : undefined;
};

const finalizerUnused: Decision = ({ observation: { token } }) => {
  const isUnused = token.spec.revocation !== 'BoundSecret' && hasAnchorFinalizer(token) && anchorsOf(token).length === 0;
  return isUnused ? { type: 'release', anchor: 'none' } : undefined;
};

const verificationDue: Decision = ({ observation: { verifyAt }, now }) =>
  verifyAt !== undefined && verifyAt <= now ? { type: 'verify' } : undefined;

/** Rules of the plan; the first that applies decides. */
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

/**
 * Returns the cleanup to do before a hold: the deletion of other Secrets with tokens that must not stay, then of former anchors. These
 * deletions must not wait for a token that cannot be issued. Returns the hold itself if the current token must be removed from the Secret
 * first, or if there is nothing to clean up.
 */
function cleanUpFirst(evaluated: EvaluatedToken, limits: TokenLimits, plan: HoldPlan): TokenPlan {
  const { token, anchorsAt } = evaluated.observation;
  if (plan.mustStrip) return plan;
  const secrets = findStaleSecrets(evaluated);
  if (secrets.length > 0) return { type: 'remove', secrets };
  if (formerAnchors(token).length === 0) return plan;
  return anchorsLeft(evaluated, limits) ?? { ...plan, until: nextReconcileAt(evaluated.now, [plan.until, anchorsAt]) };
}

/**
 * Returns the names of former Secrets whose token has expired, was altered, was issued for another spec or has no valid record. The Secret
 * with the current token is excluded.
 */
function findStaleSecrets({ observation, state, now }: EvaluatedToken): readonly string[] {
  const isStale = (secret: StoredSecret) => {
    const { hasToken, record, ...rest } = deriveSecretState(secret, observation, now);
    return secret !== state.secret && hasToken && (record === undefined || isToBeDropped(rest));
  };
  return ownedSecretNames({ ...observation, secret: undefined, former: observation.former.filter(isStale) });
}

/** Returns a hold, which removes a token that has expired, was altered or was issued for another spec. */
function toHold({ hasToken, record, expired, ...state }: TokenState, now: number): Pick<HoldPlan, 'type' | 'mustStrip' | 'until'> {
  const until = hasToken && record !== undefined && !expired ? nextReconcileAt(now, [record.expiresAt]) : undefined;
  return { type: 'hold', mustStrip: hasToken && isToBeDropped({ expired, ...state }), ...(until !== undefined && { until }) };
}

/**
 * Returns whether the token was issued for another spec. A token for a re-created Cluster stays in the Secret until a new token replaces
 * it: a user who may re-create Clusters must not be able to empty Secrets.
 */
function isForAnotherSpec({ superseded }: Pick<TokenState, 'superseded'>): boolean {
  return superseded !== undefined && superseded !== 'ClusterReplaced';
}

function isToBeDropped(state: Pick<TokenState, 'superseded' | 'expired' | 'forged'>): boolean {
  return isForAnotherSpec(state) || state.expired || state.forged;
}

function chooseWrite(secret: StoredSecret | undefined): SecretWrite {
  if (secret === undefined) return 'create';
  return secret.immutable || secret.type !== 'Opaque' ? 'replace' : 'update';
}

/** One rule of issuance; returns undefined if the rule does not apply. */
type Check = (state: TokenState, observation: TokenObservation, now: number) => IssueReason | undefined;

/** Returns the reason to issue a token; undefined if no token must be issued. */
function findIssueReason(state: TokenState, observation: TokenObservation, now: number): IssueReason | undefined {
  for (const check of REASONS) {
    const reason = check(state, observation, now);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/**
 * Returns the earliest time for an issuance with this reason: ten seconds after the last one and, for a renewal, not before
 * `earliestRenewAt`. Drift and explicit requests wait for two seconds only.
 */
function earliestIssueAt(reason: IssueReason, { record, lastIssuedAt }: TokenState, now: number): number {
  if (PROMPT_REASONS.has(reason)) return lastIssuedAt + PROMPT_SPACING_MS;
  const spacedAt = lastIssuedAt + SPACING_MS;
  return reason === 'RotationDue' && record !== undefined && record.issuedAt <= now
    ? Math.max(spacedAt, earliestRenewAt(record))
    : spacedAt;
}

const SPACING_MS = 10_000;
/** Minimum time between issuances for PROMPT_REASONS, in milliseconds: the watch must first deliver Purser's own write to the Secret. */
const PROMPT_SPACING_MS = 2_000;
const PROMPT_REASONS: ReadonlySet<IssueReason> = new Set([
  'SecretMissing',
  'TokenMissing',
  'TokenAltered',
  'RotationRequested',
  'RevocationRequested',
]);

/**
 * Requires a new token for a pending revocation if there is no Secret, or if the anchor of the token is not in status.anchors: the issuance
 * replaces the anchor.
 */
const revocationPending: Check = ({ secret, record, revokeRequest }, { token }) => {
  if (revokeRequest === undefined) return undefined;
  return secret === undefined || findUnlistedAnchor(token, record) !== undefined ? 'RevocationRequested' : undefined;
};

const secretMissing: Check = ({ secret }) => (secret === undefined ? 'SecretMissing' : undefined);

const recordDamaged: Check = ({ record, hasToken }) => {
  if (record !== undefined) return undefined;
  return hasToken ? 'TokenAltered' : 'TokenMissing';
};

const issuedForAnother: Check = ({ superseded }) => superseded;

const issuedWithAnother: Check = ({ hasOtherCredential }) => (hasOtherCredential ? 'CredentialReplaced' : undefined);

const issuedForFormerAPI: Check = ({ hasOtherAudiences }) => (hasOtherAudiences ? 'APIAudiencesChanged' : undefined);

const tokenExpired: Check = ({ expired }) => (expired ? 'RotationDue' : undefined);

const tokenMissing: Check = ({ hasToken }) => (hasToken ? undefined : 'TokenMissing');

const tokenAltered: Check = ({ forged }) => (forged ? 'TokenAltered' : undefined);

const tokenRejected: Check = ({ rejected }) => (rejected ? 'TokenRejected' : undefined);

const rotationRequested: Check = ({ record }, { token }) => {
  const request = requestOf(token, Annotation.rotate);
  return request !== undefined && request !== record?.rotateRequest ? 'RotationRequested' : undefined;
};

const renewalDue: Check = ({ renewAt }, _, now) => (renewAt !== undefined && renewAt <= now ? 'RotationDue' : undefined);

/** Rules of issuance; the first that applies names the reason. */
const REASONS: readonly Check[] = [
  revocationPending,
  secretMissing,
  recordDamaged,
  issuedForAnother,
  issuedWithAnother,
  issuedForFormerAPI,
  tokenExpired,
  tokenMissing,
  tokenAltered,
  tokenRejected,
  rotationRequested,
  renewalDue,
];
