// What the controller remembers of one ManagedToken between two looks at it.

import type { ManagedToken, ManagedTokenStatus } from '../api/managed-token.gen.ts';
import type { Clock } from '../std/clock.ts';
import { OwnWrite } from './own-write.ts';
import { Pauses } from './pauses.ts';
import { MAX_ANCHORS } from './policy/anchors.ts';
import type { StoredSecret, Verdict } from './policy/observation.ts';
import type { TokenFailure } from './policy/plan.ts';
import type { StoredToken } from './policy/spec.ts';
import { reduceToken } from './reduce-token.ts';

const PAUSES = { initialMs: 10_000, maxMs: 300_000 };

export class Recollection {
  /** The name under which RBAC allowed the last issuance. */
  allowedAs: string | undefined;
  /** The question that a review allowed since RBAC last changed for the requester; undefined if none did. */
  confirmed: string | undefined;
  /** What came of the last attempt, if it failed. */
  failure: TokenFailure | undefined;
  verdict: Verdict | undefined;
  verifiedAt: number | undefined;
  /** The status that was sent last. */
  status: ManagedTokenStatus | undefined;
  /** A Secret of the wanted name that the informer does not see, since it does not carry our label. */
  unlabelled: { readonly secret: StoredSecret; readonly seenAt: number } | undefined;
  lastIssuedAt: number | undefined;
  /** Digest of the token that was issued and written last; undefined before the first one. */
  issuedDigest: string | undefined;
  /** Time of the last run that was not put off for a budget, on the monotonic clock. */
  urgentAt = Number.NEGATIVE_INFINITY;
  /** Message of the last event about a shortened lifetime. */
  shortened: string | undefined;
  /** Earliest time of the next attempt to delete former anchors; undefined for now. */
  anchorsAt: number | undefined;
  /** Between tokens that could not be written. */
  readonly issuing = new Pauses({ ...PAUSES, free: 0, calmMs: Infinity });
  /** The ManagedToken and the Secret of the wanted name, as we wrote them. */
  readonly token = new OwnWrite<ManagedToken>();
  readonly secret = new OwnWrite<StoredSecret>();
  /** Of the Secret that was written last. */
  written: { readonly resourceVersion: string | undefined; readonly tokenDigest: string | undefined } | undefined;
  /** While the Secret is written: the version that the watch told of last, most likely this write's. */
  #underWay: { told: string | undefined } | undefined;
  #isOvertaken = false;
  readonly #repairs = new Pauses({ ...PAUSES, free: 4, calmMs: 600_000 });
  #repairedFor: number | undefined;
  readonly #refused: Set<Recollection>;
  #refusedAt: readonly number[] = [];
  #doubts = 0;
  #countedIn: string | undefined;
  #isOwnDoing = false;
  /** Locations of anchors that were deleted although their Cluster had been replaced: there is nothing left to find. */
  readonly deletedAnchors = new Set<string>();
  /** Anchors that were reported as orphaned. */
  readonly #orphans = new Set<string>();

  /** `refused` is where those are kept whose last review said no. */
  constructor(refused: Set<Recollection>) {
    this.#refused = refused;
  }

  /** The first and the last of the reviews that said no, with no yes in between. */
  get refusedAt(): readonly number[] {
    return this.#refusedAt;
  }

  /** Namespace in which a removal limit counts the refused token; undefined if the Secret holds no token of ours. */
  get countedIn(): string | undefined {
    return this.#countedIn;
  }

  /** Whether the tenant caused the refusal, by a change of the spec or the deletion of the requester. */
  get isOwnDoing(): boolean {
    return this.#isOwnDoing;
  }

  refused(
    now: number,
    { countedIn, isOwnDoing = false }: { readonly countedIn?: string | undefined; readonly isOwnDoing?: boolean } = {},
  ): void {
    this.#countedIn = countedIn;
    this.#isOwnDoing = isOwnDoing || (this.#refusedAt.length > 0 && this.#isOwnDoing);
    const [first = now] = this.#refusedAt;
    this.confirmed = undefined;
    // A first one in the future is from before the clock was set back.
    this.#refusedAt = [Math.min(first, now), now];
    this.#refused.add(this);
  }

