// Authenticates callers by bearer tokens, with TokenReviews on the hub. Results are cached by a digest of the token for ten seconds.

import { hash, type KeyObject } from 'node:crypto';
import { awaitReview, REVIEW_MS, readTokenReviewStatus, UnreadableReviewError } from '../access/hub-review.ts';
import { computeUserKey, type User } from '../access/user.ts';
import type { KubeClient } from '../kube/client.ts';
import { rejectOnAbort } from '../kube/deadline.ts';
import { TokenReviews } from '../kube/reviews.ts';
import { isBearerToken } from '../kubernetes/bearer-token.ts';
import { type Fields, isFields } from '../kubernetes/object.ts';
import { parseServiceAccountNamespace } from '../kubernetes/service-account.ts';
import { isSignedBy, KEY_SET_PATH, parseKeySet } from '../kubernetes/signing-keys.ts';
import { badRequest, unauthorized } from '../kubernetes/status.ts';
import { fieldsOf } from '../kubernetes/untrusted.ts';
import { BoundedCache } from '../std/bounded-cache.ts';
import type { Clock } from '../std/clock.ts';
import { ExpiringCache } from '../std/expiring-cache.ts';
import { Sensitive } from '../std/sensitive.ts';
import { SingleFlight } from '../std/single-flight.ts';
import { parseTokenClaims } from '../targets/policy/token-claims.ts';
import type { Logger } from '../telemetry/logger.ts';
import { type ReviewAdmission, ReviewLimit, type ReviewOutcome } from './limits/review-limit.ts';
import { overloaded } from './limits/tenant.ts';

export interface AuthenticatorOptions {
  readonly hub: Pick<KubeClient, 'createReview' | 'getText'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Accepted audiences; a token needs one of them. If empty, any token that the hub accepts is accepted. */
  readonly audiences: readonly string[];
  /** Limit on TokenReviews, shared by all authenticators of the process; a new limit if undefined. */
  readonly reviewLimit?: ReviewLimit | undefined;
}

/** The parts of a request that authentication needs. */
export interface Credentials {
  /** Names and values of the headers as received. */
  readonly rawHeaders: readonly string[];
  /** Key under which limits count the source address. */
  readonly address: string;
}

/** An authenticated caller. */
export interface Caller {
  readonly user: User;
  /** Digest of the bearer token, equal for all requests with this token. */
  readonly tokenId: string;
  /**
   * Returns true if the hub still accepts the token for the same user. A cached review may be up to ten seconds old for a request, and up
   * to four seconds for a stream. Throws 429 above the limit on reviews, and 503 if the review fails.
   */
  isStillValid(use: TokenUse): boolean | Promise<boolean>;
}

/** Use of a token, which determines how long its review is cached. */
export type TokenUse = 'request' | 'stream';

