// Renewal of one credential: requests a token for Purser's own service account, proves that the cluster accepts it, and stores it on the
// hub. The replaced token stays valid until it expires or its anchor is deleted.

import { Label, LabelValue } from '../api/names.ts';
import { RenewalEventReason } from '../api/reasons.ts';
import { type Secret, Secrets, type Stored } from '../api/resources.ts';
import { parseServiceAccount, parseServiceAccountNamespace } from '../kubernetes/service-account.ts';
import { computeDigest } from '../std/digest.ts';
import type { Sensitive } from '../std/sensitive.ts';
import { toSentence } from '../std/sentence.ts';
import { toWholeSecond } from '../std/timestamp.ts';
import { readCredential, readCredentialInUse, readTokenInUse } from '../targets/credential.ts';
import { IssueError, rethrowAsIssueError } from '../targets/issue-error.ts';
import { issueOwnToken } from '../targets/issue-token.ts';
import { deleteOwnAnchor, ensureOwnAnchor, listOwnAnchors } from '../targets/own-anchors.ts';
import type { Grant } from '../targets/policy/grant.ts';
import {
  isOverwritable,
  MAX_RECORDED,
  type OwnAnchor,
  type RenewalRecord,
  type ReplacedAnchor,
  renewRequestOf,
  revokeRequestOf,
  toRenewedName,
  toRenewedSecret,
  toReplacedAnchors,
} from '../targets/policy/renewed-secret.ts';
import { parseTokenClaims } from '../targets/policy/token-claims.ts';
import { type RegisteredCluster, reduceCredential } from '../targets/registry.ts';
import { findOwnUsername } from '../targets/reviews.ts';
import type { Target } from '../targets/target.ts';
import type { CredentialRun } from './run.ts';

/** Renews the token in use. Throws an IssueError if that fails, or the reason of the run's signal if the signal aborts. */
export async function renew(run: CredentialRun, registered: RegisteredCluster): Promise<void> {
  // Without a record, Purser must list Secrets on the cluster to find the anchors of earlier tokens.
  const isUnrecorded = run.record === undefined;
  await store(run, registered, await run.clients.use(registered, (target) => obtain(run, target, isUnrecorded)));
}

/**
 * Requests the next token with the registered token or, if the cluster rejects that token, with the renewed one, which may still be valid
 * if Purser's clock is ahead. Throws an IssueError if that fails, or the reason of the run's signal if the signal aborts.
 */
export async function recover(run: CredentialRun, registered: RegisteredCluster): Promise<void> {
  const { clients, credential } = run;
  // If the record was restored from a backup, it does not list the anchors of later tokens.
  const request = (target: Target) => obtain(run, target, true);
  const obtained = await clients.useOnce(registered, readRegisteredToken(credential), request).catch(async (error: unknown) => {
    if (!(error instanceof IssueError) || error.reason !== 'CredentialRejected') throw error;
    return await clients.use(registered, request);
  });
  await store(run, registered, obtained);
}

/**
 * Checks that the cluster accepts a new token, and writes the token to the hub. If `obtained` is undefined, records instead that Purser
 * cannot renew the token in use. Throws an IssueError if the check or the write fails.
 */
