// Publishes ClusterProfiles for the clusters of a set. No informer follows ClusterProfiles, because not every hub serves the kind; a
// periodic list finds changes by other clients.

import type { Cluster } from '../api/cluster.gen.ts';
import type { ClusterProfile } from '../api/cluster-profile.ts';
import type { ManagedTokenSetCondition } from '../api/managed-token-set.gen.ts';
import { InventoryGroup, Profile, SetConditionType } from '../api/names.ts';
import { ClusterProfiles, type Stored } from '../api/resources.ts';
import { findCondition } from '../kubernetes/conditions.ts';
import { hasReason, ignoreReasons } from '../kubernetes/status.ts';
import { forEachBounded } from '../std/bounded.ts';
import { cleanMessage } from '../std/clean-message.ts';
import type { PinnedEndpoints } from '../targets/endpoints.ts';
import { ignoreIssueError } from '../targets/issue-error.ts';
import { resolveOutputs } from '../tokens/observe.ts';
import { isOwnedBy, secretNameOf, toOutputsDigest, toSecretDigest } from '../tokens/policy/secret.ts';
import type { StoredToken } from '../tokens/policy/spec.ts';
import { toOwnerReference } from './children.ts';
import { toControllerKey } from './informers.ts';
import {
  type ClusterAccess,
  type DesiredProfile,
  digestDesiredProfile,
  isSameProfile,
  type ProfileDigests,
  type ProfilesAspect,
  toDesiredProfile,
  toProfileCleanupPatch,
  toProfilesAspect,
} from './policy/cluster-profile.ts';
import { isControlledBy, type Member, readyConditionOf, type SetObservation } from './policy/plan.ts';
import { toChildName } from './policy/template.ts';
import type { SetRun } from './run.ts';
import type { TrackedProfile } from './tracked-profiles.ts';

/** Maximum number of concurrent requests of one set. */
const CONCURRENCY = 16;
/** Maximum number of writes, and of removals, in one run; the next run continues. */
const MAX_REQUESTS = 256;
/** Interval between lists that find changes by other clients, in milliseconds. */
const LIST_MS = 300_000;
/** Minimum time between two updates of one ClusterProfile, in milliseconds, as KEP-4322 requests. */
const UPDATE_MS = 30_000;
/**
 * Delay before the next attempt if the hub rejects a request or does not serve ClusterProfiles, and interval between lists during a name
 * conflict, in milliseconds.
 */
const RETRY_MS = 60_000;
/** Delay before the next run after a conflict, after an incomplete list, or after the condition is first written, in milliseconds. */
const CONFLICT_MS = 1_000;

/** Maximum number of ClusterProfiles per page of a list: a tenant can write 1.5 MB to each, and several sets list at the same time. */
const PAGE_LIMIT = 16;

const CRD = `clusterprofiles.${InventoryGroup}`;
const MISSING_CRD_REMEDY = `Install the CustomResourceDefinition ${CRD} of sigs.k8s.io/cluster-inventory-api, or set spec.clusterProfiles to false.`;
const FORBIDDEN_REMEDY =
  'If a permission is missing, apply deploy/base/access.yaml or update the chart; otherwise, change the quota or the admission policy.';

const OVERRIDDEN_MESSAGE =
  'the hub does not store the fields as Purser writes them. Check admission webhooks, and the version of the CustomResourceDefinition';

/** A ClusterProfile to create or to update. */
interface ProfileWrite {
  readonly name: string;
  readonly desired: DesiredProfile;
  readonly digests: ProfileDigests;
}

/**
 * Publishes the ClusterProfiles of a set, and removes those that the set no longer needs. Returns the state of the ClusterProfilesPublished
 * condition; `none` to remove the condition, undefined to keep it as it is. Throws if the run must be retried.
 */
