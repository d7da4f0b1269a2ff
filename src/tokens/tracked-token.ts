// Memory of the controller about ManagedTokens in one term, by UID. Without it, the controller needs a few more requests, but loses no
// token.

import type { ManagedTokenStatus } from '../api/managed-token.gen.ts';
import type { Stored } from '../api/resources.ts';
import { toOverBudgetStub } from '../kube/namespace-bytes.ts';
import { OwnWrite } from '../kube/own-write.ts';
import { Backoff, computeExponentialMs } from '../std/backoff.ts';
import type { Clock } from '../std/clock.ts';
import type { TokenFailure } from './policy/messages.ts';
import type { SignedDigest } from './policy/record.ts';
import type { StoredSecret } from './policy/secret.ts';
import type { StoredToken } from './policy/spec.ts';
import type { ReviewVerdict, SecretReference } from './policy/state.ts';
import { reduceToken, TOKEN_BUDGET } from './reduce.ts';
import { TrackedAnchors } from './tracked-anchors.ts';

/** Tracked ManagedTokens by UID. */
export class TrackedTokens {
  readonly #tracked = new Map<string, TrackedToken>();
  readonly #refused = new Set<TrackedToken>();

  /**
   * Returns the state of a ManagedToken. If the ManagedToken is not tracked, or `uid` is undefined, returns a new state that is not kept.
   */
  of(uid: string | undefined): TrackedToken {
    const tracked = uid === undefined ? undefined : this.#tracked.get(uid);
    return tracked ?? new TrackedToken(new Set());
  }

  /** Returns the state of a ManagedToken, and tracks it until `forget` or `endRun`. The caller must know that the ManagedToken exists. */
  keep(uid: string): TrackedToken {
    const tracked = this.#tracked.get(uid) ?? new TrackedToken(this.#refused);
    this.#tracked.set(uid, tracked);
    return tracked;
  }

