// The verification of issued tokens: a TokenReview on its cluster for every token at long intervals, and for one token of each cluster once
// a minute, so that a rotated signing key is noticed early.

import { merge, type Observable, Subject } from 'rxjs';
import { objectKey } from '../kube/paths.ts';
import { type Clock, sleep } from '../std/clock.ts';
import { fromAbortable } from '../std/from-abortable.ts';
import { nextTurnAt } from '../std/hash.ts';
import type { HubView } from './informers.ts';
import type { StoredToken } from './policy/spec.ts';

export interface VerificationOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly view: Pick<HubView, 'tokens' | 'clusters' | 'tokensForCluster'>;
  /** Interval between two verifications of a token, in milliseconds; 0 disables verification. */
  readonly intervalMs: number;
}

/** Result of a verification; `failed` if the cluster did not review the token, `skipped` if the Secret has changed in the meantime. */
export type Verified = 'accepted' | 'rejected' | 'failed' | 'skipped';

/** Period over which issuances are averaged, in milliseconds. */
const AVERAGED_MS = 3_600_000;
/** Interval between two samples of a cluster, in milliseconds, and the number of steps in which all clusters are sampled. */
const SAMPLE_MS = 60_000;
const STEPS = 60;
/** Number of different tokens that a cluster rejects in a row before all of its tokens are verified: an account may have been re-created. */
const MAX_REJECTED = 3;

/** The samples of one cluster. */
interface Sampled {
  /** UID of the ManagedToken whose token is verified next; undefined for none. */
  next: string | undefined;
  /** UIDs of the ManagedTokens whose tokens the cluster rejected since it accepted one. */
  readonly rejected: Set<string>;
  /** Time before which the cluster is not sampled, on the monotonic clock. */
  pausedUntil: number;
  /** Time since which all earlier tokens must be verified. */
  doubtedAt: number;
}

/** Decides when tokens are verified. */
export class Verification {
  readonly #options: VerificationOptions;
  readonly #sampled = new Map<string, Sampled>();
  readonly #requested$ = new Subject<string>();
  /** Number of issuances at `#countedAt`, weighted by age. */
  #issued = 0;
  #countedAt: number;

  constructor(options: VerificationOptions) {
    this.#options = options;
    this.#countedAt = options.clock.monotonic();
  }