export async function publishProfiles(run: SetRun, { members }: SetObservation): Promise<ProfilesAspect | 'none' | undefined> {
  const { profiles } = run.tracked;
  const isEnabled = run.set.spec.clusterProfiles;
  if (findRecordedCondition(run) === undefined) {
    profiles.forget();
    if (!isEnabled || members.length === 0) return 'none';
    // The condition is written before the first ClusterProfile: it records that there may be ClusterProfiles to remove.
    requeueAfter(run, CONFLICT_MS);
    return toProfilesAspect('Publishing');
  }
  const blocked = profiles.findBlock(run.clock.monotonic());
  if (blocked === undefined) return await attempt(run, isEnabled ? members : []);
  requeueAfter(run, blocked.retryAt - run.clock.monotonic());
  return blocked.failure;
}

async function attempt(run: SetRun, members: readonly Member[]): Promise<ProfilesAspect | 'none' | undefined> {
  try {
    const kept = run.set.spec.clusterProfiles ? listKeptNames(run, members) : new Set<string>();
    await refreshProfiles(run, kept);
    return run.tracked.profiles.listedAt === undefined ? undefined : await writeProfiles(run, members, kept);
  } catch (error) {
    run.signal.throwIfAborted();
    const { profiles } = run.tracked;
    const isEnabled = run.set.spec.clusterProfiles;
    if (hasReason(error, 'NotFound')) {
      profiles.forget();
      // Without the CustomResourceDefinition, there are no ClusterProfiles left to remove.
      return isEnabled ? block(run, toProfilesAspect('CustomResourceMissing', { remedy: MISSING_CRD_REMEDY })) : 'none';
    }
    if (hasReason(error, 'Forbidden')) {
      return block(run, toProfilesAspect('Forbidden', { detail: cleanMessage(error.message), remedy: FORBIDDEN_REMEDY }));
    }
    throw error;
  }
}

function block(run: SetRun, failure: ProfilesAspect): ProfilesAspect {
  run.tracked.profiles.block(failure, run.clock.monotonic() + RETRY_MS);
  requeueAfter(run, RETRY_MS);
  return failure;
}

function requeueAfter({ clock, requeue }: SetRun, ms: number): void {
  requeue(clock.now() + Math.max(ms, 1));
}

/**
 * Lists the ClusterProfiles if they are not known, and then every five minutes while the set has or needs any, or every minute during a
 * name conflict. The list contains all ClusterProfiles in the namespace that have Purser's label. A tenant can create any number of them,
 * so each page is charged to the namespace.
 */
async function refreshProfiles(run: SetRun, kept: ReadonlySet<string>): Promise<void> {
  const { hub, set, tracked, clock, budgets, signal } = run;
  const { profiles } = tracked;
  const { namespace } = set.metadata;
  if (profiles.listedAt !== undefined && kept.size === 0 && profiles.controlled.size === 0) return;
  // A conflict may end soon: the garbage collector deletes ClusterProfiles of an earlier set of the same name within seconds.
  const intervalMs = profiles.foreign.size > 0 ? RETRY_MS : LIST_MS;
  const dueIn = profiles.listedAt === undefined ? 0 : profiles.listedAt + intervalMs - clock.monotonic();
  const waitMs = dueIn > 0 ? dueIn : budgets.waitMs(namespace);
  if (waitMs > 0) return requeueAfter(run, waitMs);
  const labelSelector = `${Profile.managerLabel}=${Profile.manager}`;
  const pages = hub.pages(ClusterProfiles, { namespace, labelSelector, limit: PAGE_LIMIT, signal });
  await profiles.replace(
    chargePages(pages, () => budgets.spend('reviews', namespace)),
    set,
    kept,
  );
  profiles.listedAt = clock.monotonic();
  requeueAfter(run, LIST_MS);
}

async function* chargePages<T>(pages: AsyncIterable<T>, charge: () => void): AsyncGenerator<T> {
  for await (const page of pages) {
    charge();
    yield page;
  }
}

