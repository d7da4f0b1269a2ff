// Writes of Secrets on the hub. Purser creates a Secret with POST, replaces only the observed version of a Secret with PUT, and never takes
// over a Secret of another owner. It backs off if another client keeps reverting its repairs.

import { Label, LabelValue } from '../api/names.ts';
import type { IssueReason } from '../api/reasons.ts';
import { type Secret, Secrets, type Stored } from '../api/resources.ts';
import { objectKeyOf } from '../kube/paths.ts';
import { ignoreReasons, type Status, StatusError } from '../kubernetes/status.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import { IssueError, rethrowAsIssueError } from '../targets/issue-error.ts';
import { type TokenFailure, tokenFailure } from './policy/messages.ts';
import { type IssuePlan, nextReconcileAt, type RewritePlan, type SecretWrite } from './policy/plan.ts';
import { latestRetryAt } from './policy/rotation.ts';
import { holdsToken, isOwnedBy, type StoredSecret, secretNameOf, withoutToken } from './policy/secret.ts';
import type { StoredToken } from './policy/spec.ts';
import { type EvaluatedToken, findCurrentSecret, type TokenObservation } from './policy/state.ts';
import { reduceSecret } from './reduce.ts';
import type { Step, TokenRun } from './run.ts';

/**
 * Reads a Secret in the namespace of the ManagedToken; returns undefined if the Secret does not exist. Throws an IssueError if the request
 * fails.
 */
export async function readSecret({ hub, signal }: TokenRun, token: StoredToken, name: string): Promise<Stored<Secret> | undefined> {
  const { namespace } = token.metadata;
  return await rethrowAsIssueError(
    ignoreReasons(hub.get(Secrets, { namespace, name }, { signal }), 'NotFound'),
    'SecretReadFailed',
    signal,
  );
}

/** Returns the observation with the desired Secret as the server has it. */
export async function refetchSecret(run: TokenRun, observation: TokenObservation): Promise<TokenObservation> {
  const { token } = observation;
  const found = await readSecret(run, token, secretNameOf(token));
  const secret = found && reduceSecret(found);
  const isLabeled = secret?.metadata.labels?.[Label.managedBy] === LabelValue.managedBy;
  run.tracked.recordRead(isLabeled ? undefined : secret, run.clock.now());
  return { ...observation, secret };
}

/**
 * Writes a Secret. Returns undefined, and overwrites nothing, if the Secret no longer has the observed version. Throws an IssueError if the
 * request fails.
 */
export async function writeSecret(
  run: TokenRun,
  { token, secret: observed }: TokenObservation,
  { wanted, write }: { readonly wanted: Secret; readonly write: SecretWrite },
): Promise<StoredSecret | undefined> {
  const { hub, signal, clock } = run;
  if (write === 'replace' && observed !== undefined && !(await deleteSecret(run, observed))) return undefined;
  // A Secret with a former name is not tracked.
  const tracked = wanted.metadata.name === secretNameOf(token) ? run.tracked : undefined;
  tracked?.beginWrite();
  try {
    const sent = write === 'update' ? hub.update(Secrets, wanted, { signal }) : hub.create(Secrets, withoutVersion(wanted), { signal });
    const written = await rethrowAsIssueError(ignoreReasons(sent, 'AlreadyExists', 'Conflict', 'NotFound'), 'SecretWriteFailed', signal);
    const secret = written && (findInformedSecret(run, written) ?? reduceSecret(written));
    if (secret !== undefined) tracked?.recordSecretWrite(secret, observed, clock.now());
    return secret;
  } finally {
    tracked?.endWrite();
  }
}

/** Returns the informer's copy of the written Secret; undefined unless the watch delivered this version before the response arrived. */
function findInformedSecret({ view }: TokenRun, { metadata }: Secret): StoredSecret | undefined {
  const informed = view.secrets.get(objectKeyOf({ metadata }));
  return informed?.metadata.resourceVersion === metadata.resourceVersion ? informed : undefined;
}

/** Deletes this version of a Secret. Returns false if the Secret has changed; true otherwise, even if it did not exist. */
async function deleteSecret({ hub, signal }: TokenRun, { metadata }: Pick<StoredSecret, 'metadata'>): Promise<boolean> {
  const { namespace, name, uid, resourceVersion } = metadata;
  const sent = hub.delete(Secrets, { namespace, name }, { ...omitUndefined({ uid, resourceVersion }), signal });
  const deleted = ignoreReasons(sent, 'NotFound').then(() => true);
  return (await rethrowAsIssueError(ignoreReasons(deleted, 'Conflict'), 'SecretWriteFailed', signal)) ?? false;
}

/**
 * Adds to the observation, as `stray`, the Secret that Purser wrote last if tenants have removed the label or the owner reference of that
 * Secret. Throws an IssueError if the Secret cannot be read.
 */