async function store(run: CredentialRun, registered: RegisteredCluster, obtained: Obtained | undefined): Promise<void> {
  const { clock, credential, state, log, key, users, recorder } = run;
  if (obtained === undefined) {
    state.foreignDigest = run.token?.digest ?? '';
    log.info({ key }, 'credential not renewed: its user is not a service account');
    return;
  }
  await proveNewToken(run, registered, obtained);
  const record = toRecord(run, obtained);
  const written = await writeRenewed(run, toRenewedSecret(credential, obtained.grant.token, record));
  const now = clock.monotonic();
  // The new record lists only anchors that were not deleted.
  state.deletedAnchors.clear();
  Object.assign(state, {
    latest: written,
    former: undefined,
    renewedDigest: record.registeredDigest,
    failures: 0,
    failure: undefined,
    renewNotBefore: now + MIN_WRITE_INTERVAL_MS,
    // Deletions that failed with the former token may succeed with the new one.
    deleteFailures: 0,
    deleteFailure: undefined,
    deleteNotBefore: -Infinity,
    restores: 0,
    restoreNotBefore: now + MIN_WRITE_INTERVAL_MS,
  } satisfies Partial<typeof state>);
  log.info({ key, expiresAt: new Date(record.expiresAt).toISOString(), isBound: obtained.anchor !== undefined }, 'credential renewed');
  const message = toSentence(RenewalEventReason.CredentialRenewed);
  for (const { cluster } of users) recorder.record(cluster, { type: 'Normal', reason: 'CredentialRenewed', message });
}

/** Writes the latest renewed token again, because the hub has lost it. Throws an IssueError if that fails. */
export async function restore(run: CredentialRun): Promise<void> {
  const { state, clock, log, key } = run;
  if (state.latest === undefined) return;
  const { uid: _, resourceVersion: __, ...metadata } = state.latest.metadata;
  const delayMs = Math.min(MIN_WRITE_INTERVAL_MS * 2 ** state.restores, MAX_WRITE_INTERVAL_MS);
  Object.assign(state, { restores: state.restores + 1, restoreNotBefore: clock.monotonic() + delayMs } satisfies Partial<typeof state>);
  const latest = await writeRenewed(run, { metadata, type: 'Opaque', data: state.latest.data ?? {} });
  Object.assign(state, { latest, failures: 0, failure: undefined } satisfies Partial<typeof state>);
  log.warn({ key }, 'renewed credential restored');
}

/**
 * Deletes anchors of replaced tokens, except one that the credential in use is bound to, after the hub and the cluster have confirmed that
 * credential. Throws an IssueError if a step fails.
 */
export async function deleteAnchors(run: CredentialRun, registered: RegisteredCluster, anchors: readonly OwnAnchor[]): Promise<void> {
  const { state } = run;
  await runWithConfirmedCredential(run, registered, async (target, namespace) => {
    const boundTo = findBoundAnchor(target);
    for (const anchor of anchors) {
      if (anchor.uid !== boundTo) await deleteAnchor(run, target, anchor, namespace);
      state.deletedAnchors.add(anchor.uid);
    }
  });
  Object.assign(state, { deleteFailures: 0, deleteFailure: undefined } satisfies Partial<typeof state>);
}

/**
 * Returns the UID of the Secret that the credential in use is bound to; undefined if there is none. Even a registered token may be bound:
 * an administrator may have registered a copy of a renewed token.
 */
function findBoundAnchor({ credential }: Target): string | undefined {
  return credential?.type === 'token' ? parseTokenClaims(credential.token.reveal())?.boundSecretUID : undefined;
}

/**
 * Deletes one anchor. If Purser has lost its permission in the namespace of a former service account, logs that the anchor is left behind.
 * Throws an IssueError for other failures.
 */
export async function deleteAnchor(
  { signal, log, key }: CredentialRun,
  target: Target,
  anchor: OwnAnchor,
  ownNamespace: string | undefined,
) {
  try {
    await deleteOwnAnchor(target, anchor, signal);
  } catch (error) {
    if (anchor.namespace === ownNamespace || !(error instanceof IssueError) || error.reason !== 'TargetForbidden') throw error;
    log.warn({ key, anchor: `${anchor.namespace}/${anchor.name}` }, 'anchor left behind');
  }
}

/**
 * Checks that the Secrets on the hub still contain the credential in use and that the cluster accepts the credential, then runs `work` with
 * the credential, over a new connection if the credential is a token. `work` receives the namespace of Purser's service account; undefined
 * for another user. Throws an IssueError if a check fails.
 */
