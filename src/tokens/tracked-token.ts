// Memory of the controller about ManagedTokens, by UID. All of it may be lost: a restart costs a few requests, never a token.

import type { ManagedTokenStatus } from '../api/managed-token.gen.ts';
import type { Stored } from '../api/resources.ts';
import { toOverBudgetStub } from '../kube/namespace-bytes.ts';
import { OwnWrite } from '../kube/own-write.ts';
import { Backoff, exponentialMs } from '../std/backoff.ts';
import type { Clock } from '../std/clock.ts';
import { AnchorDeletions } from './anchor-deletions.ts';
import { MAX_ANCHORS } from './policy/anchors.ts';
import type { TokenFailure } from './policy/messages.ts';
import type { SignedDigest } from './policy/record.ts';
import type { StoredSecret } from './policy/secret.ts';
import type { StoredToken } from './policy/spec.ts';
import type { SecretReference, Verdict } from './policy/state.ts';
import { reduceToken, TOKEN_BUDGET } from './reduce.ts';

/** Tracked ManagedTokens by UID. */
export class TrackedTokens {
  readonly #tracked = new Map<string, TrackedToken>();
  readonly #refused = new Set<TrackedToken>();

  /** Returns the state of a ManagedToken; a new state that is not kept if the ManagedToken is not tracked, or `uid` is undefined. */
  of(uid: string | undefined): TrackedToken {
    const tracked = uid === undefined ? undefined : this.#tracked.get(uid);
    return tracked ?? new TrackedToken(new Set());
  }

  /** Tracks a ManagedToken until `forget`. The caller must know that it exists. */
  keep(uid: string): TrackedToken {
    const tracked = this.#tracked.get(uid) ?? new TrackedToken(this.#refused);
    this.#tracked.set(uid, tracked);
    return tracked;
  }

  forget(uid: string): void {
    this.#tracked.get(uid)?.detach();
    this.#tracked.delete(uid);
  }

  /** Number of tracked ManagedTokens. */
  get size(): number {
    return this.#tracked.size;
  }

  /** ManagedTokens whose last review denied permission, until their withdrawal is complete. */
  get refused(): ReadonlySet<TrackedToken> {
    return this.#refused;
  }
}

const BACKOFF = { initialMs: 10_000, maxMs: 300_000 };
const ISSUING = { ...BACKOFF, calmMs: Infinity };
const REPAIRS = { ...BACKOFF, free: 4, calmMs: 600_000 };
/** Delays between reviews that allow a token contrary to the indexed RBAC rules. */
const UNEXPECTED = { initialMs: 1_000, maxMs: 30_000 };
/**
 * Period after which reviews that contradict the indexed RBAC rules are trusted, in milliseconds; much longer than the hub's authorizer
 * lags behind a watch.
 */
const UNEXPECTED_MS = 30_000;

/** An access review that allowed the requester to issue the token. */
export interface Allowance {
  /** Name under which RBAC allowed the token. */
  readonly name: string;
  /** Key of the requester and the target that were reviewed. */
  readonly reviewKey: string;
  /** Number of `rbacChanges` when the review began. */
  readonly rbacChanges: number;
  /** True if the informers also have the requester, and RBAC rules that allow the token. */
  readonly isExpected: boolean;
  /** False if the review must be repeated until `isExpected` is true. */
  readonly isLasting: boolean;
}

/** Source of the location of an orphaned anchor: `recorded` by Purser, or `claimed` by the Secret, which tenants write. */
export type OrphanSource = 'recorded' | 'claimed';

const NEVER: readonly number[] = [];
const NONE_UNEXPECTED: { readonly count: number; readonly since?: number } = { count: 0 };

