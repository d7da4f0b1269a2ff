// Verification of issued tokens with TokenReviews on their clusters: every token at long intervals, and a random sample of each cluster
// more often, so that a rotated signing key is noticed early.

import { merge, type Observable, Subject } from 'rxjs';
import { namespaceOf, objectKeyOf } from '../kube/paths.ts';
import { toServiceAccountUsername } from '../kubernetes/service-account.ts';
import { type Clock, sleep } from '../std/clock.ts';
import { fromAbortable } from '../std/from-abortable.ts';
import { computeNextTurnAt } from '../std/hash.ts';
import { type HubView, secretKeyOf } from './informers.ts';
import type { StoredToken } from './policy/spec.ts';

export interface VerificationOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly view: Pick<HubView, 'registry' | 'tokens' | 'secrets' | 'tokensForCluster' | 'verifiableForCluster' | 'countIssued'>;
  /** Interval between two verifications of a token, in milliseconds, before it is stretched; 0 disables verification. */
  readonly intervalMs: number;
}

/** Result of a verification; `forbidden` if the cluster does not let Purser create TokenReviews, `skipped` if there is no result. */
export type VerificationResult = 'accepted' | 'rejected' | 'forbidden' | 'skipped';

/** Period over which issuances are averaged, in milliseconds. */
const AVERAGED_MS = 3_600_000;
/** Minimum interval between two periodic samples of a cluster, in milliseconds. */
const MIN_SAMPLE_MS = 60_000;
/** Number of periodic samples of each cluster during one verification interval, if MIN_SAMPLE_MS permits. */
const SAMPLES = 15;
/** Maximum number of ManagedTokens that are checked to select one sample; more would block the process for too long. */
const MAX_CHECKED = 1_000;
/** Maximum number of these in one namespace: ManagedTokens of one tenant whose Secrets contain no token must not use up a sample. */
const MAX_IN_NAMESPACE = 100;
/** Number of steps over which the samples of all clusters are spread. */
const STEPS = 60;
/**
 * Number of rejected samples in a row after which all tokens of a cluster are verified. A single rejection may only mean that a service
 * account was re-created.
 */
const MAX_REJECTED = 3;

/** State of the periodic verification of random tokens on one cluster. */
interface SamplingState {
  /** UID of the ManagedToken whose token is verified next; undefined if no sample is pending. */
  next: string | undefined;
  /** ManagedTokens whose sampled tokens the cluster has rejected in a row. */
  rejected: readonly StoredToken[];
  /** Time before which the cluster is not sampled, on the monotonic clock. */
  pausedUntil: number;
  /**
   * Time at which all tokens of the cluster were last marked for verification: tokens last issued or verified before it are verified again;
   * -Infinity before the first time.
   */
  doubtedAt: number;
}

/** Decides when tokens are verified. */
export class Verification {
  readonly #options: VerificationOptions;
  readonly #samplingStates = new Map<string, SamplingState>();
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
    return stretchIntervalMs(intervalMs, view.countIssued(), this.#countIssuances() / (AVERAGED_MS / 1_000));
  }

  /** Records that a token was issued. */
  recordIssuance(): void {
    this.#issued = this.#countIssuances() + 1;
    this.#countedAt = this.#options.clock.monotonic();
  }