export async function runWithConfirmedCredential(
  { clients, token, signal }: CredentialRun,
  registered: RegisteredCluster,
  work: (target: Target, namespace: string | undefined) => Promise<void>,
): Promise<void> {
  const { credential, renewed } = await rethrowAsIssueError(clients.readSecrets(registered, signal), 'SecretReadFailed', signal);
  if (credential === undefined || readTokenInUse(credential, renewed)?.digest !== token?.digest)
    throw new IssueError('SecretReadFailed', 'the credential changed on the hub');
  const inUse = readCredentialInUse(credential, renewed);
  const confirmed = async (target: Target) => await work(target, parseServiceAccountNamespace(await findOwnUsername(target, signal)));
  if (inUse.type === 'token') await clients.useOnce(registered, inUse.token, confirmed);
  else await clients.use({ ...registered, credential, renewed }, confirmed);
}

/** Minimum time between two writes of the Secret with the renewed token, in milliseconds. */
export const MIN_WRITE_INTERVAL_MS = 10_000;
/** Maximum time between two attempts to restore the Secret with the renewed token, in milliseconds. */
const MAX_WRITE_INTERVAL_MS = 600_000;

/** A new token for Purser's service account. */
interface Obtained {
  readonly username: string;
  readonly grant: Grant;
  /** Anchor that the token is bound to; undefined if the cluster forbids anchors. */
  readonly anchor: OwnAnchor | undefined;
  /** Anchors found on the cluster, which may be missing from the record. */
  readonly found: readonly OwnAnchor[];
}

/**
 * Requests a token that is bound to an anchor, or to none if the cluster forbids anchors. Also lists existing anchors if `isUnrecorded`.
 * Returns undefined if Purser's user is not a service account, or authenticates with a certificate.
 */
async function obtain(run: CredentialRun, target: Target, isUnrecorded: boolean): Promise<Obtained | undefined> {
  const { credential, record, terms, signal } = run;
  const username = await findOwnUsername(target, signal);
  const serviceAccount = parseServiceAccount(username);
  if (serviceAccount === undefined || target.credential?.type !== 'token') return undefined;
  const current = target.credential.token.reveal();
  const claims = parseTokenClaims(current);
  const uid = claims?.subject === username ? claims.accountUID : undefined;
  const request = {
    serviceAccount: { ...serviceAccount, uid },
    registeredUID: credential.metadata.uid,
    recordedDigest: record?.tokenDigest ?? '',
  };
  const anchor = await ensureOwnAnchor(target, request, signal);
  const found = isUnrecorded && anchor !== undefined ? await findAnchors(run, target, serviceAccount.namespace) : [];
  const expirationSeconds = Math.floor(terms.lifetimeMs / 1_000);
  const bound = anchor && { boundObject: { kind: 'Secret' as const, name: anchor.name, uid: anchor.uid } };
  const grant = await issueOwnToken(target, { ...serviceAccount, expirationSeconds, ...bound }, signal);
  return { username, grant, anchor, found };
}

/** Returns the anchors on the cluster that were created for the registered Secret; none if the cluster forbids listing them. */
async function findAnchors(
  { credential, log, key, signal }: CredentialRun,
  target: Target,
  namespace: string,
): Promise<readonly OwnAnchor[]> {
  try {
    return await listOwnAnchors(target, { namespace, registeredUID: credential.metadata.uid }, signal);
  } catch (error) {
    if (!(error instanceof IssueError) || error.reason !== 'TargetForbidden') throw error;
    log.info({ key }, 'anchors not listed: the cluster forbids lists of Secrets');
    return [];
  }
}

/**
 * Checks the new token on the cluster, over a new connection. Throws an IssueError if the cluster does not accept the token, or if the
 * token belongs to another user.
 */