/** State of one ManagedToken between reconciles. Every ManagedToken has one, so rarely needed parts are created on demand. */
export class TrackedToken {
  /** Name under which the last review allowed the token; undefined before the first such review. */
  allowedAs: string | undefined;
  /** Set of the cluster in the last review that allowed a run to issue the token; undefined before the first one. */
  reviewedClusterSet: string | undefined;
  /** Time of the next reconcile that the plans of the last run requested; undefined if they requested none, or if the run failed first. */
  requeueAt: number | undefined;
  /** Failure of the last run; undefined if it succeeded. */
  failure: TokenFailure | undefined;
  verdict: Verdict | undefined;
  verifiedAt: number | undefined;
  /** Status that was sent last. */
  status: ManagedTokenStatus | undefined;
  /** Secret with the desired name that the informer does not deliver, because it lacks Purser's label; undefined if there is none. */
  unlabeled: { readonly secret: StoredSecret; readonly seenAt: number } | undefined;
  lastIssuedAt: number | undefined;
  /** Digest of the token that was issued and written last; undefined before the first one. */
  issuedDigest: SignedDigest | undefined;
  /** Digest of the Secret that was written last, see `digestOfSecret`; undefined before the first one. */
  writtenDigest: string | undefined;
  /** The Secret that was written last; undefined before the first one. */
  writtenSecret: SecretReference | undefined;
  /** Time of the last run despite an exceeded budget, on the monotonic clock. */
  urgentAt = Number.NEGATIVE_INFINITY;
  /** Time at which a run was last deferred because of an exceeded budget, on the monotonic clock; -Infinity after a run. */
  deferredAt = Number.NEGATIVE_INFINITY;
  /** True if a change in the namespace has triggered the ManagedToken since its last run. */
  isTriggeredByTenant = false;
  /** Message of the last event about a shortened lifetime. */
  shortened: string | undefined;
  /** Earliest time of the next attempt to delete former anchors; undefined if nothing delays it. */
  anchorsAt: number | undefined;
  /** Ends the requests of the current run; undefined without a run that may wait for a cluster. */
  interrupt: (() => void) | undefined;
  /** True if the next run needs a slot of the cluster in the spec. */
  isDialing = false;
  #deletions: AnchorDeletions | undefined;
  #issuing: Backoff | undefined;
  /** Purser's last write of the ManagedToken; undefined before the first write or change. */
  #token: OwnWrite<StoredToken> | undefined;
  /** Purser's last write of the Secret with the desired name; undefined before the first write or change. */
  #secret: OwnWrite<StoredSecret> | undefined;
  /** Version and token digest of the Secret that was written last; undefined before the first write. */
  written: { readonly resourceVersion: string | undefined; readonly tokenDigest: string | undefined } | undefined;
  /** Set during a write of the Secret; `delivered` is the last version from the watch, which is most likely that of the write. */
  #writing: { delivered: string | undefined } | undefined;
  #isOvertaken = false;
  #repairs: Backoff | undefined;
  /** Generation of the ManagedToken at the last repair; undefined before the first repair. */
  #repairedFor: number | undefined;
  #refused: Set<TrackedToken>;
  #refusedAt = NEVER;
  #rbacChanges = 0;
  #unexpectedRefusals = 0;
  #confirmed: { readonly reviewKey: string; readonly until: number } | undefined;
  /** Number of reviews that unexpectedly allowed the token since RBAC changed or a review denied it, with the time of the first. */
  #unexpected = NONE_UNEXPECTED;
  #countedIn: string | undefined;
  #isSelfCaused = false;
  #isRemoved = false;
  #deletedAnchors: Set<string> | undefined;
  /** Anchors that were reported as orphaned; tenants can claim any number of others. */
  #orphans: Readonly<Record<OrphanSource, Set<string>>> | undefined;

  /** `refused` receives this object while its last review denies permission. */
  constructor(refused: Set<TrackedToken>) {
    this.#refused = refused;
  }

  /** Times of the first and the last of consecutive reviews that denied permission. */
  get refusedAt(): readonly number[] {
    return this.#refusedAt;
  }

  /** Namespace for which a removal limit counts the refused token; undefined if the Secret holds no token from Purser. */
  get countedIn(): string | undefined {
    return this.#countedIn;
  }

  /** True if the tenant caused the refusal, by a change to the spec or the deletion of the requester. */
  get isSelfCaused(): boolean {
    return this.#isSelfCaused;
  }

  /** True if the Secret was removed after the refusals, and anchors are left. */
  get isRemoved(): boolean {
    return this.#isRemoved;
  }

  /** Records that the Secret was removed: the removal limits count the removal, and no longer the refusal. */
  recordRemoval(): void {
    this.#countedIn = undefined;
    this.#isRemoved = true;
  }

  /** Backoff between issuances whose tokens could not be written. */
  get issuing(): Backoff {
    this.#issuing ??= new Backoff(ISSUING);
    return this.#issuing;
  }

  /** Deletions of anchors in the lanes of other clusters. */
  get deletions(): AnchorDeletions {
    this.#deletions ??= new AnchorDeletions();
    return this.#deletions;
  }