export async function findStray(run: TokenRun, observation: TokenObservation): Promise<TokenObservation> {
  const { token, writtenSecret: written, secret, former } = observation;
  if (written === undefined) return observation;
  const known = [secret, ...former].find((each) => each?.metadata.uid === written.uid);
  if (known !== undefined && isOwnedBy(known.metadata, token)) return observation;
  const found = await readSecret(run, token, written.name);
  return found?.metadata.uid === written.uid ? { ...observation, stray: reduceSecret(found) } : observation;
}

/**
 * Deletes Secrets after a withdrawal, and removes the token from those that finalizers keep. Deletes a Secret even if it has changed:
 * otherwise, a tenant could change it constantly to keep the token. Throws an IssueError if a Secret still holds the token.
 */
export async function withdrawSecrets(run: TokenRun, observation: TokenObservation, names: readonly string[]): Promise<TokenObservation> {
  const { secret, former, stray } = observation;
  for (const each of [secret, ...former, stray]) {
    if (each !== undefined && names.includes(each.metadata.name)) await withdrawSecret(run, observation.token, each);
  }
  run.tracked.writtenSecret = undefined;
  return { ...recordDeletion(run, observation, names), stray: undefined, writtenSecret: undefined };
}

async function withdrawSecret(run: TokenRun, token: StoredToken, { metadata }: StoredSecret): Promise<void> {
  const { namespace, name, uid } = metadata;
  const { hub, signal } = run;
  // A conflict means that another Secret now has the name.
  const sent = ignoreReasons(hub.delete(Secrets, { namespace, name }, { uid, signal }), 'NotFound', 'Conflict');
  let kept = await rethrowAsIssueError(sent, 'SecretWriteFailed', signal);
  for (let attempt = 0; attempt < MAX_STRIPS; attempt++) {
    if (kept?.metadata.uid !== uid || !holdsToken(kept)) return;
    if (await strip(run, kept)) return;
    kept = await readSecret(run, token, name);
  }
  throw tokenNotRemoved('another client keeps changing it');
}

/** Maximum number of attempts to remove the token from a Secret that other clients change. */
const MAX_STRIPS = 5;

/**
 * Removes the token from this version of a Secret; returns false if that version no longer exists. Throws an IssueError if the update
 * fails.
 */
async function strip({ hub, signal }: TokenRun, secret: Stored<Secret>): Promise<boolean> {
  const sent = hub.update(Secrets, withoutToken(secret), { signal }).then(() => true);
  try {
    return (await rethrowAsIssueError(ignoreReasons(sent, 'NotFound', 'Conflict'), 'SecretWriteFailed', signal)) ?? false;
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    throw tokenNotRemoved('its token cannot be removed');
  }
}

/** Deletes Secrets of the ManagedToken. Throws a Conflict if one has changed. */
export async function deleteSecrets(run: TokenRun, observation: TokenObservation, names: readonly string[]): Promise<TokenObservation> {
  for (const secret of [observation.secret, ...observation.former]) {
    if (secret === undefined || !names.includes(secret.metadata.name)) continue;
    if (!(await deleteSecret(run, secret))) throw conflictError(secret);
  }
  return recordDeletion(run, observation, names);
}

/** Records that the Secrets were deleted, and returns the observation without them. */
function recordDeletion(run: TokenRun, observation: TokenObservation, names: readonly string[]): TokenObservation {
  const isNamed = (secret: StoredSecret | undefined) => secret !== undefined && names.includes(secret.metadata.name);
  run.tracked.recordRead(undefined, run.clock.now());
  const secret = isNamed(observation.secret) ? undefined : observation.secret;
  return { ...observation, secret, former: observation.former.filter((former) => !isNamed(former)) };
}

/**
 * Removes the token, in any encoding, from the Secret that holds it, or deletes a Secret that cannot be updated. Returns the new
 * observation; returns the same one while repairs back off, or if `findCurrentSecret` finds no Secret. Throws a Conflict if the Secret has
 * changed.
 */
export async function stripSecret(run: TokenRun, observation: TokenObservation): Promise<TokenObservation> {
  const { token } = observation;
  const current = findCurrentSecret(observation);
  const name = current?.metadata.name;
  if (name === undefined || repairPauseMs(run, token) > 0) return observation;
  if (current?.immutable || current?.type !== 'Opaque') return await deleteSecrets(run, observation, [name]);
  const found = await readSecret(run, token, name);
  if (found === undefined || !isOwnedBy(found.metadata, token)) throw conflictError(current);
  const observed = { ...observation, secret: reduceSecret(found) };
  const stripped = await writeStripped(run, observed, found);
  if (stripped === 'deleted') return recordDeletion(run, observation, [name]);
  if (stripped === undefined) throw conflictError(current);
  recordRepair(run, token);
  return withStripped(observation, current, stripped);
}

