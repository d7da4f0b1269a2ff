// The targets of registered clusters: created on first use, replaced when the Cluster or its credential changes. A replaced target's
// connections, certificate authorities and credential are never used again; only probes keep their connections after a renewal. If a
// cluster rejects the credential, the Secrets are read again from the hub, because the watch may lag behind a renewal.

import type { Cluster } from '../api/cluster.gen.ts';
import type { Stored } from '../api/resources.ts';
import { BoundedCache } from '../std/bounded-cache.ts';
import type { Sensitive } from '../std/sensitive.ts';
import { createTarget, isNamedHub, type TargetContext, type TargetSettings } from './create-target.ts';
import type { HubTokenTimes } from './credential.ts';
import type { PinnedEndpoints } from './endpoints.ts';
import { type CredentialSecrets, FreshCredentials } from './fresh-credentials.ts';
import { HubTokens } from './hub-tokens.ts';
import { IssueError, isRejection } from './issue-error.ts';
import { isSameExceptRenewal, isSameRegistration, type Registration } from './policy/registration.ts';
import { type RegisteredCluster, registrationOf } from './registry.ts';
import type { Target } from './target.ts';

/** Keeps one target per Cluster. */
export class ClusterClients {
  readonly #settings: TargetContext;
  readonly #current = new Map<string, Entry>();
  /** All entries that are not closed, including replaced ones that are still in use. */
  readonly #open = new Set<Entry>();
  /** UIDs of deleted Clusters, which a caller with an old object must not register again. */
  readonly #deleted = new BoundedCache<true>(MAX_DELETED);
  readonly #fresh: FreshCredentials;
  #isClosed = false;

  constructor(settings: TargetSettings) {
    this.#settings = { ...settings, hubTokens: settings.hub && new HubTokens(settings.hub, settings.clock) };
    this.#fresh = new FreshCredentials(settings);
  }

