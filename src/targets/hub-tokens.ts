// Hub-issued service account tokens that targets accept instead of a stored credential. Each token is valid for one address only, and is
// kept in memory only.

import { Backoff } from '../std/backoff.ts';
import type { Clock } from '../std/clock.ts';
import { hashToFraction } from '../std/hash.ts';
import type { Sensitive } from '../std/sensitive.ts';
import type { AddressToken, HubTokenTimes } from './credential.ts';
import type { HubSettings } from './hub.ts';
import { HubServiceAccounts } from './hub-service-accounts.ts';
import { IssueError } from './issue-error.ts';
import { type HubTokenName, issueHubToken } from './issue-token.ts';

/** Keeps one token for each service account and audience. All targets share the tokens. */
export class HubTokens {
  readonly #hub: HubSettings;
  readonly #clock: Clock;
  readonly #serviceAccounts: HubServiceAccounts;
  readonly #tokens = new Map<string, HubToken>();

  constructor(hub: HubSettings, clock: Clock) {
    this.#hub = hub;
    this.#clock = clock;
    this.#serviceAccounts = new HubServiceAccounts(hub, clock);
  }

  /** Returns the token of a service account for an audience. The token is requested when it is first used. */
  token({ serviceAccount, audience }: HubTokenName): HubToken {
    const key = `${serviceAccount} ${audience}`;
    const known = this.#tokens.get(key);
    if (known !== undefined) return known;
    for (const [other, { isUnused }] of this.#tokens) if (isUnused) this.#tokens.delete(other);
    const request = async () => {
      await this.#serviceAccounts.check(serviceAccount);
      return await issueHubToken(this.#hub, { serviceAccount, audience }, this.#clock);
    };
    const token = new HubToken(audience, request, this.#clock);
    this.#tokens.set(key, token);
    return token;
  }
}

/** A token from the hub with its times. */
interface HeldToken {
  readonly token: Sensitive<string>;
  /** Issuer of the token; undefined if unknown. */
  readonly issuer: string | undefined;
  readonly times: HubTokenTimes;
  /** Time from which the next use of the token renews it, on the monotonic clock. */
  readonly renewAt: number;
  /** Time when Purser stops sending the token, on the monotonic clock. */
  readonly expiresAt: number;
}

/** The token for one address: requested on first use, and renewed on the first use after about half of its lifetime. */
export class HubToken implements AddressToken {
  readonly audience: string;
  readonly #issue: () => ReturnType<typeof issueHubToken>;
  readonly #clock: Clock;
  readonly #failures = new Backoff({ initialMs: 1_000, maxMs: 60_000, calmMs: 120_000 });
  readonly #replacements = new Backoff({ initialMs: 10_000, maxMs: 600_000, calmMs: 600_000 });
  #held: HeldToken | undefined;
  #failure: IssueError | undefined;
  #requesting: Promise<Sensitive<string>> | undefined;

  constructor(audience: string, issue: () => ReturnType<typeof issueHubToken>, clock: Clock) {
    this.audience = audience;
    this.#issue = issue;
    this.#clock = clock;
  }

  /** The token in use; undefined before the first request and after expiry. */
  get current(): Sensitive<string> | undefined {
    return this.#held !== undefined && this.#clock.monotonic() < this.#held.expiresAt ? this.#held.token : undefined;
  }

  get issuer(): string | undefined {
    return this.#held?.issuer;
  }

  get times(): HubTokenTimes | undefined {
    return this.#held?.times;
  }

  get failure(): IssueError | undefined {
    return this.#failure;
  }

  /** True if the token has expired and no new one is being requested. */
  get isUnused(): boolean {
    return this.#held !== undefined && this.current === undefined && this.#requesting === undefined;
  }

  /** Returns a valid token. Waits for the hub only if there is none. Throws an IssueError if the hub does not issue one. */
  async get(): Promise<Sensitive<string>> {
    const { current } = this;
    if (current === undefined) return await this.#request();
    // The token in use stays valid while its renewal fails; `failure` reports the failed renewal.
    if (this.#clock.monotonic() >= (this.#held?.renewAt ?? Infinity)) this.#request().catch(() => {});
    return current;
  }

  /**
   * Returns a new token in place of the rejected one. Returns the current token if it is not the rejected one, if the request fails, or if
   * the last replacement was recent. The delay between replacements grows, because a target may reject all tokens.
   */
  async replace(rejected: string | undefined): Promise<Sensitive<string>> {
    const { current } = this;
    const now = this.#clock.monotonic();
    const isReplaced = current?.reveal() !== rejected;
    if (current === undefined || isReplaced || this.#replacements.remainingMs(now) > 0) return await this.get();
    this.#replacements.nextMs(now);
    return await this.#request().catch(() => current);
  }

  /** Requests a token, once for concurrent callers. After a failure, throws that failure until the retry delay has passed. */
  async #request(): Promise<Sensitive<string>> {
    const isDelayed = this.#failures.remainingMs(this.#clock.monotonic()) > 0;
    if (this.#failure !== undefined && isDelayed) throw this.#failure;
    this.#requesting ??= this.#issueAndHold().finally(() => {
      this.#requesting = undefined;
    });
    return await this.#requesting;
  }

  async #issueAndHold(): Promise<Sensitive<string>> {
    const sentAt = this.#clock.monotonic();
    try {
      const { token, issuedAt, expiresAt, claims } = await this.#issue();
      const lifetimeMs = expiresAt - issuedAt;
      // Tokens that were requested together are not renewed together.
      const renewMs = lifetimeMs * (RENEW_SHARE - MAX_JITTER_SHARE * hashToFraction(this.audience));
      const usableMs = lifetimeMs - Math.min(EXPIRY_MARGIN_MS, lifetimeMs / 10);
      const times = { issuedAt, renewAt: issuedAt + renewMs, expiresAt };
      this.#held = { token, issuer: claims?.issuer, times, renewAt: sentAt + renewMs, expiresAt: sentAt + usableMs };
      this.#failure = undefined;
      this.#failures.reset();
      return token;
    } catch (error) {
      if (!(error instanceof IssueError)) throw error;
      this.#failure = error;
      this.#failures.nextMs(this.#clock.monotonic());
      throw error;
    }
  }
}

/** Share of the lifetime after which a token is renewed. */
const RENEW_SHARE = 0.5;
/** Maximum share of the lifetime by which a token is renewed earlier. */
const MAX_JITTER_SHARE = 0.05;
/** Time before expiry at which Purser stops sending a token, in milliseconds; less for a token with a short lifetime. */
const EXPIRY_MARGIN_MS = 10_000;
