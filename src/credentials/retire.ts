// The switch back to the registered token, if Purser no longer renews a credential that it has renewed. The renewed token stays valid at
// least for the overlap, so that all replicas notice the change; the Secret with the record of anchors is removed after the anchors.

import { RenewalEventReason } from '../api/reasons.ts';
import { Secrets } from '../api/resources.ts';
import { hasReason } from '../kubernetes/status.ts';
import { toSentence } from '../std/sentence.ts';
import { toWholeSecond } from '../std/timestamp.ts';
import { readCredential, readRenewed } from '../targets/credential.ts';
import { IssueError, rethrowAsIssueError } from '../targets/issue-error.ts';
import { toRenewedSecret } from '../targets/policy/renewed-secret.ts';
import { parseTokenClaims } from '../targets/policy/token-claims.ts';
import type { RegisteredCluster } from '../targets/registry.ts';
import { findOwnUsername } from '../targets/reviews.ts';
import { collectReplacedAnchors, MIN_WRITE_INTERVAL_MS, versionOf, writeRenewed } from './renew.ts';
import type { CredentialRun } from './run.ts';

/**
 * Checks that the cluster accepts the registered credential, then removes the renewed token from the hub. Throws an IssueError on failure.
 */
export async function retire(run: CredentialRun, registered: RegisteredCluster): Promise<void> {
  const { state, credential, record, clock, log, key, users, recorder } = run;
  if (record === undefined) return;
  await proveRegistered(run, registered);
  const replaced = collectReplacedAnchors(run, undefined);
  const retired = { ...record, retiredAt: toWholeSecond(clock.now()), anchor: undefined, replaced };
  await writeRenewed(run, toRenewedSecret(credential, undefined, retired));
  state.deletedAnchors.clear();
  Object.assign(state, {
    former: undefined,
    // If renewal is set to Auto again, the registered token is renewed immediately.
    renewedDigest: '',
    failures: 0,
    failure: undefined,
    renewNotBefore: clock.monotonic() + MIN_WRITE_INTERVAL_MS,
  } satisfies Partial<typeof state>);
  log.info({ key }, 'renewed token retired');
  const message = toSentence(RenewalEventReason.CredentialRetired);
  for (const { cluster } of users) recorder.record(cluster, { type: 'Normal', reason: 'CredentialRetired', message });
}

/** Removes the Secret with the record of a retired token. Throws an IssueError if that fails, or if another process changed the Secret. */
export async function removeRecord({ hub, renewed, state, clock, signal }: CredentialRun): Promise<void> {
  if (renewed === undefined) return;
  const { namespace, name } = renewed.metadata;
  const removal = hub.delete(Secrets, { namespace, name }, { ...versionOf(renewed), signal }).catch((error: unknown) => {
    if (!hasReason(error, 'NotFound')) throw error;
  });
  await rethrowAsIssueError(removal, 'SecretWriteFailed', signal);
  const renewNotBefore = clock.monotonic() + MIN_WRITE_INTERVAL_MS;
  Object.assign(state, { failures: 0, failure: undefined, renewNotBefore } satisfies Partial<typeof state>);
}

/**
 * Checks the registered credential on the cluster, over a new connection if it is a token. Throws an IssueError if the cluster does not
 * accept the credential, or if the credential belongs to a different user than the renewed token.
 */
async function proveRegistered({ clients, credential, renewed, signal }: CredentialRun, registered: RegisteredCluster): Promise<void> {
  const supplied = readCredential(credential);
  const found =
    supplied.type === 'token'
      ? await clients.useOnce(registered, supplied.token, (target) => findOwnUsername(target, signal))
      : await clients.use(registered, (target) => findOwnUsername(target, signal));
  const inUse = readRenewed(credential, renewed);
  const expected = inUse && parseTokenClaims(inUse.token.reveal())?.subject;
  if (expected !== undefined && found !== expected)
    throw new IssueError('ResponseUntrusted', 'the registered credential belongs to another user');
}