  /** Locations of anchors that Purser found and deleted after their Cluster was replaced, so they are not orphaned. */
  get deletedAnchors(): Set<string> {
    this.#deletedAnchors ??= new Set();
    return this.#deletedAnchors;
  }

  /** True if a deletion of an anchor waits for a slot. */
  get isWaitingForSlot(): boolean {
    return this.#deletions?.isWaiting === true;
  }

  /** Records a review that denied permission. */
  refuse(
    now: number,
    { countedIn, isSelfCaused = false }: { readonly countedIn?: string | undefined; readonly isSelfCaused?: boolean } = {},
  ): void {
    this.#countedIn = countedIn;
    this.#isSelfCaused = isSelfCaused || (this.#refusedAt.length > 0 && this.#isSelfCaused);
    const [first = now] = this.#refusedAt;
    this.#confirmed = undefined;
    this.#unexpected = NONE_UNEXPECTED;
    // A first refusal in the future is from before the clock was set back.
    this.#refusedAt = [Math.min(first, now), now];
    this.#refused.add(this);
  }

  /** Number of changes to RBAC, and to the cluster's set, that concerned the requester. */
  get rbacChanges(): number {
    return this.#rbacChanges;
  }

  /**
   * Records a change to RBAC for the requester, or to the cluster's set: neither earlier reviews nor a review in progress apply any longer.
   */
  recordRbacChange(): void {
    this.#rbacChanges += 1;
    this.#unexpectedRefusals = 0;
    this.#confirmed = undefined;
    this.#unexpected = NONE_UNEXPECTED;
  }

  /**
   * Records a review that allowed the token. A review that contradicts the indexed RBAC rules confirms the permission for a few seconds
   * only: the hub's authorizer may not have seen a deleted binding yet. From 30 s after the first such review, a lasting one is trusted,
   * because the index does not cover other authorizers. Times are monotonic.
   */
  allow({ name, reviewKey, rbacChanges, isExpected, isLasting }: Allowance, now: number): void {
    this.allowedAs = name;
    if (rbacChanges !== this.#rbacChanges) return;
    this.#confirmed = { reviewKey, until: isExpected ? Infinity : this.#trustUntil(now, isLasting) };
    this.forgetRefusals();
  }

  #trustUntil(now: number, isLasting: boolean): number {
    const { count, since = now } = this.#unexpected;
    this.#unexpected = { count: count + 1, since };
    return now - since < UNEXPECTED_MS || !isLasting ? now + exponentialMs(count, UNEXPECTED) : Infinity;
  }

  /** Returns whether a review allowed `reviewKey` since RBAC last changed for the requester and need not be repeated yet. */
  isConfirmed(reviewKey: string, now: number): boolean {
    return this.#confirmed?.reviewKey === reviewKey && now < this.#confirmed.until;
  }

  /** Time of the next review of an unexpected permission, on the monotonic clock; Infinity if none is needed. */
  get reviewAt(): number {
    return this.#confirmed?.until ?? Infinity;
  }

  /** Counts a refusal that contradicts the indexed RBAC rules; returns the number of earlier ones since RBAC changed. */
  countUnexpectedRefusal(): number {
    return this.#unexpectedRefusals++;
  }

  /** Forgets refusals, after permission was granted or the Secret was removed. */
  forgetRefusals(): void {
    this.#refusedAt = NEVER;
    this.#isRemoved = false;
    this.#refused.delete(this);
  }

  /** Ends tracking: a run in progress no longer affects the set of refused tokens. */
  detach(): void {
    this.forgetRefusals();
    this.#refused = new Set();
  }

  /** Returns whether to report an orphaned anchor: each once, and at most 16 of each source. */
  isUnreportedOrphan(location: string, source: OrphanSource): boolean {
    const reported = this.#orphans?.[source];
    return reported === undefined || (!reported.has(location) && reported.size < MAX_ANCHORS);
  }

  /** Records that an orphaned anchor was reported. */
  recordOrphanReport(location: string, source: OrphanSource): void {
    this.#orphans ??= { recorded: new Set(), claimed: new Set() };
    this.#orphans[source].add(location);
  }

  /** Limits the time of the last verification to now: a time in the future is from before the clock was set back. */
  limitVerifiedAt(startedAt: number, now: number): void {
    if ((this.verifiedAt ?? startedAt) > now) this.verifiedAt = now;
  }

