// Who a bearer token stands for, by the word of the hub. Answers are kept for ten seconds, under a digest of the token.

import { hash } from 'node:crypto';
import type { KubeClient } from '../kube/client.ts';
import { untilAborted } from '../kube/deadline.ts';
import { TokenReviews } from '../kube/reviews.ts';
import { unauthorized } from '../kubernetes/status.ts';
import { type Fields, fieldsOf, isFields } from '../kubernetes/untrusted.ts';
import type { Clock } from '../std/clock.ts';
import { Recent } from '../std/recent.ts';
import { Sensitive } from '../std/sensitive.ts';
import { SingleFlight } from '../std/single-flight.ts';
import type { Logger } from '../telemetry/logger.ts';
import { overloaded } from './admission/rates.ts';
import { type Admission, ReviewLimit, type ReviewOutcome } from './admission/review-limit.ts';
import { bearerToken } from './bearer.ts';
import { FreshCache } from './fresh-cache.ts';
import { decisionOf, REVIEW_MS, reviewStatus, unreadable } from './hub-answer.ts';
import type { Caller, User } from './request.ts';
import { userKey } from './user-key.ts';

export interface AuthenticatorOptions {
  readonly hub: Pick<KubeClient, 'createReview'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** One of them must be among those that a token is for; none are demanded when empty. */
  readonly audiences: readonly string[];
  /** Limit on reviews of unknown tokens, shared by all authenticators of the process; an own one if undefined. */
  readonly reviewLimit?: ReviewLimit | undefined;
}

/** The parts of a request that say who sent it. */
export interface Presented {
  /** Names and values of the headers as they came. */
  readonly rawHeaders: readonly string[];
  /** Key of the source address. */
  readonly address: string;
}

/** Authenticates requests. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #accepted: FreshCache<User>;
  /** Apart from the others: a flood of bad tokens drives out nobody who is known. */
  readonly #refused: FreshCache<true>;
  /** Whoever was known once does not stand in line with those who never were. */
  readonly #known = new Recent<true>(MAX_ENTRIES);
  readonly #reviews = new SingleFlight<User | undefined>();
  readonly #unknown: ReviewLimit;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    const { clock } = options;
    this.#accepted = new FreshCache({ clock, ttlMs: TTL_MS, maxEntries: MAX_ENTRIES });
    this.#refused = new FreshCache({ clock, ttlMs: TTL_MS, maxEntries: MAX_ENTRIES });
    this.#unknown = options.reviewLimit ?? new ReviewLimit(clock);
  }

  /** Returns the caller. Throws 400, 401, 429 or 503. */
  async authenticate({ rawHeaders, address }: Presented, signal: AbortSignal): Promise<Caller> {
    const token = bearerToken(rawHeaders);
    if (token === undefined) throw unauthorized();
    const tokenId = hash('sha256', token, 'base64url');
    const user = this.#accepted.get(tokenId) ?? (await untilAborted(this.#find({ tokenId, token, address }), signal));
    if (user === undefined) throw unauthorized();
    const kept = new Sensitive(token);
    const stillValid = async () => isSame(user, await this.#find({ tokenId, token: kept.reveal(), address }, STREAM_TTL_MS));
    return { user, tokenId, stillValid };
  }

  /** Returns the user; undefined for a token that is not accepted. */
  async #find(shown: ShownToken, ttlMs = TTL_MS): Promise<User | undefined> {
    const user = this.#accepted.get(shown.tokenId, ttlMs);
    if (user !== undefined || this.#refused.get(shown.tokenId)) return user;
    return this.#reviews.do(shown.tokenId, () => this.#review(shown));
  }

  async #review({ tokenId, token, address }: ShownToken): Promise<User | undefined> {
    const { waitMs, settle } = this.#known.get(tokenId) ? KNOWN : this.#unknown.admit(address);
    if (waitMs > 0) throw overloaded(waitMs);
    const askedAt = this.#options.clock.monotonic();
    let outcome: ReviewOutcome = 'failed';
    try {
      const user = await this.#ask(token);
      outcome = user ?? 'rejected';
      if (user === undefined) this.#refuse(tokenId, askedAt);
      else this.#accept(tokenId, user, askedAt);
      return user;
    } finally {
      settle?.(outcome);
    }
  }

  #accept(tokenId: string, user: User, askedAt: number): void {
    this.#accepted.set(tokenId, user, askedAt);
    this.#refused.delete(tokenId);
    this.#known.set(tokenId, true);
  }

  #refuse(tokenId: string, askedAt: number): void {
    this.#refused.set(tokenId, true, askedAt);
    this.#accepted.delete(tokenId);
  }

  async #ask(token: string): Promise<User | undefined> {
    const { hub, audiences, log } = this.#options;
    const spec = { token, ...(audiences.length > 0 && { audiences: [...audiences] }) };
    const status = await reviewStatus(REVIEW, hub.createReview(TokenReviews, { spec }, { timeoutMs: REVIEW_MS }), log);
    if (!decisionOf(REVIEW, status, 'authenticated', log) || !isForUs(status, audiences)) return undefined;
    const user = userOf(status['user']);
    if (user === undefined) throw unreadable(REVIEW, log);
    return isSomebody(user) ? user : undefined;
  }
}

/** A token and the address that it came from. */
interface ShownToken {
  readonly tokenId: string;
  readonly token: string;
  readonly address: string;
}

/** Tokens that were accepted before are reviewed without a limit. */
const KNOWN: Admission = { waitMs: 0, settle: () => {} };
const REVIEW = 'TokenReview';
const TTL_MS = 10_000;
/** Streams last: with the time between two looks at their tokens, this is less than the other. */
const STREAM_TTL_MS = 4_000;
const MAX_ENTRIES = 10_000;

/** A server that does not know audiences says nothing of them. */
function isForUs({ audiences }: Fields, demanded: readonly string[]): boolean {
  if (demanded.length === 0) return true;
  return Array.isArray(audiences) && demanded.some((audience) => audiences.includes(audience));
}

function isSomebody({ username, groups }: User): boolean {
  return username !== '' && username !== 'system:anonymous' && !groups.includes('system:unauthenticated');
}

/** Whoever has lost a group does not keep what it let them see. */
function isSame(user: User, found: User | undefined): boolean {
  return found !== undefined && userKey(found) === userKey(user);
}

/** Exactly what the hub says; undefined where that is not a user. */
function userOf(value: unknown): User | undefined {
  const { username = '', uid = '', groups = [], extra = {} } = fieldsOf(value);
  if (typeof username !== 'string' || typeof uid !== 'string' || !isTexts(groups) || !isFields(extra)) return undefined;
  if (!Object.values(extra).every(isTexts)) return undefined;
  return { username, uid, groups, extra: extra as User['extra'] };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