  /**
   * Returns the time of the next verification of a token that was last issued or verified at `since`; undefined if verification is
   * disabled.
   */
  nextAt({ metadata, spec }: StoredToken, since: number): number | undefined {
    if (this.#options.intervalMs === 0) return undefined;
    const { next, doubtedAt = -Infinity } = this.#samplingStates.get(spec.clusterName) ?? {};
    // If `doubtedAt` is in the future, the clock was set back after that time.
    const isDoubted = since < doubtedAt && doubtedAt <= this.#options.clock.now();
    if (next === metadata.uid || isDoubted) return since;
    return computeNextTurnAt('verify', metadata.uid, since, this.intervalMs);
  }

  /**
   * Records the result of a verification. After a rejected sample, requests another sample. After three rejected samples in a row, or if no
   * other sample was found, requests the verification of all tokens of the cluster, at most once per interval.
   */
  record(token: StoredToken, result: VerificationResult): void {
    const { uid } = token.metadata;
    const { clusterName } = token.spec;
    const { clock, intervalMs } = this.#options;
    const sampling = this.#samplingStates.get(clusterName);
    if (sampling === undefined || (sampling.next !== uid && result !== 'accepted')) return;
    if (sampling.next === uid) sampling.next = undefined;
    if (result === 'accepted') sampling.rejected = [];
    if (result === 'forbidden') sampling.pausedUntil = clock.monotonic() + intervalMs;
    if (result !== 'rejected') return;
    sampling.rejected = [...sampling.rejected, token];
    const others = sampling.rejected.length < MAX_REJECTED ? this.#sample(clusterName) : [];
    for (const key of others.length > 0 ? others : this.#markAll(clusterName, sampling)) this.#requested$.next(key);
  }

  /** Marks all tokens of a cluster for verification, at most once per interval, and returns the keys of the ManagedTokens to verify. */
  #markAll(clusterName: string, sampling: SamplingState): readonly string[] {
    const { clock, intervalMs, view } = this.#options;
    const now = clock.now();
    sampling.rejected = [];
    // A tenant may own most tokens of the cluster, and re-create their service accounts repeatedly.
    if (sampling.doubtedAt <= now && now < sampling.doubtedAt + intervalMs) return [];
    sampling.doubtedAt = now;
    return view.tokensForCluster.keys(clusterName);
  }

  /** Emits the keys of ManagedTokens whose tokens are to be verified now: periodic samples, and further tokens after a rejection. */
  get requests$(): Observable<string> {
    return merge(
      this.#requested$,
      fromAbortable((signal) => this.#samples(signal)),
    );
  }

  async *#samples(signal: AbortSignal): AsyncGenerator<string> {
    const { clock, intervalMs } = this.#options;
    if (intervalMs === 0) return;
    const stepMs = Math.max(MIN_SAMPLE_MS, intervalMs / SAMPLES) / STEPS;
    for (;;) {
      const names = this.#namesToSample();
      for (let step = 0; step < STEPS; step++) {
        await sleep(clock, stepMs, signal);
        for (let index = step; index < names.length; index += STEPS) yield* this.#sampleAgain(names[index] as string);
      }
    }
  }

  /**
   * Returns the key of the next sample of a cluster. If the last sample followed a rejection and is still unverified, returns the keys of
   * all ManagedTokens of the cluster, at most once per interval, because a tenant may prevent the verification.
   */
  #sampleAgain(clusterName: string): readonly string[] {
    const sampling = this.#samplingStates.get(clusterName);
    if (sampling?.next === undefined || sampling.rejected.length === 0) return this.#sample(clusterName);
    sampling.next = undefined;
    return this.#markAll(clusterName, sampling);
  }

  /** Returns the names of all Clusters, and forgets the samples of deleted Clusters. */
  #namesToSample(): readonly string[] {
    const names = this.#options.view.registry.clusters.keys();
    const known = new Set(names);
    for (const name of this.#samplingStates.keys()) if (!known.has(name)) this.#samplingStates.delete(name);
    return names;
  }