  /** Number of changes of RBAC that concerned the requester. */
  get doubts(): number {
    return this.#doubts;
  }

  /** RBAC changed for the requester: no earlier review counts, nor one that is under way. */
  doubt(): void {
    this.#doubts += 1;
    this.confirmed = undefined;
  }

  /** A review that began after `doubts` changes of RBAC allowed `question` under a name. */
  allowed(name: string, question: string, doubts: number): void {
    this.allowedAs = name;
    if (doubts !== this.#doubts) return;
    this.confirmed = question;
    this.forgetRefusals();
  }

  /** Nothing is left that a refusal could lead to. */
  forgetRefusals(): void {
    this.#refusedAt = [];
    this.#refused.delete(this);
  }

  /** Returns whether an orphaned anchor has not been reported before; at most 16 are. */
  isNewOrphan(place: string): boolean {
    if (this.#orphans.has(place) || this.#orphans.size >= MAX_ANCHORS) return false;
    this.#orphans.add(place);
    return true;
  }

  /** A token was issued; until it is written, ever longer pauses follow. */
  issued(clock: Clock): void {
    this.lastIssuedAt = clock.now();
    this.issuing.tried(clock.monotonic());
  }

  /** Between repairs of the Secret. What was done for another generation of the spec does not count. */
  repairs(generation: number | undefined): Pauses {
    if (generation !== this.#repairedFor) this.#repairs.reset();
    this.#repairedFor = generation;
    return this.#repairs;
  }

  /** The ManagedToken as it is after a write of ours; an answer about something else tells nothing. */
  wroteToken(answer: ManagedToken, before: StoredToken, now: number): ManagedToken {
    if (answer.metadata.uid !== before.metadata.uid) return before;
    const token = reduceToken(answer, before);
    this.token.wrote(token, before, now);
    return token;
  }

  /** The watch has told of the ManagedToken. */
  sawToken(token: ManagedToken): void {
    // The same text, but not a second copy of it.
    if (this.token.saw(token)) this.status = token.status;
  }

  /** The Secret is about to be written. Whatever comes of it, `wroteOrNot` must follow. */
  writes(): void {
    this.#underWay = { told: undefined };
  }

  /** No answer is awaited any more. */
  wroteOrNot(): void {
    this.#underWay = undefined;
  }

  /** Takes note of what the watch tells of the Secret: whether it is our own write, known to be or to be expected now. */
  recognises({ metadata: { resourceVersion } }: StoredSecret): boolean {
    if (this.#underWay === undefined) return this.written?.resourceVersion === resourceVersion;
    this.#underWay.told = resourceVersion;
    return true;
  }

  /** Whether somebody was quick to change what we had written, and nobody was woken by it. Tells it once. */
  wasOvertaken(): boolean {
    const wasOvertaken = this.#isOvertaken;
    this.#isOvertaken = false;
    return wasOvertaken;
  }

  /** The Secret was written in the place of `replaced`. */
  wrote(secret: StoredSecret, replaced: StoredSecret | undefined, now: number): void {
    const { told = secret.metadata.resourceVersion } = this.#underWay ?? {};
    if (told !== secret.metadata.resourceVersion) this.#isOvertaken = true;
    this.issuing.reset();
    this.written = { resourceVersion: secret.metadata.resourceVersion, tokenDigest: secret.tokenDigest };
    this.unlabelled = undefined;
    this.secret.wrote(secret, replaced, now);
  }

  /** The server was asked for the Secret of the wanted name; `unlabelled` is what it has and no informer sees. */
  saw(unlabelled: StoredSecret | undefined, now: number): void {
    this.unlabelled = unlabelled && { secret: unlabelled, seenAt: now };
    this.secret.forget();
  }

  /** The Secret of the wanted name, as far as is known; `informed` is what the informer has. */
  latestSecret(informed: StoredSecret | undefined, name: string, now: number): StoredSecret | undefined {
    return [this.secret.latest(informed, now), this.unlabelled?.secret].find((secret) => secret?.metadata.name === name);
  }
}