  /** Records an issuance; until its token is written, the next one backs off. */
  recordIssuance(clock: Clock): void {
    this.lastIssuedAt = clock.now();
    this.issuing.nextMs(clock.monotonic());
  }

  /** Returns the time until the next repair of the Secret, in milliseconds. Repairs for another generation of the spec are ignored. */
  repairPauseMs(generation: number | undefined, monotonic: number): number {
    return generation === this.#repairedFor ? (this.#repairs?.remainingMs(monotonic) ?? 0) : 0;
  }

  /** Records a repair of the Secret. */
  recordRepair(generation: number | undefined, monotonic: number): void {
    this.#repairs ??= new Backoff(REPAIRS);
    if (generation !== this.#repairedFor) this.#repairs.reset();
    this.#repairedFor = generation;
    this.#repairs.nextMs(monotonic);
  }

  /** Records the response to Purser's write of the ManagedToken, and returns the object; `before` if the response is another object. */
  recordTokenWrite(response: Stored<StoredToken>, before: StoredToken, now: number): StoredToken {
    if (response.metadata.uid !== before.metadata.uid) return before;
    const whole = reduceToken(response);
    const token = before.isOverBudget ? toOverBudgetStub(whole, TOKEN_BUDGET) : whole;
    this.#token ??= new OwnWrite();
    this.#token.record(token, before, now);
    return token;
  }

  /** Returns the latest known ManagedToken; `informed` is the informer's. */
  latestToken(informed: StoredToken, now: number): StoredToken {
    return this.#token?.resolve(informed, now) ?? informed;
  }

  /** Records the ManagedToken as the watch delivers it. */
  observeToken(token: StoredToken): void {
    this.#token ??= new OwnWrite();
    // Keeps the informer's copy of the status instead of an equal one.
    if (this.#token.acknowledge(token)) this.status = token.status;
  }

  /** Records the Secret with the desired name as the watch delivers it; undefined after its deletion. */
  observeSecret(secret: StoredSecret | undefined): void {
    if (secret === undefined) return this.#secret?.forget();
    this.#secret ??= new OwnWrite();
    this.#secret.acknowledge(secret);
    if (this.#writing !== undefined) this.#writing.delivered = secret.metadata.resourceVersion;
  }

  /** Returns whether a Secret that the watch delivers is Purser's own write, or most likely the one in progress. */
  isOwnWrite({ metadata }: StoredSecret): boolean {
    return this.#writing !== undefined || this.written?.resourceVersion === metadata.resourceVersion;
  }

  /** True if another client changed the Secret right after it was written, and the change triggered no reconcile. */
  get isOvertaken(): boolean {
    return this.#isOvertaken;
  }

  /** Begins a write of the Secret; the caller must call `endWrite` when it succeeded or failed. */
  beginWrite(): void {
    this.#writing = { delivered: undefined };
  }

  endWrite(): void {
    this.#writing = undefined;
  }

  /** Records that the Secret was written in place of `replaced`. */
  recordSecretWrite(secret: StoredSecret, replaced: StoredSecret | undefined, now: number): void {
    const { resourceVersion } = secret.metadata;
    const { delivered = resourceVersion } = this.#writing ?? {};
    if (delivered !== resourceVersion) this.#isOvertaken = true;
    this.#issuing?.reset();
    this.written = { resourceVersion, tokenDigest: secret.tokenDigest };
    this.unlabeled = undefined;
    this.#secret ??= new OwnWrite();
    this.#secret.record(secret, replaced, now);
  }

  /** Forgets a change that overtook the last write, once the next reconcile is requested. */
  clearOvertaken(): void {
    this.#isOvertaken = false;
  }

  /** Records a read of the Secret with the desired name; `unlabeled` is the Secret if it lacks Purser's label, undefined otherwise. */
  recordRead(unlabeled: StoredSecret | undefined, now: number): void {
    this.unlabeled = unlabeled && { secret: unlabeled, seenAt: now };
    this.#secret?.forget();
  }

  /** Returns the latest known Secret with the desired name; `informed` is the informer's. */
  latestSecret(informed: StoredSecret | undefined, name: string, now: number): StoredSecret | undefined {
    const latest = this.#secret === undefined ? informed : this.#secret.resolve(informed, now);
    return [latest, this.unlabeled?.secret].find((secret) => secret?.metadata.name === name);
  }
}
