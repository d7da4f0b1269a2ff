// One run of the controller for one credential: its dependencies, its state, and the Clusters that use it.

import type { Cluster } from '../api/cluster.gen.ts';
import { ClusterConditionType } from '../api/names.ts';
import type { ClusterReason } from '../api/reasons.ts';
import type { Secret, Stored } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Recorder } from '../kube/recorder.ts';
import type { Clock } from '../std/clock.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { readRenewed, readTokenInUse } from '../targets/credential.ts';
import { ignoreIssueError } from '../targets/issue-error.ts';
import { combineRenewalTerms, type RenewalTerms, type TokenInUse } from '../targets/policy/renewal.ts';
import { parseRenewal, type RenewalRecord, renewRequestOf, revokeRequestOf } from '../targets/policy/renewed-secret.ts';
import type { RegisteredCluster, Registry } from '../targets/registry.ts';
import type { Logger } from '../telemetry/logger.ts';
import { type CredentialObservation, MIN_RETRY_MS } from './policy/plan.ts';
import type { TrackedCredential, TrackedCredentials } from './tracked-credential.ts';

export interface CredentialSettings {
  /** Interval of /readyz probes of each cluster, in milliseconds. */
  readonly probeIntervalMs: number;
}

/** Shared state of all runs during one term of the controller. */
export interface CredentialDeps {
  readonly hub: KubeClient;
  readonly clients: Pick<ClusterClients, 'use' | 'useOnce' | 'endpointsOf' | 'readSecrets'>;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly settings: CredentialSettings;
  readonly registry: Registry;
  readonly tracked: TrackedCredentials;
  /** Start of the controller's term, in milliseconds since the epoch. */
  readonly startedAt: number;
}

/** One run for one credential. */
export interface CredentialRun extends CredentialDeps {
  /** `namespace/name` of the registered Secret. */
  readonly key: string;
  readonly state: TrackedCredential;
  /** The registered Secret. */
  readonly credential: Stored<Secret>;
  /** The Secret with the renewed token, as the informer has it; undefined if it does not exist. */
  readonly renewed: Stored<Secret> | undefined;
  /** Record of the latest renewal; undefined if there is none. */
  readonly record: RenewalRecord | undefined;
  /** The Clusters that use the credential, at least one. */
  readonly users: readonly RegisteredCluster[];
  /** The Cluster whose addresses Purser uses, with the latest renewed token; undefined if no registration is usable. */
  readonly registered: RegisteredCluster | undefined;
  readonly terms: RenewalTerms;
  readonly token: TokenInUse | undefined;
  readonly signal: AbortSignal;
}

/**
 * Returns the run and the observation for its plan; undefined if no Cluster uses the credential. Updates the tracked state, and sends no
 * requests.
 */
export function observe(
  deps: CredentialDeps,
  key: string,
  signal: AbortSignal,
): { readonly run: CredentialRun; readonly observation: CredentialObservation } | undefined {
  const users = deps.registry.clustersUsing(key);
  const { credential, renewed } = users[0] ?? {};
  if (credential === undefined) return undefined;
  const { clock, startedAt, settings } = deps;
  const { uid } = credential.metadata;
  const state = deps.tracked.track(key, uid);
  const terms = combineRenewalTerms(users.map(({ cluster }) => cluster));
  changeTerms(state, terms);
  const now = clock.now();
  const { secret, isLost } = trackLatest(state, credential, renewed, now);
  const record = secret && parseRenewal(secret, uid);
  const registered = findUsable(deps, users, secret);
  const token = registered && ignoreIssueError(() => readTokenInUse(credential, secret));
  if (token !== undefined) forgetFailures(state, token);
  const toWallClock = (at: number) => now + at - clock.monotonic();
  const { renewedDigest, foreignDigest, deletedAnchors } = state;
  return {
    run: { ...deps, key, state, credential, renewed, record, users, registered, terms, token, signal },
    observation: {
      uid,
      terms,
      token,
      record: registered && record,
      isRenewed: token !== undefined && token.digest === record?.tokenDigest,
      renewRequest: renewRequestOf(credential),
      revokeRequest: revokeRequestOf(credential),
      isLost,
      isRejected: users.some(({ cluster }) => isRejected(cluster)),
      probeIntervalMs: settings.probeIntervalMs,
      startedAt,
      history: {
        renewedDigest,
        foreignDigest,
        deletedAnchors,
        renewNotBefore: toWallClock(state.renewNotBefore),
        deleteNotBefore: toWallClock(state.deleteNotBefore),
        restoreNotBefore: toWallClock(state.restoreNotBefore),
      },
    },
  };
}

