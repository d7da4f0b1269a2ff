// The targets of registered clusters: created on first use, replaced when the Cluster or its credential changes. New requests never use the
// connections, certificate authorities or credential of a replaced target, except that probes keep their connections after a renewal. If a
// cluster rejects the credential, the Secrets are read again from the hub, because the watch may lag behind a renewal.

import type { Cluster } from '../api/cluster.gen.ts';
import { type Secret, Secrets, type Stored } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { BoundedCache } from '../std/bounded-cache.ts';
import type { Sensitive } from '../std/sensitive.ts';
import { SingleFlight } from '../std/single-flight.ts';
import { createTarget, isNamedHub, type TargetContext, type TargetSettings } from './create-target.ts';
import type { HubTokenTimes } from './credential.ts';
import type { PinnedEndpoints } from './endpoints.ts';
import { HubTokens } from './hub-tokens.ts';
import { IssueError, isRejection } from './issue-error.ts';
import { toRenewedName } from './policy/renewed-secret.ts';
import {
  isSameExceptRenewal,
  isSameRegistration,
  type RegisteredCluster,
  type Registration,
  reduceCredential,
  registrationOf,
} from './registry.ts';
import type { Target } from './target.ts';

/** The registered Secret of a cluster, and the Secret with the renewed token; each is undefined if it does not exist. */
export type CredentialSecrets = Pick<RegisteredCluster, 'credential' | 'renewed'>;

/** Keeps one target per Cluster. */
export class ClusterClients {
  readonly #settings: TargetContext;
  /** Entries in use, by Cluster name. */
  readonly #current = new Map<string, Entry>();
  /** All entries that are not closed, including replaced ones that are still in use. */
  readonly #open = new Set<Entry>();
  /** UIDs of deleted Clusters, so that a caller with an outdated object cannot use such a Cluster again. */
  readonly #deleted = new BoundedCache<true>(MAX_DELETED);
  readonly #fresh: FreshCredentials;
  #isClosed = false;

  constructor(settings: TargetSettings) {
    this.#settings = { ...settings, hubTokens: settings.hub && new HubTokens(settings.hub, settings.clock) };
    this.#fresh = new FreshCredentials(settings);
  }

  /**
   * Runs `work` with the target of a cluster. If the cluster rejects the credential and the hub has a newer one, runs `work` again with the
   * newer one; `isRejected` recognizes a rejection in the result of `work`. Throws an IssueError if the registration is not usable.
   */
  async use<T>(registered: RegisteredCluster, work: Work<T>, isRejected: (result: T) => boolean = () => false): Promise<T> {
    const entry = this.#findOrCreateEntry(registered);
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

  /**
   * Returns the Secrets of a cluster's credential as the hub has them now; the given Secrets if Purser does not read Secrets for the
   * Cluster. Throws errors of requests to the hub.
   */
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
    const { target } = this.#findOrCreateEntry(registered);
    if (target instanceof IssueError) throw target;
    return target.endpoints;
  }

  /**
   * Returns the failure to obtain a token from the hub for a cluster: an unusable credential Secret, or a failed request to the hub, even
   * while an earlier token is valid. Returns undefined if there is no failure.
   */
  hubTokenFailure({ metadata }: Stored<Cluster>): IssueError | undefined {
    const target = this.#current.get(metadata.name)?.target;
    if (target instanceof IssueError) return target.reason === 'CredentialMissing' ? target : undefined;
    const credential = target?.credential;
    if (credential?.type !== 'serviceAccount') return undefined;
    return [...credential.tokens.values()].map(({ failure }) => failure).find((failure) => failure !== undefined);
  }

  /**
   * Returns the times of the last token that the hub issued for the address in use; undefined if the credential is stored in a Secret, and
   * before the first token.
   */
  hubTokenTimes({ metadata }: Stored<Cluster>): HubTokenTimes | undefined {
    const target = this.#current.get(metadata.name)?.target;
    if (target === undefined || target instanceof IssueError || target.credential?.type !== 'serviceAccount') return undefined;
    return target.credential.tokens.get(target.activeServer ?? '')?.times;
  }

  /** Closes the target of a deleted Cluster. The Cluster cannot be used again until `recall` is called. */
  async forget({ metadata: { name, uid } }: Stored<Cluster>): Promise<void> {
    this.#deleted.set(uid, true);
    this.#fresh.forget(name);
    const entry = this.#current.get(name);
    this.#current.delete(name);
    if (entry !== undefined) await this.#end(entry);
  }