  /** Stops tracking a ManagedToken after a run if there is nothing to remember, as for nearly all ManagedTokens after a restart. */
  endRun(uid: string): void {
    if (this.#tracked.get(uid)?.isInitial) this.#tracked.delete(uid);
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
const ISSUING_BACKOFF = { ...BACKOFF, calmMs: Infinity };
const REPAIR_BACKOFF = { ...BACKOFF, free: 4, calmMs: 600_000 };
/** Delays between reviews that allow a token contrary to the indexed RBAC rules. */
const UNEXPECTED_DELAYS = { initialMs: 1_000, maxMs: 30_000 };
/**
 * Period after which reviews that contradict the indexed RBAC rules are trusted, in milliseconds; much longer than the hub's authorizer
 * lags behind a watch.
 */
const UNEXPECTED_MS = 30_000;

/** An access review that allowed the requester to issue the token. */
export interface AllowedReview {
  /** Resource name that the review allowed, see `toIssueNames`. */
  readonly name: string;
  /** Key of the requester and the target that were reviewed. */
  readonly reviewKey: string;
  /** Value of `TrackedToken.rbacChanges` at the start of the review. */
  readonly rbacChanges: number;
  /** True if the informers also contain the requester and RBAC rules that allow the token. */
  readonly isExpected: boolean;
  /** False if the review must be repeated until `isExpected` is true. */
  readonly isLasting: boolean;
}

/** Consecutive reviews that denied permission. */
interface Refusals {
  /** Times of the first and the last of these reviews. */
  readonly at: readonly number[];
  readonly countedIn: string | undefined;
  readonly isSelfCaused: boolean;
  readonly isRemoved: boolean;
}

const NO_REFUSALS: Refusals = { at: [], countedIn: undefined, isSelfCaused: false, isRemoved: false };

/** Reviews that contradict the indexed RBAC rules, since RBAC last changed for the requester. */
interface UnexpectedReviews {
  readonly refusals: number;
  /** Number of reviews that allowed the token since a review last denied it; `since` is the time of the first of them. */
  readonly allowances: number;
  readonly since?: number;
}

const NONE_UNEXPECTED: UnexpectedReviews = { refusals: 0, allowances: 0 };

/** State of one ManagedToken between reconciles. A fleet may have many such states, so rarely needed parts are created on demand. */
export class TrackedToken {
  /** Resource name in the last review that allowed the token, see `toIssueNames`; undefined before the first such review. */
  allowedAs: string | undefined;
  /** Set of the cluster in the last review that allowed a run to issue the token; undefined before the first such review. */
  reviewedClusterSet: string | undefined;
  /** Time of the next reconcile that the last run requested; undefined if it requested none, has not ended, or threw before its end. */
  requeueAt: number | undefined;
  /** Failure of the last run; undefined if it succeeded. */
  failure: TokenFailure | undefined;
  verdict: ReviewVerdict | undefined;
  verifiedAt: number | undefined;
  /** Status that was sent last; undefined before the first write. */
  status: ManagedTokenStatus | undefined;
  /** Secret with the desired name that the informer does not deliver, because it lacks Purser's label; undefined if there is none. */
  unlabeled: { readonly secret: StoredSecret; readonly seenAt: number } | undefined;
  lastIssuedAt: number | undefined;
  /** Digest of the token that was issued and written last; undefined before the first token. */
  issuedDigest: SignedDigest | undefined;
  /** Digest of the Secret that was written last, see `toSecretDigest`; undefined before the first write. */
  writtenDigest: string | undefined;
  /** The Secret that was written last; undefined before the first write. */
  writtenSecret: SecretReference | undefined;
  /** Time of the last run despite an exceeded budget, on the monotonic clock; undefined before the first such run. */
  urgentAt: number | undefined;
  /** Time at which a run was last deferred because of an exceeded budget, on the monotonic clock; undefined after a run. */
  deferredAt: number | undefined;
  /** True if a change in the namespace has triggered the ManagedToken since its last run. */
  isTriggeredByTenant = false;
  /** Message of the last event about a shortened lifetime; undefined if there was none. */
  shortened: string | undefined;
  /** Earliest time of the next attempt to delete former anchors; undefined if nothing delays it. */
  anchorsAt: number | undefined;
  /** Ends the requests of the current run; undefined unless a run that can be interrupted is in progress. */
  interrupt: (() => void) | undefined;
  /** True if the next run needs a slot of the cluster in the spec. */
  isDialing = false;
  #anchors: TrackedAnchors | undefined;
  #issuing: Backoff | undefined;
  /** Purser's last write of the ManagedToken; undefined before the first write or change. */
  #token: OwnWrite<StoredToken> | undefined;
  /** Purser's last write of the Secret with the desired name; undefined before the first write or change. */
  #secret: OwnWrite<StoredSecret> | undefined;
  /** Version and token digest of the Secret that was written last; undefined before the first write. */
  written: { readonly resourceVersion: string | undefined; readonly tokenDigest: string | undefined } | undefined;
  /**
   * State of a write of the Secret; undefined while none is in progress. `delivered` is the last version that the watch has delivered
   * during the write, most likely the version being written.
   */
  #writing: { delivered: string | undefined } | undefined;
  #isOvertaken = false;
  /** Repairs of the Secret for one generation of the ManagedToken; undefined before the first repair. */
  #repairs: { readonly generation: number | undefined; readonly backoff: Backoff } | undefined;
  #refused: Set<TrackedToken>;
  #refusals = NO_REFUSALS;
  #rbacChanges = 0;
  #confirmed: { readonly reviewKey: string; readonly until: number } | undefined;
  #unexpected = NONE_UNEXPECTED;

  /** `refused` contains this object from a review that denies permission until `forgetRefusals`. */
  constructor(refused: Set<TrackedToken>) {
    this.#refused = refused;
  }

  /** True if this state is that of an untracked ManagedToken, apart from `requeueAt`, which only a retry of the same run needs. */
  get isInitial(): boolean {
    const { requeueAt: _, ...fields } = this;
    const parts = [this.#anchors, this.#issuing, this.#token, this.#secret, this.#writing, this.#repairs, this.#confirmed];
    return (
      [...Object.values(fields), ...parts].every((value) => value === undefined || value === false) &&
      this.#refusals === NO_REFUSALS &&
      this.#unexpected === NONE_UNEXPECTED &&
      this.#rbacChanges === 0 &&
      !this.#isOvertaken
    );
  }

  /** Times of the first and the last of consecutive reviews that denied permission. */
  get refusedAt(): readonly number[] {
    return this.#refusals.at;
  }

  /** Namespace for which the removal limits count the refused token; undefined unless the Secret holds the last issued, unexpired token. */
  get countedIn(): string | undefined {
    return this.#refusals.countedIn;
  }

  /** True if the tenant caused the refusal, by a change to the spec or the deletion of the requester. */
  get isSelfCaused(): boolean {
    return this.#refusals.isSelfCaused;
  }

  /** True if the Secret was removed after the refusals, but the withdrawal is not complete, for example because anchors are left. */
  get isRemoved(): boolean {
    return this.#refusals.isRemoved;
  }

  /** Records that the Secret was removed: the removal limits count the removal, and no longer the refusal. */
  recordRemoval(): void {
    this.#refusals = { ...this.#refusals, countedIn: undefined, isRemoved: true };
  }

  /** Backoff between issuances whose tokens could not be written. */
  get issuing(): Backoff {
    this.#issuing ??= new Backoff(ISSUING_BACKOFF);
    return this.#issuing;
  }

  get anchors(): TrackedAnchors {
    this.#anchors ??= new TrackedAnchors();
    return this.#anchors;
  }

  /** True if a deletion of an anchor waits for a slot. */
  get isWaitingForSlot(): boolean {
    return this.#anchors?.deletions.isWaiting === true;
  }

  /** Records a review that denied permission. */
  recordRefusal(
    now: number,
    { countedIn, isSelfCaused = false }: { readonly countedIn?: string | undefined; readonly isSelfCaused?: boolean } = {},
  ): void {
    const { at, isSelfCaused: wasSelfCaused, isRemoved } = this.#refusals;
    const [first = now] = at;
    this.#confirmed = undefined;
    this.#unexpected = { ...NONE_UNEXPECTED, refusals: this.#unexpected.refusals };
    // A first refusal in the future is from before the clock was set back.
    this.#refusals = { at: [Math.min(first, now), now], countedIn, isSelfCaused: isSelfCaused || wasSelfCaused, isRemoved };
    this.#refused.add(this);
  }

  /** Number of changes to RBAC, the requester or the cluster's set that may affect the permission. */
  get rbacChanges(): number {
    return this.#rbacChanges;
  }

  /** Records a change to RBAC, the requester or the cluster's set: no review that began earlier confirms the permission any longer. */
  recordRbacChange(): void {
    this.#rbacChanges += 1;
    this.#confirmed = undefined;
    this.#unexpected = NONE_UNEXPECTED;
  }

  /**
   * Records a review that allowed the token; records only its `name` if RBAC has changed since the start of the review. A review that
   * contradicts the indexed RBAC rules confirms the permission for 1 s at first, and for at most 30 s later: the hub's authorizer may not
   * have seen a deleted binding yet. From 30 s after the first such review, a review with `isLasting` is trusted until RBAC changes,
   * because the index does not cover other authorizers. Times are monotonic.
   */
  recordAllowedReview({ name, reviewKey, rbacChanges, isExpected, isLasting }: AllowedReview, now: number): void {
    this.allowedAs = name;
    if (rbacChanges !== this.#rbacChanges) return;
    this.#confirmed = { reviewKey, until: isExpected ? Infinity : this.#trustUntil(now, isLasting) };
    this.forgetRefusals();
  }

  #trustUntil(now: number, isLasting: boolean): number {
    const { refusals, allowances, since = now } = this.#unexpected;
    this.#unexpected = { refusals, allowances: allowances + 1, since };
    return now - since < UNEXPECTED_MS || !isLasting ? now + computeExponentialMs(allowances, UNEXPECTED_DELAYS) : Infinity;
  }

  /**
   * Returns whether a review with this key has allowed the token since RBAC last changed for the requester, and need not be repeated yet.
   */
  isConfirmed(reviewKey: string, now: number): boolean {
    return this.#confirmed?.reviewKey === reviewKey && now < this.#confirmed.until;
  }

  /** Time of the next review of an unexpected permission, on the monotonic clock; Infinity if none is needed. */
  get reviewAt(): number {
    return this.#confirmed?.until ?? Infinity;
  }

  /** Counts a refusal that contradicts the indexed RBAC rules; returns the number of earlier ones since RBAC last changed. */
  countUnexpectedRefusal(): number {
    const { refusals } = this.#unexpected;
    this.#unexpected = { ...this.#unexpected, refusals: refusals + 1 };
    return refusals;
  }

  /** Forgets refusals, after permission was granted or the Secret was removed. */
  forgetRefusals(): void {
    this.#refusals = NO_REFUSALS;
    this.#refused.delete(this);
  }

  /** Ends tracking: a run in progress no longer affects the set of refused tokens. */
  detach(): void {
    this.#refused.delete(this);
    this.#refused = new Set();
  }

  /** Limits the time of the last verification to now: a time in the future is from before the clock was set back. */
  limitVerifiedAt(startedAt: number, now: number): void {
    if ((this.verifiedAt ?? startedAt) > now) this.verifiedAt = now;
  }

  /** Records an issuance; until a token is written, further issuances back off. */
  recordIssuance(clock: Clock): void {
    this.lastIssuedAt = clock.now();
    this.issuing.nextMs(clock.monotonic());
  }

  /** Returns the time until the next repair of the Secret, in milliseconds. Ignores repairs for other generations of the spec. */
  repairPauseMs(generation: number | undefined, monotonic: number): number {
    return this.#repairs?.generation === generation ? (this.#repairs?.backoff.remainingMs(monotonic) ?? 0) : 0;
  }

  /** Records a repair of the Secret. */
  recordRepair(generation: number | undefined, monotonic: number): void {
    if (this.#repairs?.generation !== generation) this.#repairs = undefined;
    this.#repairs ??= { generation, backoff: new Backoff(REPAIR_BACKOFF) };
    this.#repairs.backoff.nextMs(monotonic);
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

  /** Returns the latest known ManagedToken; `informed` is the informer's copy. */
  latestToken(informed: StoredToken, now: number): StoredToken {
    return this.#token?.resolve(informed, now) ?? informed;
  }

  /** Records the ManagedToken as the watch delivers it. */
  observeToken(token: StoredToken): void {
    this.#token ??= new OwnWrite();
    // Keeps the informer's copy of the status instead of an equal one.
    if (this.#token.acknowledge(token)) this.status = token.status;
  }

  /** Records the Secret with the desired name as the watch delivers it; `secret` is undefined after the deletion. */
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

  /** Begins a write of the Secret; the caller must call `endWrite` after the write has succeeded or failed. */
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

  /** Forgets a change that overtook the last write. Call it when the next reconcile is requested. */
  clearOvertaken(): void {
    this.#isOvertaken = false;
  }

  /** Records a read of the Secret with the desired name; `unlabeled` is the Secret if it lacks Purser's label, undefined otherwise. */
  recordRead(unlabeled: StoredSecret | undefined, now: number): void {
    this.unlabeled = unlabeled && { secret: unlabeled, seenAt: now };
    this.#secret?.forget();
  }

  /** Returns the latest known Secret with the desired name; `informed` is the informer's copy. */
  latestSecret(informed: StoredSecret | undefined, name: string, now: number): StoredSecret | undefined {
    const latest = this.#secret === undefined ? informed : this.#secret.resolve(informed, now);
    return [latest, this.unlabeled?.secret].find((secret) => secret?.metadata.name === name);
  }
}