async function writeProfiles(run: SetRun, members: readonly Member[], kept: ReadonlySet<string>): Promise<ProfilesAspect | 'none'> {
  const { set, tracked, isCurrent } = run;
  const { profiles } = tracked;
  const isEnabled = set.spec.clusterProfiles;
  profiles.prune(kept);
  const surplus = [...profiles.controlled].filter(([name]) => !kept.has(name));
  await forEachBounded(surplus.slice(0, MAX_REQUESTS), CONCURRENCY, async ([name, { uid }]) => {
    if (isCurrent()) await removeProfile(run, name, uid);
  });
  const planned = members.flatMap((member) => planWrite(run, member));
  // A quota that rejects new ClusterProfiles must stop neither removals, which make room, nor updates.
  const writes = planned.toSorted((a, b) => Number(profiles.controlled.has(b.name)) - Number(profiles.controlled.has(a.name)));
  await forEachBounded(writes.slice(0, MAX_REQUESTS), CONCURRENCY, async (write) => {
    if (isCurrent()) await writeProfile(run, write);
  });
  const isCut = [writes, surplus].some(({ length }) => length > MAX_REQUESTS);
  if (profiles.isPartial && profiles.controlled.size <= kept.size) profiles.listedAt = undefined;
  if (isCut || profiles.isPartial || !isCurrent()) {
    requeueAfter(run, profiles.isPartial ? CONFLICT_MS : 1);
    // After a restart, writes of many ClusterProfiles take several runs, which must not change the condition.
    return toProfilesAspect(isEnabled && findRecordedCondition(run)?.reason === 'Published' ? 'Published' : 'Publishing');
  }
  return isEnabled ? reportResult(run) : 'none';
}

function findRecordedCondition({ set }: SetRun): ManagedTokenSetCondition | undefined {
  return findCondition(set, SetConditionType.clusterProfilesPublished);
}

function reportResult(run: SetRun): ProfilesAspect {
  const { set, tracked } = run;
  const { profiles } = tracked;
  const [foreign] = profiles.foreign;
  if (foreign !== undefined) {
    requeueAfter(run, RETRY_MS);
    const rest = profiles.foreign.size - 1;
    const others = rest === 0 ? '' : ` and ${rest} ${rest === 1 ? 'other' : 'others'}`;
    const objects = `ClusterProfile ${foreign}${rest === 0 ? '' : ` and the other${rest === 1 ? '' : 's'}`}`;
    const remedy = `Delete ${objects}, or re-create the set ${set.metadata.name} with another name.`;
    return toProfilesAspect('NameConflict', { detail: `${foreign}${others}`, remedy });
  }
  const rejection = profiles.firstRejection();
  return rejection === undefined ? toProfilesAspect('Published') : toProfilesAspect('WriteFailed', { detail: rejection });
}

/** Returns the names of ClusterProfiles to keep: those of members, and those of surplus ManagedTokens until their removal. */
function listKeptNames({ set, view, tracked }: SetRun, members: readonly Member[]): ReadonlySet<string> {
  const { namespace, name, uid } = set.metadata;
  const tokens = view.tokensOfSet(toControllerKey(namespace, uid)).filter(({ metadata }) => {
    return metadata.deletionTimestamp === undefined && !tracked.removed.has(metadata.uid);
  });
  return new Set([...members.map(({ clusterName }) => toChildName(name, clusterName)), ...tokens.map(({ metadata }) => metadata.name)]);
}

/**
 * Returns the connection to publish for a member: the pinned connection if Purser has written it to the Secret, or else the last connection
 * for which this process found such a write; undefined if there is none. A tenant who changes the Secret must not change the server to
 * which consumers send its token.
 */
function resolveAccess(run: SetRun, { token }: Member): ClusterAccess | undefined {
  const { set, view, tracked } = run;
  if (token === undefined || !isControlledBy(token, set.metadata.uid)) return undefined;
  const { accesses } = tracked.profiles;
  const { namespace, name } = token.metadata;
  const secret = view.secrets.get(`${namespace}/${secretNameOf(token)}`);
  const connection = resolveConnection(run, token);
  if (secret === undefined || connection === undefined || !isOwnedBy(secret.metadata, token)) return accesses.get(name);
  const isWritten = token.status?.secretDigest === toSecretDigest(connection.outputsDigest, secret.dataDigest);
  if (isWritten) accesses.set(name, connection.access);
  return accesses.get(name);
}

