// Issues a token: review, anchor, TokenRequest on the target cluster, and the write of the Secret.

import { Annotation } from '../api/names.ts';
import { toServiceAccountUsername } from '../kubernetes/service-account.ts';
import { computeDigest } from '../std/digest.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import type { Sensitive } from '../std/sensitive.ts';
import { deleteAnchor, ensureAnchor } from '../targets/anchors.ts';
import { IssueError, toIssueError } from '../targets/issue-error.ts';
import { issueToken } from '../targets/issue-token.ts';
import { type Grant, type IssueDetails, toAnchorName, toTargetTokenRequest } from '../targets/policy/grant.ts';
import type { IssuingCredential } from '../targets/policy/registration.ts';
import { type RegisteredCluster, toIssuingCredential } from '../targets/registry.ts';
import { checkAcceptedByAPI } from '../targets/reviews.ts';
import type { Target } from '../targets/target.ts';
import { recordAnchor, reportUnlistedAnchor } from './anchors.ts';
import { unrevokedEvents } from './events.ts';
import { resolveOutputs, withRegistration } from './observe.ts';
import { type OutputContent, outputsForAPI } from './outputs/outputs.ts';
import { parseRecordedAnchor } from './policy/anchors.ts';
import { type IssuePlan, planToken, type SecretWrite, type TokenPlan } from './policy/plan.ts';
import { createRecord, requestOf, type TokenRecord, toIssuanceDigest } from './policy/record.ts';
import { desiredSecret, toDataDigest, toOutputsDigest, toSecretDigest } from './policy/secret.ts';
import { areAudiencesAllowed, type StoredToken } from './policy/spec.ts';
import { type EvaluatedToken, evaluateToken, type TokenObservation, type TokenState } from './policy/state.ts';
import type { Step, TokenRun } from './run.ts';
import { isRepair, recordRepair, refetchSecret, stripSecret, toPausedStep, writeSecret } from './secrets.ts';
import { handleRefusal } from './withdrawal.ts';

/** Issues a token and writes it. `isReviewed` is true if a review in this run already allowed the issuance. */
export async function issue(run: TokenRun, plan: IssuePlan, evaluated: EvaluatedToken, isReviewed: boolean): Promise<Step> {
  const { observation } = evaluated;
  const { token } = observation;
  const paused = toPausedStep(run, plan, evaluated);
  if (paused !== undefined) return plan.mustDropOld ? { ...paused, observation: await stripSecret(run, observation) } : paused;
  // A Secret that existed may have lost the label that the informer selects by.
  if (plan.write === 'create' && token.status?.issuedAt !== undefined) {
    const refetched = await refetchSecret(run, observation);
    if (refetched.secret !== undefined) return { observation: refetched, isDone: false };
  }
  return isReviewed ? await issueAllowed(run, plan, evaluated) : await issueIfAllowed(run, plan, evaluated);
}

/**
 * Reviews the permission, then issues the token. Unlike in `confirmPermission`, the last known permission still applies: an open circuit
 * may be reported before the review, and a failed review does not hide the Cluster.
 */
async function issueIfAllowed(run: TokenRun, plan: IssuePlan, evaluated: EvaluatedToken): Promise<Step> {
  const { token } = evaluated.observation;
  await run.clients.use(requireRegistered(run, token), async (target) => target.rejectIfOpen());
  const review = await run.authorizer.review(token, run.signal);
  if (review.allowed) {
    run.tracked.reviewedClusterSet = review.clusterSet;
    return await issueAllowed(run, plan, evaluated);
  }
  const failure = { reason: 'Forbidden', message: review.message } as const;
  return { failure, ...(await handleRefusal(run, evaluated.observation, review)) };
}

