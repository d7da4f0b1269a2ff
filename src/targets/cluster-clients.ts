// The targets of registered clusters: created on first use, replaced when the Cluster or its credential changes. A replaced target's
// connections, certificate authorities and credential are never used again.

import type { Cluster } from '../api/cluster.gen.ts';
import type { Stored } from '../api/resources.ts';
import { Recent } from '../std/recent.ts';
import { createTarget, isNamedHub, type TargetSettings } from './create-target.ts';
import type { PinnedEndpoints } from './endpoints.ts';
import { IssueError } from './issue-error.ts';
import { isSameRegistration, type RegisteredCluster, type Registration, registrationOf } from './registered-cluster.ts';
import type { Target } from './target.ts';

/** Keeps one target per Cluster. */
export class ClusterClients {
  readonly #settings: TargetSettings;
  readonly #current = new Map<string, Slot>();
  /** All slots that are not closed, including replaced ones that are still in use. */
  readonly #open = new Set<Slot>();
  /** UIDs of deleted Clusters, which a caller with an old object must not register again. */
  readonly #deleted = new Recent<true>(MAX_DELETED);
  #isClosed = false;

  constructor(settings: TargetSettings) {
    this.#settings = settings;
  }

  /** Runs `work` with the target of a cluster. Throws an IssueError if the registration is not usable. */
  async use<T>(registered: RegisteredCluster, work: (target: Target) => Promise<T>): Promise<T> {
    const slot = this.#slotOf(registered);
    if (slot.target instanceof IssueError) throw slot.target;
    slot.users += 1;
    try {
      return await work(slot.target);
    } finally {
      slot.users -= 1;
      if (slot.isRetired && slot.users === 0) await this.#end(slot);
    }
  }

  /** Returns whether --hub-cluster names this Cluster. */
  isHub(cluster: Cluster): boolean {
    return isNamedHub(cluster, this.#settings);
  }

  /** Returns the endpoints that tokens of a cluster may be written next to. Throws an IssueError if its registration is not usable. */
  endpointsOf(registered: RegisteredCluster): PinnedEndpoints {
    const { target } = this.#slotOf(registered);
    if (target instanceof IssueError) throw target;
    return target.endpoints;
  }

  /** Closes all connections to a cluster that is no longer registered. */
  async forget({ metadata: { name, uid } }: Stored<Cluster>): Promise<void> {
    this.#deleted.set(uid, true);
    const slot = this.#current.get(name);
    this.#current.delete(name);
    if (slot !== undefined) await this.#end(slot);
  }

  /** Allows a deleted Cluster again, for example after a list that lacked the Cluster by mistake. */
  recall({ metadata: { uid } }: Stored<Cluster>): void {
    this.#deleted.delete(uid);
  }

  /** Closes all connections; work in progress fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#current.clear();
    await Promise.all([...this.#open].map((slot) => this.#end(slot)));
  }

  #slotOf(registered: RegisteredCluster): Slot {
    if (this.#isClosed) throw new IssueError('ClusterUnreachable', 'Purser is stopping');
    const { name, uid } = registered.cluster.metadata;
    if (this.#deleted.get(uid)) throw new IssueError('ClusterNotFound');
    const former = this.#current.get(name);
    const registration = registrationOf(registered);
    if (former !== undefined && isSameRegistration(former, registration)) return former;
    const slot: Slot = { ...registration, target: this.#create(registered), users: 0, isRetired: false };
    this.#current.set(name, slot);
    this.#open.add(slot);
    if (former !== undefined) this.#replace(former, slot);
    return slot;
  }

  #create(registered: RegisteredCluster): Slot['target'] {
    try {
      return createTarget(registered, this.#settings);
    } catch (error) {
      // The error is kept until the registration changes.
      if (error instanceof IssueError) return error;
      throw error;
    }
  }

  /** Replaces a target. Requests in progress may finish with the old credential, but not at an old address. */
  #replace(former: Slot, next: Slot): void {
    former.isRetired = true;
    if (former.users === 0 || former.cluster !== next.cluster) void this.#end(former);
  }

  async #end(slot: Slot): Promise<void> {
    this.#open.delete(slot);
    if (!(slot.target instanceof IssueError)) await slot.target.close();
  }
}

const MAX_DELETED = 1_024;

interface Slot extends Registration {
  readonly target: Target | IssueError;
  users: number;
  isRetired: boolean;
}
