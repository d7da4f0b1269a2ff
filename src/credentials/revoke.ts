// Revokes the earlier tokens of a credential, by deleting their anchors, when an administrator requests it, for example after a theft.
// Before that, Purser renews the token, so that the token in use is not revoked.

import { RenewalEventReason } from '../api/reasons.ts';
import { toSentence } from '../std/sentence.ts';
import { formatTimestamp } from '../std/timestamp.ts';
import { readCredential, readRenewed } from '../targets/credential.ts';
import { IssueError } from '../targets/issue-error.ts';
import { listOwnAnchors, toOwnAnchorName } from '../targets/own-anchors.ts';
import { toRenewedSecret } from '../targets/policy/renewed-secret.ts';
import { parseTokenClaims } from '../targets/policy/token-claims.ts';
import type { RegisteredCluster } from '../targets/registry.ts';
import { deleteAnchor, MIN_WRITE_INTERVAL_MS, runWithConfirmedCredential, writeRenewed } from './renew.ts';
import type { CredentialRun } from './run.ts';

/**
 * Deletes all anchors of the registered Secret except those of the token in use and of the next token, then records the revocation. Throws
 * an IssueError if a step fails.
 */
export async function revoke(run: CredentialRun, registered: RegisteredCluster): Promise<void> {
  const { state, credential, renewed, record, clock, log, key, users, recorder } = run;
  const inUse = readRenewed(credential, renewed);
  if (record === undefined || inUse === undefined) throw new IssueError('SecretReadFailed', 'the credential changed on the hub');
  const anchors = await deleteOthers(run, registered);
  await writeRenewed(run, toRenewedSecret(credential, inUse.token, { ...record, replaced: [], revoked: record.revokeRequest }));
  state.deletedAnchors.clear();
  Object.assign(state, {
    former: undefined,
    deleteFailures: 0,
    deleteFailure: undefined,
    // Time for the informer to receive the record before the next attempt.
    deleteNotBefore: clock.monotonic() + MIN_WRITE_INTERVAL_MS,
  } satisfies Partial<typeof state>);
  log.info({ key, anchors }, 'earlier tokens revoked');
  for (const { cluster } of users) {
    const message = [toSentence(RenewalEventReason.CredentialRevoked), ...formatRegisteredNote(run, cluster.metadata.name)].join(' ');
    recorder.record(cluster, { type: 'Normal', reason: 'CredentialRevoked', message });
  }
}

/**
 * Deletes all anchors except those of the token in use and of the next token, and returns the number of deleted anchors. Throws an
 * IssueError if that fails, or if the token in use is not bound to an anchor.
 */
async function deleteOthers(run: CredentialRun, registered: RegisteredCluster): Promise<number> {
  const { credential, record, state, signal } = run;
  const { uid: registeredUID } = credential.metadata;
  if (record?.anchor === undefined)
    throw new IssueError('TargetForbidden', 'the cluster forbids anchors, so tokens stay valid until they expire');
  const { uid: current } = record.anchor;
  // The anchor of the next renewal, which another leader may have started.
  const next = toOwnAnchorName(registeredUID, record.tokenDigest);
  let count = 0;
  await runWithConfirmedCredential(run, registered, async (target, namespace) => {
    const listed = namespace === undefined ? [] : await listOwnAnchors(target, { namespace, registeredUID }, signal);
    const all = new Map([...record.replaced, ...listed].map((anchor) => [anchor.uid, anchor]));
    for (const anchor of all.values()) {
      if (anchor.uid === current || anchor.name === next) continue;
      await deleteAnchor(run, target, anchor, namespace);
      state.deletedAnchors.add(anchor.uid);
      count += 1;
    }
  });
  return count;
}

/** Returns sentences about a registered token that stays valid because it is not bound to a Secret; none for any other credential. */
function formatRegisteredNote({ credential, clock, key }: CredentialRun, cluster: string): readonly string[] {
  const registered = readCredential(credential);
  if (registered.type !== 'token') return [];
  const { expiresAt, boundSecretUID } = parseTokenClaims(registered.token.reveal()) ?? {};
  if (boundSecretUID !== undefined || (expiresAt !== undefined && expiresAt <= clock.now())) return [];
  const until = expiresAt === undefined ? '' : ` until ${formatTimestamp(expiresAt)}`;
  return [
    `The token in the registered Secret ${key} stays valid${until}.`,
    `If that token was stolen, run purser cluster revoke ${cluster} --context CONTEXT.`,
  ];
}