async function issueAllowed(run: TokenRun, plan: IssuePlan, { observation, state }: EvaluatedToken): Promise<Step> {
  rejectUnwritable(run, observation.token);
  const { token: observed } = observation;
  const { token, events: orphaned } = isBound(observed) ? await recordAnchor(run, observed) : { token: observed, events: [] };
  // The Cluster may have joined or left a set since the review. The request below uses the Cluster as it is now.
  if (run.view.clusterSetOf(token.spec.clusterName) !== run.tracked.reviewedClusterSet) {
    return { observation: withRegistration(run, { ...observation, token }), isDone: false, events: orphaned };
  }
  const { grant, isAccountNew, issuingCredential, outputs } = await requestToken(run, plan, token, state);
  const tokenDigest = computeDigest(grant.token.reveal());
  const record = createRecord({ token, issuingCredential, grant, tokenDigest, previous: plan.previous });
  const isReverted = isRepair(run, plan, observation);
  const current = withRegistration(run, { ...observation, token });
  const { observation: written, dropped } = await writeToken(run, plan, current, { record, token: grant.token, outputs });
  // Another leader may have written the Secret and its digest in the status, and the informer may not have delivered the status yet.
  if (dropped === 'rewrite') return { observation: written, isDone: true, requeueAt: run.clock.now() + OUTDATED_MS };
  if (dropped !== undefined) return { observation: written, isDone: false };
  const issuedDigest = run.recordKey.sign(token, toIssuanceDigest(tokenDigest, record));
  run.tracked.issuedDigest = issuedDigest;
  if (isReverted) recordRepair(run, token);
  const issued = isAccountNew ? 'ServiceAccountRecreated' : plan.reason;
  const events = [...orphaned, ...unrevokedEvents(plan, token), ...reportUnlistedAnchor(run, token, state)];
  // The pending revoke request does not apply to the new token, whose anchor is new.
  const revoked = plan.needsNewAnchor ? requestOf(token, Annotation.revoke) : undefined;
  // Success clears an earlier failure of this run.
  const next = { ...written, issuedDigest, ...(revoked && { revoked }) };
  return { observation: next, isDone: false, issued, events, failure: undefined, error: undefined };
}

/** Returns whether tokens of this spec are bound to an anchor. */
function isBound({ spec }: StoredToken): boolean {
  return spec.revocation === 'BoundSecret';
}

/** Throws an IssueError, before a token is requested, if the token could not be written or its default audiences are not allowed. */
function rejectUnwritable(run: TokenRun, token: StoredToken): void {
  const registered = requireRegistered(run, token);
  resolveOutputs(token, run.clients.endpointsOf(registered));
  const { apiAudiences = [] } = registered.cluster.status ?? {};
  if (apiAudiences.length > 0) checkDefaultAudiences(run, token, apiAudiences);
}

function requireRegistered({ view }: TokenRun, { spec }: StoredToken): RegisteredCluster {
  const registered = view.registry.registered(spec.clusterName);
  if (registered === undefined) throw new IssueError('ClusterNotFound');
  return registered;
}

/** A granted token and the registration that it was issued with. */
interface Requested {
  readonly grant: Grant;
  /** True if the service account was re-created since the last token. */
  readonly isAccountNew: boolean;
  readonly issuingCredential: IssuingCredential;
  /** Content of the Secret except the token, with the address and CA that the credential for the cluster pins. */
  readonly outputs: OutputContent;
}

/**
 * Requests a token, and once more if the service account was re-created, or the anchor was deleted or re-created. Throws an IssueError if
 * no usable token is issued.
 */
async function requestToken(run: TokenRun, plan: IssuePlan, token: StoredToken, state: TokenState): Promise<Requested> {
  const registered = requireRegistered(run, token);
  return await run.clients.use(registered, async (target) => {
    const issuedWith = { issuingCredential: toIssuingCredential(registered), outputs: resolveOutputs(token, target.endpoints) };
    const request = async (accountUID: string | undefined, knownAnchor: string | undefined) => {
      const anchorUID = isBound(token) ? (knownAnchor ?? (await ensureAnchorFor(run, token, target))) : undefined;
      const details = omitUndefined<IssueDetails>({ accountUID, anchorUID, apiAudiences: registered.cluster.status?.apiAudiences });
      const wanted = toTargetTokenRequest(token, details, run.settings.limits);
      const grant = await issueToken(target, wanted, run.signal);
      run.tracked.recordIssuance(run.clock);
      run.verification.recordIssuance();
      checkDefaultAudiences(run, token, grant.audiences);
      await checkOutputs(run, target, token, grant);
      return grant;
    };
    try {
      if (plan.needsNewAnchor) await deleteAnchor(target, anchorFor(token), run.signal);
      const knownAnchor = plan.needsNewAnchor ? undefined : findKnownAnchorUID(token, state);
      return { grant: await request(plan.accountUID, knownAnchor), isAccountNew: false, ...issuedWith };
    } catch (error) {
      const { reason } = toIssueError(error, run.signal);
      if (reason !== 'ServiceAccountRecreated' && !(reason === 'BoundObjectNotFound' && isBound(token))) throw error;
      return { grant: await request(undefined, undefined), isAccountNew: reason === 'ServiceAccountRecreated', ...issuedWith };
    }
  });
}

/**
 * Throws an IssueError if the spec names no audiences, and the default audiences, which are those of the target's API server, are missing
 * or not allowed.
 */