function withStripped(observation: TokenObservation, current: StoredSecret, stripped: StoredSecret): TokenObservation {
  if (current.metadata.name === secretNameOf(observation.token)) return { ...observation, secret: stripped };
  return { ...observation, former: observation.former.map((former) => (former === current ? stripped : former)) };
}

/**
 * Writes the Secret without its token. If the server would reject every update, for example of a Secret that is too large, deletes the
 * Secret and returns `deleted`. Returns undefined if the Secret has changed.
 */
async function writeStripped(
  run: TokenRun,
  observed: TokenObservation,
  found: Stored<Secret>,
): Promise<StoredSecret | 'deleted' | undefined> {
  try {
    return await writeSecret(run, observed, { wanted: withoutToken(found), write: 'update' });
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    return (await deleteSecret(run, found)) ? 'deleted' : undefined;
  }
}

function isUnwritable(error: unknown): boolean {
  return error instanceof IssueError && UNWRITABLE_CODES.has(error.status?.code ?? 0);
}

/** HTTP status codes of an update that the server would reject again. */
const UNWRITABLE_CODES: ReadonlySet<number> = new Set([400, 413, 422]);

/** Returns the error for a withdrawn token that remains in its Secret. */
function tokenNotRemoved(cause: string): IssueError {
  const message = `finalizers keep the Secret, and ${cause}. Remove the finalizers`;
  return new IssueError('SecretWriteFailed', message, { status: conflict(message) });
}

/** Returns the Conflict that the server would return: the run is retried soon, and no failure is reported. */
function conflictError(secret: StoredSecret | undefined): StatusError {
  const { name = '' } = secret?.metadata ?? {};
  return new StatusError(conflict(`secrets "${name}" has been modified`));
}

function conflict(message: string): Status {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason: 'Conflict', code: 409 };
}

function withoutVersion(secret: Secret): Secret {
  const { uid: _, resourceVersion: __, ...metadata } = secret.metadata;
  return { ...secret, metadata };
}

/**
 * Returns the last step of a run whose write backs off, or whose namespace is over its budget; undefined if the run may proceed. The next
 * run is due at the end of the pause or, if earlier, when the token is due for renewal or expires.
 */
export function toPausedStep(run: TokenRun, plan: IssuePlan | RewritePlan, { observation, state }: EvaluatedToken): Step | undefined {
  const { token } = observation;
  const now = run.clock.now();
  const issueMs = plan.type === 'issue' ? Math.max(issuePauseMs(run, state.record?.expiresAt), state.expired ? 0 : (run.budgetMs ?? 0)) : 0;
  const repairMs = isRepair(run, plan, observation) ? repairPauseMs(run, token) : 0;
  if (issueMs === 0 && repairMs === 0) return undefined;
  const requeueAt = nextReconcileAt(now, [now + Math.max(issueMs, repairMs), state.renewAt, state.record?.expiresAt]);
  return { observation, isDone: true, failure: repairMs > 0 ? revertedFailure(token) : run.tracked.failure, requeueAt };
}

/** Returns the pause after an issuance whose token could not be written, in milliseconds: short enough to replace a valid token in time. */
function issuePauseMs({ tracked, clock }: TokenRun, expiresAt: number | undefined): number {
  const { issuing, lastIssuedAt } = tracked;
  const leftMs = issuing.remainingMs(clock.monotonic());
  if (lastIssuedAt === undefined || expiresAt === undefined || expiresAt <= lastIssuedAt) return leftMs;
  return Math.max(0, Math.min(leftMs, latestRetryAt(expiresAt, lastIssuedAt) - clock.now()));
}

/** Returns whether a plan may undo a change that another client made to the Secret; true for every rewrite. */
export function isRepair({ tracked }: TokenRun, plan: IssuePlan | RewritePlan, { secret }: TokenObservation): boolean {
  if (plan.type === 'rewrite' || DRIFT_REASONS.has(plan.reason)) return true;
  return tracked.written !== undefined && tracked.written.tokenDigest !== secret?.tokenDigest;
}

const DRIFT_REASONS: ReadonlySet<IssueReason> = new Set(['SecretMissing', 'TokenMissing', 'TokenAltered']);

/** Returns the time until the next repair, in milliseconds; 0 if a repair may proceed. */
export function repairPauseMs({ tracked, clock }: TokenRun, { metadata }: StoredToken): number {
  return tracked.repairPauseMs(metadata.generation, clock.monotonic());
}

export function recordRepair({ tracked, clock }: TokenRun, { metadata }: StoredToken): void {
  tracked.recordRepair(metadata.generation, clock.monotonic());
}

function revertedFailure(token: StoredToken): TokenFailure {
  return tokenFailure('SecretWriteFailed', token, 'another client keeps reverting it. Stop the client, or change spec.secret.name');
}