  /**
   * Runs `work` with the target of a cluster. If the cluster rejects the credential and the hub has a newer one, runs `work` again with the
   * newer one; `isRejected` recognizes a rejection that `work` returns. Throws an IssueError if the registration is not usable.
   */
  async use<T>(registered: RegisteredCluster, work: Work<T>, isRejected: (result: T) => boolean = () => false): Promise<T> {
    const entry = this.#entryOf(registered);
    const [outcome] = await Promise.allSettled([this.#run(entry, work)]);
    const wasRejected = outcome.status === 'rejected' ? isRejection(outcome.reason) : isRejected(outcome.value);
    const newer = wasRejected ? await this.#findNewerEntry(registered, entry) : undefined;
    if (newer !== undefined) return await this.#run(newer, work);
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  }

  /** Runs `work` with another token, over new connections to the pinned addresses. Throws an IssueError for an unusable registration. */
  async useOnce<T>(registered: RegisteredCluster, token: Sensitive<string>, work: Work<T>): Promise<T> {
    this.#checkOpen();
    const target = createTarget(registered, this.#settings, { type: 'token', token });
    const entry: Entry = { ...registrationOf(registered), hasConflict: false, target, users: 0, isRetired: true };
    this.#open.add(entry);
    return await this.#run(entry, work);
  }

  /** Returns the Secrets of a cluster's credential as the hub has them now. Throws errors of requests to the hub. */
  async readSecrets(registered: RegisteredCluster, signal: AbortSignal): Promise<CredentialSecrets> {
    return await this.#fresh.read(registered, signal);
  }

  async #run<T>(entry: Entry, work: Work<T>): Promise<T> {
    if (entry.target instanceof IssueError) throw entry.target;
    entry.users += 1;
    try {
      return await work(entry.target);
    } finally {
      entry.users -= 1;
      if (entry.isRetired && entry.users === 0) await this.#end(entry);
    }
  }

  /** Returns whether --hub-cluster names this Cluster. */
  isHub(cluster: Cluster): boolean {
    return isNamedHub(cluster, this.#settings);
  }

  /** Returns the endpoints to write to Secrets with tokens of a cluster. Throws an IssueError if its registration is not usable. */
  endpointsOf(registered: RegisteredCluster): PinnedEndpoints {
    const { target } = this.#entryOf(registered);
    if (target instanceof IssueError) throw target;
    return target.endpoints;
  }

  /**
   * Returns the reason why Purser has no token from the hub for a cluster: an unusable credential Secret, or a failed request to the hub;
   * undefined without a failure.
   */
  hubTokenFailure({ metadata }: Stored<Cluster>): IssueError | undefined {
    const target = this.#current.get(metadata.name)?.target;
    if (target instanceof IssueError) return target.reason === 'CredentialMissing' ? target : undefined;
    const credential = target?.credential;
    if (credential?.type !== 'serviceAccount') return undefined;
    return [...credential.tokens.values()].map(({ failure }) => failure).find((failure) => failure !== undefined);
  }

  /** Returns the times of the hub's token for the address in use; undefined for a stored credential, and before the first token. */
  hubTokenTimes({ metadata }: Stored<Cluster>): HubTokenTimes | undefined {
    const target = this.#current.get(metadata.name)?.target;
    if (target === undefined || target instanceof IssueError || target.credential?.type !== 'serviceAccount') return undefined;
    return target.credential.tokens.get(target.activeServer ?? '')?.times;
  }

  /** Closes all connections to a deleted Cluster, which cannot be used again until `recall`. */
  async forget({ metadata: { name, uid } }: Stored<Cluster>): Promise<void> {
    this.#deleted.set(uid, true);
    this.#fresh.forget(name);
    const entry = this.#current.get(name);
    this.#current.delete(name);
    if (entry !== undefined) await this.#end(entry);
  }

  /** Allows a deleted Cluster again, for example after a list that lacked the Cluster by mistake. */
  recall({ metadata: { uid } }: Stored<Cluster>): void {
    this.#deleted.delete(uid);
  }

  /** Closes all connections; work in progress fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#current.clear();
    await Promise.all([...this.#open].map((entry) => this.#end(entry)));
  }

  /** Returns the entry with a newer credential than `entry`, whose credential the cluster rejected; undefined if there is none. */
  async #findNewerEntry(registered: RegisteredCluster, entry: Entry): Promise<Entry | undefined> {
    if (!this.#isClosed && this.#entryOf(registered) === entry) await this.#fresh.refresh(registered);
    if (this.#isClosed) return undefined;
    const current = this.#entryOf(registered);
    return current === entry ? undefined : current;
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new IssueError('ClusterUnreachable', 'Purser is stopping');
  }

  #entryOf(known: RegisteredCluster): Entry {
    this.#checkOpen();
    const { name, uid } = known.cluster.metadata;
    if (this.#deleted.get(uid)) throw new IssueError('ClusterNotFound');
    const registered = this.#fresh.latest(known);
    const former = this.#current.get(name);
    const registration = registrationOf(registered);
    const hasConflict = this.#hasConflict(registered);
    if (former !== undefined && isSameRegistration(former, registration) && former.hasConflict === hasConflict) return former;
    const entry: Entry = { ...registration, hasConflict, target: this.#create(registered), users: 0, isRetired: false };
    this.#current.set(name, entry);
    this.#open.add(entry);
    if (former !== undefined) this.#replace(former, entry);
    return entry;
  }

  #hasConflict({ credential }: RegisteredCluster): boolean {
    return credential !== undefined && this.#settings.federatedAddresses?.hasConflict(credential) === true;
  }

  #create(registered: RegisteredCluster): Entry['target'] {
    try {
      return createTarget(registered, this.#settings);
    } catch (error) {
      // The error is kept until the registration changes.
      if (error instanceof IssueError) return error;
      throw error;
    }
  }

  /** Replaces a target. Requests in progress may finish with the old credential, but not at an old address. */
  #replace(former: Entry, next: Entry): void {
    former.isRetired = true;
    const [old, target] = [former.target, next.target];
    const isRenewed = isSameExceptRenewal(former, next) && former.hasConflict === next.hasConflict;
    if (isRenewed && !(old instanceof IssueError) && !(target instanceof IssueError)) target.takeOver(old);
    if (former.users === 0 || former.cluster !== next.cluster || next.hasConflict) void this.#end(former);
  }

  async #end(entry: Entry): Promise<void> {
    this.#open.delete(entry);
    if (!(entry.target instanceof IssueError)) await entry.target.close();
  }
}

const MAX_DELETED = 1_024;

type Work<T> = (target: Target) => Promise<T>;

interface Entry extends Registration {
  /** True if another Secret names an address of the credential. */
  readonly hasConflict: boolean;
  readonly target: Target | IssueError;
  users: number;
  isRetired: boolean;
}