/** The pinned connection of a ManagedToken. */
interface Connection {
  readonly access: ClusterAccess;
  /** Digest of the outputs with this connection. */
  readonly outputsDigest: string;
}

/** Connections by ManagedToken object. Safe as a cache, because informers never modify objects. */
const CONNECTIONS = new WeakMap<StoredToken, { readonly endpoints: PinnedEndpoints; readonly connection: Connection | undefined }>();

/** Returns the pinned connection; undefined if the registration of the cluster, or spec.secret.server, is not usable. */
function resolveConnection({ view, clients }: SetRun, token: StoredToken): Connection | undefined {
  const registered = view.registry.registered(token.spec.clusterName);
  const endpoints = registered && ignoreIssueError(() => clients.endpointsOf(registered));
  if (endpoints === undefined) return undefined;
  const known = CONNECTIONS.get(token);
  if (known?.endpoints === endpoints) return known.connection;
  const content = ignoreIssueError(() => resolveOutputs(token, endpoints));
  const connection = content && {
    access: { secretName: secretNameOf(token), server: content.server, authority: content.caBundle },
    outputsDigest: toOutputsDigest(content),
  };
  CONNECTIONS.set(token, { endpoints, connection });
  return connection;
}

/** Returns a list with the due write of a member's ClusterProfile; empty if none is due. Requests a run for a write that is due later. */
function planWrite(run: SetRun, member: Member): readonly ProfileWrite[] {
  const { set, view, clock, tracked } = run;
  const { profiles } = tracked;
  const name = toChildName(set.metadata.name, member.clusterName);
  const access = resolveAccess(run, member);
  const cluster: Stored<Cluster> | undefined = view.registry.clusters.get(member.clusterName);
  if (access === undefined || cluster === undefined || profiles.foreign.has(name)) return [];
  const known = profiles.controlled.get(name);
  if (known === undefined && !isReady(run, member)) return [];
  const next = renderProfile(cluster, access);
  if (known !== undefined && isSameProfile(known.digests, next.digests)) {
    profiles.accept(name);
    return [];
  }
  if (profiles.isOverridden(name, next.digests)) return [];
  const waitMs = profiles.writableAt(name, UPDATE_MS) - clock.monotonic();
  if (waitMs <= 0) return [{ name, ...next }];
  requeueAfter(run, waitMs);
  return [];
}

type RenderedProfile = Omit<ProfileWrite, 'name'>;

/**
 * Latest rendering for each connection, which is an immutable object. Computing the digests of all certificates in each run would be slow.
 */
const RENDERINGS = new WeakMap<ClusterAccess, RenderedProfile & { readonly cluster: Stored<Cluster> }>();

function renderProfile(cluster: Stored<Cluster>, access: ClusterAccess): RenderedProfile {
  const known = RENDERINGS.get(access);
  if (known?.cluster === cluster) return { desired: known.desired, digests: known.digests };
  const desired = toDesiredProfile(cluster, access);
  const digests = digestDesiredProfile(desired);
  RENDERINGS.set(access, { cluster, desired, digests });
  return { desired, digests };
}

/** Returns whether the ManagedToken of a member is ready, controlled by the set, and not being deleted. */
function isReady({ set }: SetRun, { token }: Member): boolean {
  if (token === undefined || token.metadata.deletionTimestamp !== undefined || !isControlledBy(token, set.metadata.uid)) return false;
  return readyConditionOf(token)?.status === 'True';
}