/** Returns whether the status of a Cluster, which only Purser writes, reports a rejected credential. */
export function isRejected({ status }: Cluster): boolean {
  const condition = status?.conditions?.find(({ type }) => type === ClusterConditionType.authorized);
  return condition?.status === 'False' && condition.reason === REJECTION_REASON;
}

const REJECTION_REASON: ClusterReason = 'CredentialRejected';

/**
 * Returns the Secret with the latest renewed token, and tracks it: the Secret on the hub or, if that Secret was deleted, edited or restored
 * from a backup, a later one that this process wrote or saw. `isLost` is true for such a later Secret.
 */
function trackLatest(
  state: TrackedCredential,
  credential: Stored<Secret>,
  renewed: Stored<Secret> | undefined,
  now: number,
): { readonly secret: Stored<Secret> | undefined; readonly isLost: boolean } {
  const onHub = ignoreIssueError(() => readRenewed(credential, renewed));
  const known = ignoreIssueError(() => readRenewed(credential, state.latest));
  const record = renewed && parseRenewal(renewed, credential.metadata.uid);
  if (isLater(known?.record, onHub?.record.renewedAt ?? record?.retiredAt, now)) return { secret: state.latest, isLost: true };
  // `former` is kept for its record of anchors, which the hub may lose. Its token is not in use, for example after a retirement.
  if (onHub === undefined) state.former = (record && renewed) ?? state.latest ?? state.former;
  state.latest = onHub && renewed;
  return { secret: renewed, isLost: false };
}

/** Returns whether a known token has not expired, and was renewed after the last change on the hub. */
function isLater(known: RenewalRecord | undefined, changedAt: number | undefined, now: number): boolean {
  return known !== undefined && known.expiresAt > now && known.renewedAt > (changedAt ?? -Infinity);
}

/**
 * Resets failures when renewal changes between Auto and Manual. With renewal Manual, keeps the latest renewed token only for its anchors,
 * because Purser does not restore it.
 */
function changeTerms(state: TrackedCredential, { isAutomatic }: RenewalTerms): void {
  if (state.isAutomatic !== isAutomatic) resetFailures(state);
  state.isAutomatic = isAutomatic;
  if (isAutomatic || state.latest === undefined) return;
  Object.assign(state, { former: state.latest, latest: undefined } satisfies Partial<TrackedCredential>);
}

function resetFailures(state: TrackedCredential): void {
  const renewNotBefore = Math.min(state.renewNotBefore, state.failedAt + MIN_RETRY_MS);
  Object.assign(state, { failures: 0, failure: undefined, renewNotBefore } satisfies Partial<TrackedCredential>);
}

/** Resets failures that concern another token, for example because an administrator has supplied a new one. */
function forgetFailures(state: TrackedCredential, { digest }: TokenInUse): void {
  if (state.failures > 0 && state.failedDigest !== digest) resetFailures(state);
}

/** Returns the first Cluster with a usable registration, together with the latest renewed Secret; undefined if there is none. */
function findUsable(
  { clients }: CredentialDeps,
  users: readonly RegisteredCluster[],
  renewed: Stored<Secret> | undefined,
): RegisteredCluster | undefined {
  return users.map((user) => ({ ...user, renewed })).find((user) => ignoreIssueError(() => clients.endpointsOf(user)) !== undefined);
}