  /** Interval between two verifications of a token, in milliseconds; 0 if verification is disabled. */
  get intervalMs(): number {
    const { intervalMs, view } = this.#options;
    return stretchedIntervalMs(intervalMs, view.tokens.size, this.#issuances() / (AVERAGED_MS / 1_000));
  }

  /** Records that a token was issued. */
  recordIssuance(): void {
    this.#issued = this.#issuances() + 1;
    this.#countedAt = this.#options.clock.monotonic();
  }

  /** Returns the time of the next verification of a token that was issued or verified last at `since`; undefined if verification is disabled. */
  nextAt({ metadata, spec }: StoredToken, since: number): number | undefined {
    if (this.#options.intervalMs === 0) return undefined;
    const { next, doubtedAt = -Infinity } = this.#sampled.get(spec.clusterName) ?? {};
    // A time in the future is from before the clock was set back.
    const isDoubted = since < doubtedAt && doubtedAt <= this.#options.clock.now();
    if (next === metadata.uid || isDoubted) return since;
    return nextTurnAt('verify', metadata.uid, since, this.intervalMs);
  }

  /** Records the result of a verification. If a sample was rejected, another token is verified, and then all tokens of the cluster. */
  record({ metadata: { uid }, spec: { clusterName } }: StoredToken, result: Verified): void {
    const { clock, intervalMs } = this.#options;
    const sampled = this.#sampled.get(clusterName);
    if (sampled === undefined || (sampled.next !== uid && result !== 'accepted')) return;
    if (sampled.next === uid) sampled.next = undefined;
    if (result === 'accepted') sampled.rejected.clear();
    if (result === 'failed') sampled.pausedUntil = clock.monotonic() + intervalMs;
    if (result !== 'rejected') return;
    sampled.rejected.add(uid);
    const others = sampled.rejected.size < MAX_REJECTED ? this.#sample(clusterName) : [];
    for (const key of others.length > 0 ? others : this.#doubted(clusterName, sampled)) this.#requested$.next(key);
  }

  /** Returns the keys of all ManagedTokens of a cluster that rejected its samples, at most once in an interval. */
  #doubted(clusterName: string, sampled: Sampled): readonly string[] {
    const { clock, intervalMs, view } = this.#options;
    const now = clock.now();
    sampled.rejected.clear();
    // A tenant may own most tokens of the cluster, and re-create their service accounts repeatedly.
    if (sampled.doubtedAt <= now && now < sampled.doubtedAt + intervalMs) return [];
    sampled.doubtedAt = now;
    return view.tokensForCluster(clusterName).map(objectKey);
  }

  /** Emits the keys of ManagedTokens whose tokens are to be verified now: one of each cluster once a minute, and others after a rejection. */
  get requests$(): Observable<string> {
    return merge(
      this.#requested$,
      fromAbortable((signal) => this.#samples(signal)),
    );
  }

  async *#samples(signal: AbortSignal): AsyncGenerator<string> {
    const { clock, intervalMs } = this.#options;
    if (intervalMs === 0) return;
    for (;;) {
      const names = this.#namesToSample();
      for (let step = 0; step < STEPS; step++) {
        await sleep(clock, SAMPLE_MS / STEPS, signal);
        for (let index = step; index < names.length; index += STEPS) yield* this.#sample(names[index] as string);
      }
    }
  }

  /** Returns the names of all Clusters, and forgets the samples of others. */
  #namesToSample(): readonly string[] {
    const names = this.#options.view.clusters.keys();
    const known = new Set(names);
    for (const name of this.#sampled.keys()) if (!known.has(name)) this.#sampled.delete(name);
    return names;
  }

  /** Returns the key of a random ManagedToken of a cluster, whose token is verified next; nothing if the cluster has none that was not rejected. */
  #sample(clusterName: string): readonly string[] {
    const { clock, random, view } = this.#options;
    const sampled = this.#sampled.get(clusterName) ?? newSampled();
    if (clock.monotonic() < sampled.pausedUntil) return [];
    const tokens = view.tokensForCluster(clusterName).filter((token) => isIssued(token) && !sampled.rejected.has(token.metadata.uid));
    const token = tokens[Math.floor(random() * tokens.length)];
    if (token === undefined) return [];
    sampled.next = token.metadata.uid;
    this.#sampled.set(clusterName, sampled);
    return [objectKey(token)];
  }

  /** Returns the number of issuances, weighted by age. */
  #issuances(): number {
    return this.#issued * Math.exp((this.#countedAt - this.#options.clock.monotonic()) / AVERAGED_MS);
  }
}

function newSampled(): Sampled {
  return { next: undefined, rejected: new Set(), pausedUntil: -Infinity, doubtedAt: -Infinity };
}

function isIssued({ status }: StoredToken): boolean {
  return status?.tokenDigest !== undefined;
}

/** Maximum number of requests for verifications, relative to those for issuances. */
const SHARE = 0.2;
/** Number of requests for an issuance: the review of the permission, the token, the Secret and the status. */
const ISSUANCE_REQUESTS = 4;
/** Number of requests for a verification: the Secret and the TokenReview. */
const VERIFICATION_REQUESTS = 2;
/** Number of requests per second for verifications that any installation may send. */
const MIN_PER_SECOND = 1;

/**
 * Returns the interval between two verifications of each of `tokens` tokens: `intervalMs`, multiplied by the power of two that keeps
 * verifications within their share of the requests.
 */
export function stretchedIntervalMs(intervalMs: number, tokens: number, issuancesPerSecond: number): number {
  const allowedPerSecond = Math.max(MIN_PER_SECOND, SHARE * ISSUANCE_REQUESTS * issuancesPerSecond);
  const requiredMs = (tokens * VERIFICATION_REQUESTS * 1_000) / allowedPerSecond;
  if (intervalMs === 0 || requiredMs <= intervalMs) return intervalMs;
  return intervalMs * 2 ** Math.ceil(Math.log2(requiredMs / intervalMs));
}