  /**
   * Selects the next ManagedToken of a cluster to verify, at random, and records it as the pending sample. Returns a list with the key of
   * the ManagedToken; an empty list if there is none, or if sampling is paused. Skips the namespaces and service accounts of rejected
   * samples. All namespaces are equally likely, so that a tenant with many tokens does not displace others.
   */
  #sample(clusterName: string): readonly string[] {
    const { clock, view } = this.#options;
    const sampling = this.#samplingStates.get(clusterName) ?? createSamplingState();
    if (clock.monotonic() < sampling.pausedUntil) return [];
    const token = this.#selectAtRandom(view.verifiableForCluster.keys(clusterName), sampling);
    if (token === undefined) return [];
    sampling.next = token.metadata.uid;
    this.#samplingStates.set(clusterName, sampling);
    return [objectKeyOf(token)];
  }

  /**
   * Selects a ManagedToken that can be verified, and has neither the namespace nor the service account of a rejected sample: a random one in
   * a random namespace or, if none of MAX_IN_NAMESPACE is suitable, in another namespace. Returns undefined if none of MAX_CHECKED is.
   */
  #selectAtRandom(keys: readonly string[], { rejected }: SamplingState): StoredToken | undefined {
    const byNamespace = Map.groupBy(keys, namespaceOf);
    for (const { metadata } of rejected) byNamespace.delete(metadata.namespace);
    const namespaces = [...byNamespace.values()];
    let left = MAX_CHECKED;
    while (left > 0 && namespaces.length > 0) {
      const namespace = this.#takeAtRandom(namespaces);
      for (const last = Math.max(left - MAX_IN_NAMESPACE, 0); left > last && namespace.length > 0; left--) {
        const token = this.#options.view.tokens.get(this.#takeAtRandom(namespace));
        if (token !== undefined && this.#canVerify(token) && !hasServiceAccountOfAny(token, rejected)) return token;
      }
    }
    return undefined;
  }

  #canVerify(token: StoredToken): boolean {
    return this.#options.view.secrets.get(secretKeyOf(token))?.tokenDigest !== undefined;
  }

  /** Removes and returns a random item; moves the last item to its place. */
  #takeAtRandom<T>(items: T[]): T {
    const index = Math.floor(this.#options.random() * items.length);
    const [last, item] = [items.pop()!, items[index]];
    if (index === items.length) return last;
    items[index] = last;
    return item!;
  }

  /** Returns the number of issuances, weighted by age. */
  #countIssuances(): number {
    return this.#issued * Math.exp((this.#countedAt - this.#options.clock.monotonic()) / AVERAGED_MS);
  }
}

function createSamplingState(): SamplingState {
  return { next: undefined, rejected: [], pausedUntil: -Infinity, doubtedAt: -Infinity };
}

/** Returns whether a ManagedToken is for the service account of one of the others. */
function hasServiceAccountOfAny({ spec }: StoredToken, others: readonly StoredToken[]): boolean {
  const subject = toServiceAccountUsername(spec.serviceAccount);
  return others.some((other) => toServiceAccountUsername(other.spec.serviceAccount) === subject);
}

/** Maximum ratio of the requests for verifications to those for issuances. */
const SHARE = 0.2;
/** Number of requests for an issuance: the review of the permission, the token, the Secret and the status. */
const ISSUANCE_REQUESTS = 4;
/** Number of requests for a verification: the Secret and the TokenReview. */
const VERIFICATION_REQUESTS = 2;
/** Rate of requests for verifications that is always allowed, per second. */
const MIN_PER_SECOND = 1;

/**
 * Returns the interval between two verifications of each of `tokens` tokens: `intervalMs`, multiplied by the smallest power of two that
 * keeps the requests for verifications within SHARE or, for few issuances, within MIN_PER_SECOND.
 */
export function stretchIntervalMs(intervalMs: number, tokens: number, issuancesPerSecond: number): number {
  const allowedPerSecond = Math.max(MIN_PER_SECOND, SHARE * ISSUANCE_REQUESTS * issuancesPerSecond);
  const requiredMs = (tokens * VERIFICATION_REQUESTS * 1_000) / allowedPerSecond;
  if (intervalMs === 0 || requiredMs <= intervalMs) return intervalMs;
  return intervalMs * 2 ** Math.ceil(Math.log2(requiredMs / intervalMs));
}