export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #accepted: ExpiringCache<User>;
  /** Rejected tokens, separate from accepted ones, so that a flood of invalid tokens evicts no accepted token. */
  readonly #rejected: ExpiringCache<true>;
  /** Usernames of the tokens that the hub accepted in their last review, by token ID. */
  readonly #known = new BoundedCache<string>(MAX_ENTRIES);
  readonly #reviews = new SingleFlight<User | undefined>();
  readonly #reviewLimit: ReviewLimit;
  readonly #signedTokens: SignedTokens;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    const { clock } = options;
    this.#accepted = new ExpiringCache({ clock, ttlMs: TTL_MS.request, maxEntries: MAX_ENTRIES });
    this.#rejected = new ExpiringCache({ clock, ttlMs: TTL_MS.request, maxEntries: MAX_ENTRIES });
    this.#reviewLimit = options.reviewLimit ?? new ReviewLimit(clock);
    this.#signedTokens = new SignedTokens(options);
  }

  /** Returns the caller. Throws 400, 401, 429 or 503, or the reason of the aborted signal. */
  async authenticate({ rawHeaders, address }: Credentials, signal: AbortSignal): Promise<Caller> {
    const token = parseBearerToken(rawHeaders);
    if (token === undefined) throw unauthorized();
    const tokenId = hash('sha256', token, 'base64url');
    const user = this.#accepted.get(tokenId) ?? (await rejectOnAbort(this.#find({ tokenId, token, address, use: 'request' }), signal));
    if (user === undefined) throw unauthorized();
    const secret = new Sensitive(token);
    const isStillValid = (use: TokenUse) =>
      this.#accepted.get(tokenId, TTL_MS[use]) === user || this.#isTokenOf(user, { tokenId, token: secret.reveal(), address, use });
    return { user, tokenId, isStillValid };
  }

  async #isTokenOf(user: User, presented: PresentedToken): Promise<boolean> {
    return isSame(user, await this.#find(presented));
  }

  /** Returns the user of a token, or undefined if the token is not accepted. Throws 429, or 503 if the review fails. */
  async #find(presented: PresentedToken): Promise<User | undefined> {
    const user = this.#accepted.get(presented.tokenId, TTL_MS[presented.use]);
    if (user !== undefined || this.#rejected.get(presented.tokenId)) return user;
    return this.#reviews.do(presented.tokenId, () => this.#review(presented));
  }

  async #review(presented: PresentedToken): Promise<User | undefined> {
    const { tokenId, token } = presented;
    const { waitMs, settle } = this.#admit(presented);
    if (waitMs > 0) throw overloaded(waitMs);
    const requestedAt = this.#options.clock.monotonic();
    let outcome: ReviewOutcome = 'failed';
    try {
      const user = await awaitReview('TokenReview', this.#reviewToken(token), this.#options.log);
      outcome = user ?? 'rejected';
      if (user === undefined) this.#reject(tokenId, requestedAt);
      else this.#accept(tokenId, user, requestedAt);
      return user;
    } finally {
      settle?.(outcome);
    }
  }

  #admit({ tokenId, token, address, use }: PresentedToken): ReviewAdmission {
    const username = this.#known.get(tokenId);
    if (username !== undefined) return use === 'stream' ? UNLIMITED_ADMISSION : this.#reviewLimit.admitKnown(username);
    const admission = this.#reviewLimit.admit(address);
    const signedFor = admission.waitMs > 0 ? this.#signedTokens.findUsername(token) : undefined;
    return signedFor === undefined ? admission : this.#reviewLimit.admitSigned(signedFor);
  }

  #accept(tokenId: string, user: User, requestedAt: number): void {
    this.#accepted.set(tokenId, user, requestedAt);
    this.#rejected.delete(tokenId);
    this.#known.set(tokenId, user.username);
  }

  #reject(tokenId: string, requestedAt: number): void {
    this.#rejected.set(tokenId, true, requestedAt);
    this.#accepted.delete(tokenId);
    // Clients that send old tokens of a user must not use up the user's limit on TokenReviews.
    this.#known.delete(tokenId);
  }

  async #reviewToken(token: string): Promise<User | undefined> {
    const { hub, audiences } = this.#options;
    const spec = { token, ...(audiences.length > 0 && { audiences: [...audiences] }) };
    const status = await readTokenReviewStatus(hub.createReview(TokenReviews, { spec }, { timeoutMs: REVIEW_MS }));
    if (!status.authenticated || !isAccepted(status, audiences)) return undefined;
    const user = toUser(status['user']);
    if (user === undefined) throw new UnreadableReviewError('TokenReview');
    return isAuthenticated(user) ? user : undefined;
  }
}

/**
 * Throws 401 if the hub no longer accepts the token of a request that has waited, or accepts it for a user with other attributes. Throws
 * 429 or 503 if the token cannot be reviewed, or the reason of the aborted signal.
 */
export async function recheckToken({ caller, signal }: { readonly caller: Caller; readonly signal: AbortSignal }): Promise<void> {
  signal.throwIfAborted();
  const isValid = caller.isStillValid('request');
  if (isValid !== true && !(await rejectOnAbort(Promise.resolve(isValid), signal))) throw unauthorized();
}

/** A token, the key of its source address, and its use. */
interface PresentedToken {
  readonly tokenId: string;
  readonly token: string;
  readonly address: string;
  readonly use: TokenUse;
}

/** Admission of a review of a known token for a stream. These reviews need no limit, because the number of streams is limited. */
const UNLIMITED_ADMISSION: ReviewAdmission = { waitMs: 0, settle: () => {} };
/**
 * Maximum age of the review of an accepted token, by use, in milliseconds. For streams, this time and the interval of `TokenChecks`
 * together are less than ten seconds.
 */