async function proveNewToken(
  { clients, signal }: CredentialRun,
  registered: RegisteredCluster,
  { username, grant }: Obtained,
): Promise<void> {
  let found: string;
  try {
    found = await clients.useOnce(registered, grant.token, (target) => findOwnUsername(target, signal));
  } catch (error) {
    const isRejected = error instanceof IssueError && error.reason === 'CredentialRejected';
    throw isRejected ? new IssueError('ResponseUntrusted', 'the cluster does not accept the token that it issued') : error;
  }
  if (found !== username) throw new IssueError('ResponseUntrusted', 'the token belongs to another user');
}

function toRecord(run: CredentialRun, { grant, anchor, found }: Obtained): RenewalRecord {
  return {
    registeredDigest: computeDigest(readRegisteredToken(run.credential).reveal()),
    tokenDigest: computeDigest(grant.token.reveal()),
    renewedAt: toWholeSecond(grant.issuedAt),
    expiresAt: toWholeSecond(grant.expiresAt),
    renewRequest: renewRequestOf(run.credential) ?? run.record?.renewRequest,
    revokeRequest: revokeRequestOf(run.credential) ?? run.record?.revokeRequest,
    revoked: run.record?.revoked,
    anchor,
    replaced: collectReplacedAnchors(run, anchor, found),
  };
}

/**
 * Returns the anchors to delete after the overlap: those on record in the Secret to overwrite and in Secrets that the hub has lost, and
 * those found on the cluster. Omits and logs the anchors beyond the maximum number in a record.
 */
export function collectReplacedAnchors(
  { renewed, state, clock, log, key }: CredentialRun,
  current: OwnAnchor | undefined,
  found: readonly OwnAnchor[] = [],
): readonly ReplacedAnchor[] {
  const now = clock.now();
  const recorded = [state.former, state.latest, renewed].flatMap((secret) => (secret === undefined ? [] : toReplacedAnchors(secret, now)));
  const all = [...recorded, ...found.map((anchor) => ({ ...anchor, replacedAt: toWholeSecond(now) }))];
  const left = all.filter(({ uid }) => uid !== current?.uid && !state.deletedAnchors.has(uid));
  // Of several entries for one anchor, the one with the earliest replacement applies.
  const sorted = left.toSorted((a, b) => b.replacedAt - a.replacedAt);
  const replaced = [...new Map(sorted.map((each) => [each.uid, each])).values()];
  for (const { namespace, name } of replaced.slice(MAX_RECORDED)) log.warn({ key, anchor: `${namespace}/${name}` }, 'anchor left behind');
  return replaced.slice(0, MAX_RECORDED);
}

function readRegisteredToken(secret: Stored<Secret>): Sensitive<string> {
  const credential = readCredential(secret);
  if (credential.type !== 'token') throw new IssueError('CredentialMissing', 'the registered Secret contains no token');
  return credential.token;
}

/**
 * Creates the Secret with the renewed token, or replaces the version that the informer has. Throws an IssueError if that fails, if another
 * process changed the Secret, or if the existing Secret lacks Purser's label.
 */
export async function writeRenewed({ hub, renewed, credential, signal }: CredentialRun, secret: Secret): Promise<Stored<Secret>> {
  const { namespace, name } = credential.metadata;
  if (renewed !== undefined && !isOverwritable(renewed)) {
    const text = `Secret ${namespace}/${toRenewedName(name)} exists without the label ${Label.renewed}=${LabelValue.renewed}. Delete the Secret`;
    throw new IssueError('SecretWriteFailed', text);
  }
  const writing =
    renewed === undefined
      ? hub.create(Secrets, secret, { signal })
      : hub.update(Secrets, { ...secret, metadata: { ...secret.metadata, ...versionOf(renewed) } }, { signal });
  return reduceCredential(await rethrowAsIssueError(writing, 'SecretWriteFailed', signal));
}

/** Returns the UID and version of a stored Secret, as preconditions of a write. */
export function versionOf({ metadata: { uid, resourceVersion } }: Stored<Secret>): {
  readonly uid: string;
  readonly resourceVersion: string;
} {
  return { uid, resourceVersion };
}