/** Creates or updates a ClusterProfile. After a rejection or a conflict, requests a run for the next attempt; throws for other failures. */
async function writeProfile(run: SetRun, write: ProfileWrite): Promise<void> {
  const { tracked, clock } = run;
  const { name } = write;
  const { profiles } = tracked;
  try {
    const known = profiles.controlled.get(name) ?? (await createProfile(run, write));
    if (known === undefined) return;
    if (!(await updateProfile(run, write, known))) return requeueAfter(run, UPDATE_MS);
    // The next list permits another attempt.
    if (profiles.recordOverride(name, write.digests)) profiles.reject(name, OVERRIDDEN_MESSAGE, clock.monotonic());
    else profiles.accept(name);
  } catch (error) {
    run.signal.throwIfAborted();
    if (hasReason(error, 'Conflict', 'NotFound')) {
      // Another client deleted or replaced the ClusterProfile, or the hub no longer serves ClusterProfiles: the next list shows which.
      profiles.listedAt = undefined;
      requeueAfter(run, CONFLICT_MS);
    } else if (hasReason(error, 'Invalid', 'BadRequest', 'MethodNotAllowed', 'RequestEntityTooLarge')) {
      profiles.reject(name, cleanMessage(error.message), clock.monotonic() + RETRY_MS);
      requeueAfter(run, RETRY_MS);
    } else throw error;
  }
}

/** Creates a ClusterProfile without a status, unless it exists. Returns undefined if the set does not control the existing one. */
async function createProfile(run: SetRun, { name, desired }: ProfileWrite): Promise<TrackedProfile | undefined> {
  const { hub, set, tracked, signal } = run;
  const { namespace } = set.metadata;
  const metadata = { name, namespace, labels: desired.labels, ownerReferences: [toOwnerReference(set)] };
  const created = await ignoreReasons(hub.create(ClusterProfiles, { metadata, spec: desired.spec }, { signal }), 'AlreadyExists');
  // The periodic list does not contain a ClusterProfile without the label, so an existing one is listed by its name.
  const selection = { namespace, fieldSelector: `metadata.name=${name}`, signal };
  const [profile] = created === undefined ? (await hub.list(ClusterProfiles, selection)).items : [created];
  if (profile !== undefined) tracked.profiles.observe(profile, set);
  return tracked.profiles.controlled.get(name);
}

/**
 * Updates a ClusterProfile, and records the responses: another client may have taken the ClusterProfile from the set. Returns false if
 * another client changed the ClusterProfile right after the write of its status.
 */
async function updateProfile(run: SetRun, { name, desired, digests }: ProfileWrite, known: TrackedProfile): Promise<boolean> {
  const { hub, set, tracked, clock, signal } = run;
  const { profiles } = tracked;
  const metadata = { name, namespace: set.metadata.namespace, uid: known.uid };
  const options = { signal, force: true };
  const observe = (profile: Stored<ClusterProfile>) => profiles.observe(profile, set, clock.monotonic());
  if (known.digests.main !== digests.main) {
    observe(await hub.apply(ClusterProfiles, { metadata: { ...metadata, labels: desired.labels }, spec: desired.spec }, options));
  }
  if (known.digests.status === digests.status || !profiles.controlled.has(name)) return true;
  const applied = await hub.applyStatus(ClusterProfiles, { metadata, status: desired.status }, options);
  observe(applied);
  const status = toProfileCleanupPatch(applied.status ?? {}, desired.status);
  if (status === undefined || !profiles.controlled.has(name)) return true;
  const { uid, resourceVersion } = applied.metadata;
  const patch = { metadata: { uid, resourceVersion }, status };
  const patched = await ignoreReasons(hub.patchStatus(ClusterProfiles, metadata, patch, { signal }), 'Conflict');
  if (patched !== undefined) observe(patched);
  return patched !== undefined;
}

async function removeProfile({ hub, set, tracked, signal }: SetRun, name: string, uid: string): Promise<void> {
  const { namespace } = set.metadata;
  await ignoreReasons(hub.delete(ClusterProfiles, { namespace, name }, { uid, signal }), 'NotFound', 'Conflict');
  tracked.profiles.controlled.delete(name);
}
