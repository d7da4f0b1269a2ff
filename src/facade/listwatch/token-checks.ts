// Ends streams whose bearer token is no longer valid, or whose user has other attributes than before. All streams of one token and user
// share one check.

import { computeUserKey } from '../../access/user.ts';
import type { Clock } from '../../std/clock.ts';
import type { Caller } from '../authenticate.ts';

export interface TokenChecksOptions {
  readonly clock: Clock;
  readonly random: () => number;
}

/**
 * Interval of checks, in milliseconds. The interval and the cache time of a review together are less than ten seconds. Two intervals are
 * longer than the ten seconds for which kube-apiserver caches a review, so that the second check detects a revocation that the cache hid
 * from the first.
 */
const INTERVAL_MS = 5_100;
/** Maximum jitter, as a fraction of the interval, so that streams that began together are not checked together. */
const SPREAD = 0.1;
/** Validity of the last result while checks fail, in milliseconds. */
const PATIENCE_MS = 30_000;

interface Check {
  readonly key: string;
  readonly caller: Caller;
  readonly endings: Set<() => void>;
  /** Time of the last result, on the monotonic clock. */
  validAt: number;
  cancel: () => void;
}

export class TokenChecks {
  readonly #options: TokenChecksOptions;
  readonly #checks = new Map<string, Check>();

  constructor(options: TokenChecksOptions) {
    this.#options = options;
  }

  /**
   * Calls `end` once the token is no longer valid for the same user, or checks have failed for 30 s, unless the returned function is called
   * first.
   */
  join(caller: Caller, end: () => void): () => void {
    const check = this.#findOrStartCheck(caller);
    check.endings.add(end);
    return () => {
      check.endings.delete(end);
      if (check.endings.size > 0) return;
      check.cancel();
      if (this.#checks.get(check.key) === check) this.#checks.delete(check.key);
    };
  }

  #findOrStartCheck(caller: Caller): Check {
    const key = toCheckKey(caller);
    return this.#checks.get(key) ?? this.#start(key, caller);
  }

  #start(key: string, caller: Caller): Check {
    const check = { key, caller, endings: new Set<() => void>(), validAt: this.#options.clock.monotonic(), cancel: () => {} };
    this.#checks.set(key, check);
    // The review that admitted the request may be older than streams allow.
    void this.#run(check);
    return check;
  }

  #schedule(check: Check): void {
    const { clock, random } = this.#options;
    check.cancel = clock.wakeAfter(INTERVAL_MS * (1 + SPREAD * random()), () => void this.#run(check));
  }

  async #run(check: Check): Promise<void> {
    const isValid = await this.#isValid(check);
    if (check.endings.size === 0) return;
    if (isValid) return this.#schedule(check);
    this.#checks.delete(check.key);
    for (const end of check.endings) end();
  }

  async #isValid(check: Check): Promise<boolean> {
    const { clock } = this.#options;
    try {
      const isValid = await check.caller.isStillValid('stream');
      check.validAt = clock.monotonic();
      return isValid;
    } catch {
      return clock.monotonic() - check.validAt < PATIENCE_MS;
    }
  }
}

function toCheckKey({ tokenId, user }: Caller): string {
  return `${tokenId} ${computeUserKey(user)}`;
}
