// Memory of the controller about the ClusterProfiles of a set. All of it may be lost: a restart costs a list and a read of each Secret.

import type { ClusterProfile } from '../api/cluster-profile.ts';
import type { Stored } from '../api/resources.ts';
import { type ClusterAccess, type ProfileDigests, type ProfilesAspect, profileDigests, publishedAccess } from './policy/cluster-profile.ts';
import { isControlledBy } from './policy/plan.ts';

/** A ClusterProfile that the set controls. */
export interface TrackedProfile {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Digests of the last own write, or of the ClusterProfile on the hub if another client changed it since. */
  readonly digests: ProfileDigests;
  /** Time of the last own write, on the monotonic clock. */
  readonly writtenAt: number;
}

/** A connection that was read. */
export interface ReadAccess {
  /** UID and digest of the data of the Secret; undefined for a connection that was read from the ClusterProfile. */
  readonly source: string | undefined;
  /** The connection; undefined if the Secret has none. */
  readonly access: ClusterAccess | undefined;
}

/** A failure, and the time of the next attempt on the monotonic clock. */
interface Failure<T> {
  readonly failure: T;
  readonly retryAt: number;
}

/** Memory about the ClusterProfiles of one set between runs. */
export class TrackedProfiles {
  /** ClusterProfiles that the set controls, by name. */
  readonly controlled = new Map<string, TrackedProfile>();
  /** Names of ClusterProfiles that the set does not control. */
  readonly foreign = new Set<string>();
  /** Connections by the names of ClusterProfiles. */
  readonly accesses = new Map<string, ReadAccess>();
  readonly #rejections = new Map<string, Failure<string>>();
  #blocked: Failure<ProfilesAspect> | undefined;
  /** Time of the last list, on the monotonic clock; undefined if the ClusterProfiles are not known. */
  listedAt: number | undefined;

  /** Replaces what is known by a list. Own writes that no other client changed stay recorded as they were sent. */
  replace(profiles: readonly Stored<ClusterProfile>[], setUid: string, now: number): void {
    const earlier = new Map(this.controlled);
    this.controlled.clear();
    this.foreign.clear();
    for (const profile of profiles) this.observe(profile, setUid, earlier.get(profile.metadata.name));
    this.listedAt = now;
  }

  /** Records a ClusterProfile as the hub returns it. */
  observe(profile: Stored<ClusterProfile>, setUid: string, earlier?: TrackedProfile): void {
    const { name, uid, resourceVersion } = profile.metadata;
    if (!isControlledBy(profile, setUid)) return void this.foreign.add(name);
    const isUnchanged = earlier?.resourceVersion === resourceVersion;
    const digests = isUnchanged ? earlier.digests : profileDigests(profile);
    this.controlled.set(name, { uid, resourceVersion, digests, writtenAt: earlier?.writtenAt ?? Number.NEGATIVE_INFINITY });
    const { source, access } = this.accesses.get(name) ?? {};
    if (access === undefined) this.accesses.set(name, { source, access: publishedAccess(profile) });
  }

  /** Forgets everything; the next run lists the ClusterProfiles. */
  forget(): void {
    for (const each of [this.controlled, this.foreign, this.accesses, this.#rejections]) each.clear();
    this.#blocked = undefined;
    this.listedAt = undefined;
  }

  /** Stops all requests until `retryAt`. */
  block(failure: ProfilesAspect, retryAt: number): void {
    this.#blocked = { failure, retryAt };
  }

  blocked(now: number): Failure<ProfilesAspect> | undefined {
    return this.#blocked !== undefined && now < this.#blocked.retryAt ? this.#blocked : undefined;
  }

  /** Records that the hub rejected a write. */
  reject(name: string, message: string, retryAt: number): void {
    this.#rejections.set(name, { failure: message, retryAt });
  }

  accept(name: string): void {
    this.#rejections.delete(name);
  }

  /** Returns the time of the next attempt to write; 0 for a write that was not rejected. */
  retryAt(name: string): number {
    return this.#rejections.get(name)?.retryAt ?? 0;
  }

  /** Returns the first rejected write; undefined without one. */
  firstRejection(): string | undefined {
    const [first] = this.#rejections;
    return first && `${first[0]}: ${first[1].failure}`;
  }

  /** Forgets everything about other names, except ClusterProfiles that the set controls, which are to be removed. */
  prune(names: ReadonlySet<string>): void {
    for (const each of [this.foreign, this.accesses, this.#rejections]) {
      for (const name of each.keys()) if (!names.has(name)) each.delete(name);
    }
  }
}