function checkDefaultAudiences({ settings }: TokenRun, { spec }: StoredToken, audiences: readonly string[]): void {
  if (spec.audiences !== undefined) return;
  if (audiences.length === 0) throw new IssueError('ResponseUntrusted', 'the response contains no audiences');
  if (!areAudiencesAllowed(audiences, settings.limits)) throw new IssueError('InvalidSpec', DEFAULT_NOT_ALLOWED);
}

const DEFAULT_NOT_ALLOWED =
  "spec.audiences is not set, and Purser does not allow the audiences of the cluster's API server. Set spec.audiences";

/**
 * Calls `checkAcceptedByAPI`, and throws its errors, if an output is for the target's API server: that server must accept the audiences of
 * the token.
 */
export async function checkOutputs(
  { signal }: TokenRun,
  target: Target,
  { spec }: StoredToken,
  { token, audiences }: Pick<Grant, 'token' | 'audiences'>,
): Promise<void> {
  if (outputsForAPI(spec.secret).length === 0) return;
  await checkAcceptedByAPI(target, { token, subject: toServiceAccountUsername(spec.serviceAccount), audiences }, signal);
}

/**
 * Returns the UID of the recorded anchor; undefined if none is recorded, or if the token is superseded, was issued with another credential
 * or was rejected, because its anchor may be missing or in another location. With a known UID, a renewal needs no extra requests for the
 * anchor.
 */
function findKnownAnchorUID(token: StoredToken, { record, superseded, hasOtherCredential, rejected }: TokenState): string | undefined {
  return superseded !== undefined || hasOtherCredential || rejected ? undefined : parseRecordedAnchor(token, record)?.uid;
}

function ensureAnchorFor({ signal }: TokenRun, token: StoredToken, target: Target): Promise<string> {
  return ensureAnchor(target, anchorFor(token), token.spec.serviceAccount.name, signal);
}

function anchorFor({ metadata, spec }: StoredToken) {
  return { namespace: spec.serviceAccount.namespace, name: toAnchorName(metadata.uid) };
}

/** A token and its record. */
export interface TokenToWrite {
  readonly record: TokenRecord;
  readonly token: Sensitive<string>;
  /** Content of the Secret except the token, with the address and CA that the credential for the cluster pins. */
  readonly outputs: OutputContent;
}

const MAX_WRITES = 4;

/** Delay before the next reconcile if another leader may have written a token first, in milliseconds. */
const OUTDATED_MS = 1_000;

/**
 * Writes a token. If the Secret has changed, plans again; if the new plan needs no token, drops the token and returns the type of that plan
 * as `dropped`. Throws an IssueError if the Secret keeps changing.
 */
async function writeToken(
  run: TokenRun,
  plan: Pick<IssuePlan, 'write'>,
  observation: TokenObservation,
  issued: TokenToWrite,
): Promise<{ readonly observation: TokenObservation; readonly dropped?: TokenPlan['type'] }> {
  const { lastIssuedAt: _, ...observed } = observation;
  let current: TokenObservation = observed;
  let { write } = plan;
  for (let writes = 1; writes <= MAX_WRITES; writes++) {
    const written = await writeIssued(run, current, issued, write);
    if (written !== undefined) return { observation: written };
    current = await refetchSecret(run, current);
    const again = planToken(evaluateToken(current, run.clock.now()), run.settings.limits);
    if (again.type !== 'issue') return { observation: current, dropped: again.type };
    write = again.write;
  }
  throw new IssueError('SecretWriteFailed', 'another client keeps changing it. Stop the client, or change spec.secret.name');
}

/** Writes the Secret for a token. Returns the new observation; undefined if the Secret no longer has the observed version. */
export async function writeIssued(
  run: TokenRun,
  observation: TokenObservation,
  { record, token: text, outputs }: TokenToWrite,
  write: SecretWrite,
): Promise<TokenObservation | undefined> {
  const { token, cluster, secret: existing } = observation;
  const wanted = desiredSecret(
    { token, record, cluster, content: outputs, ...(existing && { existing: existing.metadata }) },
    text.reveal(),
  );
  const secret = await writeSecret(run, observation, { wanted, write });
  if (secret === undefined) return undefined;
  run.tracked.writtenDigest = toSecretDigest(toOutputsDigest(outputs), toDataDigest(wanted.data ?? {}));
  const { name, uid } = secret.metadata;
  if (run.tracked.writtenSecret?.uid !== uid) run.tracked.writtenSecret = { name, uid };
  const { writtenDigest, writtenSecret } = run.tracked;
  return { ...observation, secret, writtenDigest, writtenSecret };
}
