// The ClusterProfile of a cluster in a ManagedTokenSet: the connection settings for consumers of the cluster inventory API. It contains no
// token: the exec plugin of each consumer reads the token from the Secret of the ManagedToken.

import type { Cluster } from '../../api/cluster.gen.ts';
import type {
  AccessProvider,
  ClusterProfile,
  ClusterProfileCondition,
  ClusterProfileSpec,
  ClusterProfileStatus,
} from '../../api/cluster-profile.ts';
import { ClusterConditionType, Profile } from '../../api/names.ts';
import { ClusterReason, ProfileReason } from '../../api/reasons.ts';
import type { Stored } from '../../api/resources.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import { computeDigest } from '../../std/digest.ts';
import { encodeGoJson } from '../../std/go-text.ts';
import { toSentence } from '../../std/sentence.ts';

/** Connection to a cluster, as in the Secret of its ManagedToken. */
export interface ClusterAccess {
  /** Name of the Secret. */
  readonly secretName: string;
  readonly server: string;
  /** PEM certificates in base64; undefined for public CAs. */
  readonly authority: string | undefined;
}

/** Parts of a ClusterProfile that Purser writes. */
export interface DesiredProfile {
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: ClusterProfileSpec;
  readonly status: ClusterProfileStatus;
}

/** Digests of the parts of a ClusterProfile that Purser writes. */
export interface ProfileDigests {
  /** Digest of the label and the spec. */
  readonly main: string;
  readonly status: string;
}

/** Returns the ClusterProfile to publish for a Cluster. */
export function toDesiredProfile(cluster: Stored<Cluster>, access: ClusterAccess): DesiredProfile {
  const version = cluster.status?.version;
  return {
    labels: { [Profile.managerLabel]: Profile.manager },
    spec: { displayName: cluster.metadata.name, clusterManager: { name: Profile.manager } },
    status: {
      ...(version && { version: { kubernetes: version } }),
      conditions: toHealth(cluster),
      accessProviders: [toProvider(access)],
    },
  };
}

/**
 * Returns the health of the control plane as the Cluster reports it, without heartbeats and without the message of the condition, which may
 * contain addresses; empty if the Cluster has no Ready condition.
 */
function toHealth(cluster: Stored<Cluster>): readonly ClusterProfileCondition[] {
  const ready = findCondition(cluster, ClusterConditionType.ready);
  if (ready === undefined) return [];
  const { status, lastTransitionTime = cluster.metadata.creationTimestamp ?? '' } = ready;
  const reason = ready.reason !== undefined && Object.hasOwn(ClusterReason, ready.reason) ? (ready.reason as ClusterReason) : undefined;
  return [
    {
      type: Profile.conditionType,
      status,
      reason: reason ?? 'ReasonUnknown',
      message: reason === undefined ? '' : toSentence(ClusterReason[reason]),
      lastTransitionTime,
    },
  ];
}

function toProvider({ secretName, server, authority }: ClusterAccess): AccessProvider {
  return {
    name: Profile.provider,
    cluster: {
      server,
      ...(authority && { 'certificate-authority-data': authority }),
      extensions: [{ name: Profile.execExtension, extension: { clusterName: secretName } }],
    },
  };
}

/** Returns the digests of a ClusterProfile on the hub, without the labels, conditions and access providers of other managers. */
export function digestStoredProfile({ metadata, spec, status }: ClusterProfile): ProfileDigests {
  return digestDesiredProfile({ labels: metadata.labels ?? {}, spec, status: status ?? {} });
}

/** Returns the digests of a ClusterProfile to publish. */
export function digestDesiredProfile({ labels, spec, status }: DesiredProfile): ProfileDigests {
  const main = [labels[Profile.managerLabel], spec.displayName, spec.clusterManager.name];
  return { main: computeDigest(encodeGoJson(main)), status: digestStatus(status) };
}

function digestStatus({ version, conditions, accessProviders }: ClusterProfileStatus): string {
  return computeDigest(encodeGoJson([version?.kubernetes, conditions?.find(isOwnCondition), accessProviders?.find(isOwnProvider)]));
}

function isOwnCondition({ type }: ClusterProfileCondition): boolean {
  return type === Profile.conditionType;
}

function isOwnProvider({ name }: AccessProvider): boolean {
  return name === Profile.provider;
}

/** Merge patch of the status of a ClusterProfile. */
type StatusPatch = { readonly [K in keyof ClusterProfileStatus]: ClusterProfileStatus[K] | null };

/**
 * Returns a merge patch that removes the fields that other managers added to Purser's entries in the status; undefined if there are none.
 * Server-side apply keeps such fields, and `insecure-skip-tls-verify` in Purser's access provider would disable TLS verification.
 */
export function toProfileCleanupPatch(status: ClusterProfileStatus, desired: ClusterProfileStatus): StatusPatch | undefined {
  if (digestStatus(status) === digestStatus(desired)) return undefined;
  const { conditions = [], accessProviders = [] } = status;
  return {
    version: desired.version ?? null,
    conditions: [...conditions.filter((each) => !isOwnCondition(each)), ...(desired.conditions ?? [])],
    accessProviders: [...accessProviders.filter((each) => !isOwnProvider(each)), ...(desired.accessProviders ?? [])],
  };
}

/** Returns whether two ClusterProfiles have the same digests. */
export function isSameProfile(a: ProfileDigests, b: ProfileDigests): boolean {
  return a.main === b.main && a.status === b.status;
}

/** State of the ClusterProfilesPublished condition. */
export interface ProfilesAspect {
  readonly status: 'True' | 'False';
  readonly reason: ProfileReason;
  readonly message: string;
}

/** Returns the state of the condition for a reason; `detail` is a phrase without a capital letter or full stop, `remedy` a sentence. */
export function toProfilesAspect(
  reason: ProfileReason,
  { detail, remedy }: { readonly detail?: string; readonly remedy?: string } = {},
): ProfilesAspect {
  const cause = toSentence(detail === undefined ? ProfileReason[reason] : `${ProfileReason[reason]}: ${detail}`);
  const message = remedy === undefined ? cause : `${cause} ${remedy}`;
  return { status: reason === 'Published' ? 'True' : 'False', reason, message };
}