const TTL_MS: Readonly<Record<TokenUse, number>> = { request: 10_000, stream: 4_000 };
const MAX_ENTRIES = 10_000;

/**
 * Returns true if `accepted` is empty, or if the review contains one of these audiences. A server that does not support audiences returns
 * none, and is not trusted.
 */
function isAccepted({ audiences }: Fields, accepted: readonly string[]): boolean {
  if (accepted.length === 0) return true;
  return Array.isArray(audiences) && accepted.some((audience) => audiences.includes(audience));
}

function isAuthenticated({ username, groups }: User): boolean {
  return username !== '' && username !== 'system:anonymous' && !groups.includes('system:unauthenticated');
}

/** Returns true if all attributes are equal. A user who has lost a group must not keep the permissions of the group. */
function isSame(user: User, found: User | undefined): boolean {
  return found !== undefined && computeUserKey(found) === computeUserKey(user);
}

/** Returns the user in the response to a review, or undefined if the value is malformed. */
function toUser(value: unknown): User | undefined {
  const { username = '', uid = '', groups = [], extra = {} } = fieldsOf(value);
  if (typeof username !== 'string' || typeof uid !== 'string' || !isTexts(groups) || !isFields(extra)) return undefined;
  if (!Object.values(extra).every(isTexts)) return undefined;
  return { username, uid, groups, extra: extra as User['extra'] };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/**
 * Returns the bearer token of a request from its raw headers (name, value, name, value…), or undefined if the request has no well-formed
 * token. Throws 400 for more than one Authorization header, and for an impersonation header in addition to a token.
 */
export function parseBearerToken(rawHeaders: readonly string[]): string | undefined {
  let authorization: string | undefined;
  let impersonation: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    if (name === 'authorization') {
      if (authorization !== undefined) throw badRequest('the request has more than one Authorization header');
      authorization = rawHeaders[index + 1]!;
    } else if (isImpersonation(name)) impersonation ??= name;
  }
  const token = authorization === undefined ? undefined : parseAuthorization(authorization);
  if (token !== undefined && impersonation !== undefined) throw badRequest(`the ${impersonation} header is not supported`);
  return token;
}

function isImpersonation(name: string): boolean {
  return name.startsWith('impersonate-') || name.startsWith('x-remote-');
}

/** Returns the token in an Authorization header, or undefined if the value is not `Bearer`, one space and a well-formed token. */
function parseAuthorization(authorization: string): string | undefined {
  const token = /^bearer ([^ ]+)$/i.exec(authorization)?.[1];
  return token !== undefined && isBearerToken(token) ? token : undefined;
}

/** Minimum time between two requests for the hub's signing keys, in milliseconds. */
const REFRESH_MS = 60_000;

/**
 * Recognizes service account tokens that the hub has signed. Any client can invent other tokens, and send them from any number of
 * addresses. A flood of invented tokens must not block callers with signed tokens. Only a TokenReview decides whether a token is valid.
 */
class SignedTokens {
  readonly #options: Pick<AuthenticatorOptions, 'hub' | 'clock'>;
  #keys: readonly KeyObject[] = [];
  #requestedAt = Number.NEGATIVE_INFINITY;

  constructor(options: Pick<AuthenticatorOptions, 'hub' | 'clock'>) {
    this.#options = options;
  }

  /**
   * Returns the username in a service account token that the hub has signed and that has not expired. Returns undefined for any other
   * token, and before the first keys have arrived.
   */
  findUsername(token: string): string | undefined {
    this.#refresh();
    const { subject = '', expiresAt = Infinity } = parseTokenClaims(token) ?? {};
    if (parseServiceAccountNamespace(subject) === undefined || expiresAt <= this.#options.clock.now()) return undefined;
    return this.#keys.some((key) => isSignedBy(token, key)) ? subject : undefined;
  }

  #refresh(): void {
    const { hub, clock } = this.#options;
    const now = clock.monotonic();
    if (now - this.#requestedAt < REFRESH_MS) return;
    this.#requestedAt = now;
    const use = (text: string) => {
      this.#keys = parseKeySet(text) ?? [];
    };
    // If the request fails, the last keys stay in use. Without any keys, the limits on unknown tokens apply.
    hub.getText(KEY_SET_PATH).then(use, () => {});
  }
}
