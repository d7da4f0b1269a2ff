// Memory of the controller about the ClusterProfiles of a set. It need not survive a restart: Purser then lists the ClusterProfiles again.

import type { ClusterProfile } from '../api/cluster-profile.ts';
import type { Stored } from '../api/resources.ts';
import type { Page } from '../kube/client.ts';
import type { ProfileCounts } from '../telemetry/exposition.ts';
import {
  type ClusterAccess,
  digestStoredProfile,
  isSameProfile,
  type ProfileDigests,
  type ProfilesAspect,
} from './policy/cluster-profile.ts';
import { isControlledBy } from './policy/plan.ts';
import type { StoredSet } from './policy/template.ts';

/** A ClusterProfile that the set controls. */
export interface TrackedProfile {
  readonly uid: string;
  /** Digests of the ClusterProfile on the hub; NO_DIGESTS if the last list found it only to remove it. */
  readonly digests: ProfileDigests;
  /** Time of the last update by this process, on the monotonic clock; -Infinity if there is none. */
  readonly writtenAt: number;
  /**
   * Digests of Purser's last write, if the hub stored a ClusterProfile with other digests; undefined otherwise, and after each list. Purser
   * does not repeat this write before the next list: an admission webhook or the schema would change the ClusterProfile again.
   */
  readonly overridden?: ProfileDigests;
}

/** A failure, and the time of the next attempt on the monotonic clock. */
interface Failure<T> {
  readonly failure: T;
  readonly retryAt: number;
}

/** Maximum number of tracked ClusterProfiles in addition to those to keep. */
const MAX_SURPLUS = 1_000;
const NO_DIGESTS: ProfileDigests = { main: '', status: '' };

/** State of the ClusterProfiles of one set between runs. */
export class TrackedProfiles {
  /** ClusterProfiles that the set controls, by name. */
  readonly controlled = new Map<string, TrackedProfile>();
  /** Names of ClusterProfiles that the set needs and does not control. */
  readonly foreign = new Set<string>();
  /** Last connections written to Secrets, by ClusterProfile name. */
  readonly accesses = new Map<string, ClusterAccess>();
  readonly #rejections = new Map<string, Failure<string>>();
  #blocked: Failure<ProfilesAspect> | undefined;
  /** Time of the last list, on the monotonic clock; undefined if the ClusterProfiles are not known. */
  listedAt: number | undefined;
  /** True if the last list had more ClusterProfiles to remove than are tracked. */
  isPartial = false;

  /**
   * Replaces the known ClusterProfiles with those of a list. If `kept` lacks the name of a ClusterProfile, tracks only its name and UID,
   * and only if the set controls it. Tracks at most MAX_SURPLUS more ClusterProfiles than `kept` has names, because a tenant can create any
   * number of ClusterProfiles.
   */
  async replace(pages: AsyncIterable<Page<ClusterProfile>>, set: Pick<StoredSet, 'metadata'>, kept: ReadonlySet<string>): Promise<void> {
    const earlier = new Map(this.controlled);
    this.listedAt = undefined;
    this.isPartial = false;
    this.controlled.clear();
    this.foreign.clear();
    for await (const { items } of pages) {
      for (const profile of items) {
        const { name } = profile.metadata;
        if (kept.has(name)) this.observe(profile, set, earlier.get(name)?.writtenAt);
        else this.#observeSurplus(profile, set, kept.size);
      }
    }
  }

  /** Records a ClusterProfile to keep, as the hub returned it. */
  observe(profile: Stored<ClusterProfile>, set: Pick<StoredSet, 'metadata'>, writtenAt = Number.NEGATIVE_INFINITY): void {
    const { name, uid } = profile.metadata;
    if (isControlledBy(profile, set.metadata.uid)) this.controlled.set(name, { uid, digests: digestStoredProfile(profile), writtenAt });
    else {
      this.controlled.delete(name);
      this.foreign.add(name);
    }
  }

  /** Returns whether the ClusterProfile on the hub differs from a write; if so, records the digests of the write. */
  recordOverride(name: string, sent: ProfileDigests): boolean {
    const known = this.controlled.get(name);
    if (known === undefined || isSameProfile(known.digests, sent)) return false;
    this.controlled.set(name, { ...known, overridden: sent });
    return true;
  }

  /** Returns whether a write with these digests would have no effect. */
  isOverridden(name: string, digests: ProfileDigests): boolean {
    const { overridden } = this.controlled.get(name) ?? {};
    return overridden !== undefined && isSameProfile(overridden, digests);
  }

  /** Records a ClusterProfile to remove. */
  #observeSurplus(profile: Stored<ClusterProfile>, set: Pick<StoredSet, 'metadata'>, kept: number): void {
    if (!isControlledBy(profile, set.metadata.uid)) return;
    const { name, uid } = profile.metadata;
    if (this.controlled.size >= kept + MAX_SURPLUS) this.isPartial = true;
    else this.controlled.set(name, { uid, digests: NO_DIGESTS, writtenAt: Number.NEGATIVE_INFINITY });
  }

  /** Numbers of ClusterProfiles by state. */
  get counts(): Omit<ProfileCounts, 'namespace' | 'name'> {
    const published = [...this.controlled].filter(([name, { digests }]) => digests !== NO_DIGESTS && !this.#rejections.has(name));
    return { published: published.length, rejected: this.#rejections.size, conflicting: this.foreign.size };
  }

  /** Forgets everything; the next run lists the ClusterProfiles. */
  forget(): void {
    for (const each of [this.controlled, this.foreign, this.accesses, this.#rejections]) each.clear();
    this.#blocked = undefined;
    this.listedAt = undefined;
    this.isPartial = false;
  }

  /** Stops all requests until `retryAt`. */
  block(failure: ProfilesAspect, retryAt: number): void {
    this.#blocked = { failure, retryAt };
  }

  /** Returns the failure that stops all requests now; undefined if there is none. */
  findBlock(now: number): Failure<ProfilesAspect> | undefined {
    return this.#blocked !== undefined && now < this.#blocked.retryAt ? this.#blocked : undefined;
  }

  /** Records that the hub rejected a write. */
  reject(name: string, message: string, retryAt: number): void {
    this.#rejections.set(name, { failure: message, retryAt });
  }

  /** Forgets a rejected write. */
  accept(name: string): void {
    this.#rejections.delete(name);
  }

  /**
   * Returns the earliest time to write a ClusterProfile: `spacingMs` after the last write, but not before the retry of a rejected write is
   * due.
   */
  writableAt(name: string, spacingMs: number): number {
    const writtenAt = this.controlled.get(name)?.writtenAt ?? Number.NEGATIVE_INFINITY;
    return Math.max(writtenAt + spacingMs, this.#rejections.get(name)?.retryAt ?? 0);
  }

  /** Returns the name of the first ClusterProfile whose write was rejected, and the cause; undefined if there is none. */
  firstRejection(): string | undefined {
    const [first] = this.#rejections;
    return first && `${first[0]}: ${first[1].failure}`;
  }

  /** Forgets everything about names that are not in `names`, except the ClusterProfiles that the set controls and still has to remove. */
  prune(names: ReadonlySet<string>): void {
    for (const each of [this.foreign, this.accesses, this.#rejections]) {
      for (const name of each.keys()) if (!names.has(name)) each.delete(name);
    }
  }
}