  /** Allows requests to a deleted Cluster again, for example after a list that lacked the Cluster by mistake. */
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
    if (!this.#isClosed && this.#findOrCreateEntry(registered) === entry) await this.#fresh.refresh(registered);
    if (this.#isClosed) return undefined;
    const current = this.#findOrCreateEntry(registered);
    return current === entry ? undefined : current;
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new IssueError('ClusterUnreachable', 'Purser is stopping');
  }

  #findOrCreateEntry(known: RegisteredCluster): Entry {
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

  /** Closes a replaced target after its last call in progress, or immediately if the Cluster changed or an address has a conflict. */
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
  /** True if the credential is federated, and another federated Secret names one of its addresses. */
  readonly hasConflict: boolean;
  readonly target: Target | IssueError;
  /** Number of calls in progress. */
  users: number;
  /** True if the target is closed after the last call in progress. */
  isRetired: boolean;
}

/** Options of FreshCredentials. Without a hub, as in some tests, no Secrets are read. */
type FreshCredentialsOptions = Pick<TargetSettings, 'clock' | 'hub' | 'credentialNamespaces'>;

/** Credentials that were read from the hub after a cluster rejected a credential; kept until the informers have received them. */
class FreshCredentials {
  readonly #options: FreshCredentialsOptions;
  /** Newer credentials by Cluster name. */
  readonly #newer = new Map<string, { readonly stale: Registration; readonly secrets: CredentialSecrets }>();
  /** Time of the last read, on the monotonic clock, by Cluster name. */
  readonly #readAt = new Map<string, number>();
  readonly #reading = new SingleFlight<void>();

  constructor(options: FreshCredentialsOptions) {
    this.#options = options;
  }

  /** Returns the registration, with the newer credential if there is one and the informers still have the old one. */
  latest(registered: RegisteredCluster): RegisteredCluster {
    const { name } = registered.cluster.metadata;
    const newer = this.#newer.get(name);
    if (newer === undefined) return registered;
    if (isSameRegistration(newer.stale, registrationOf(registered))) return { ...registered, ...newer.secrets };
    this.#newer.delete(name);
    return registered;
  }

  /** Reads the Secrets again, at most once every ten seconds for each cluster. Ignores errors from the hub. */
  async refresh(registered: RegisteredCluster): Promise<void> {
    const { name } = registered.cluster.metadata;
    await this.#reading.do(name, async () => {
      const now = this.#options.clock.monotonic();
      if (now - (this.#readAt.get(name) ?? -Infinity) < MIN_INTERVAL_MS) return;
      this.#readAt.set(name, now);
      const secrets = await this.read(registered).catch(() => undefined);
      const stale = registrationOf(registered);
      if (secrets !== undefined && !isSameRegistration(stale, registrationOf({ ...registered, ...secrets })))
        this.#newer.set(name, { stale, secrets });
    });
  }

  /**
   * Returns the Secrets as the hub has them now; the given Secrets if there is no hub, or if the Cluster refers to no Secret in a namespace
   * of credentials. Throws errors of requests to the hub.
   */
  async read({ cluster, credential, renewed }: RegisteredCluster, signal?: AbortSignal): Promise<CredentialSecrets> {
    const { hub, credentialNamespaces } = this.#options;
    const controller = cluster.spec.authInfo?.controller;
    const isReadable = controller?.kind === 'Secret' && credentialNamespaces.includes(controller.namespace);
    if (hub === undefined || !isReadable) return { credential, renewed };
    const { namespace, name } = controller;
    const names = [name, toRenewedName(name)];
    const [found, successor] = await Promise.all(names.map((each) => findSecret(hub.client, namespace, each, signal)));
    return { credential: found, renewed: successor };
  }

  /** Forgets a deleted Cluster. */
  forget(name: string): void {
    this.#newer.delete(name);
    this.#readAt.delete(name);
  }
}

const MIN_INTERVAL_MS = 10_000;
const TIMEOUT_MS = 5_000;

/**
 * Returns a Secret; undefined if it does not exist. Uses a list request, because Purser has permission to list these Secrets for its
 * informers.
 */
async function findSecret(
  client: KubeClient,
  namespace: string,
  name: string,
  signal: AbortSignal | undefined,
): Promise<Stored<Secret> | undefined> {
  const { items } = await client.list(Secrets, { namespace, fieldSelector: `metadata.name=${name}`, signal, timeoutMs: TIMEOUT_MS });
  const [found] = items;
  return found && reduceCredential(found);
}
