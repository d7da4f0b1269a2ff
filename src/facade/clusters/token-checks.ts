// Ends streams whose bearer token is no longer good, or no longer for the same user. All streams of one token and user share
// one check.

import { userKey } from '../../access/user.ts';
import type { Clock } from '../../std/clock.ts';
import type { Caller } from '../request.ts';

export interface TokenChecksOptions {
  readonly clock: Clock;
  readonly random: () => number;
}

/**
 * With the age that an answer may have, less than ten seconds. Kubernetes keeps its own answers for ten: two of these are
 * just past that, so that the second look finds out what was hidden from the first.
 */
const INTERVAL_MS = 5_100;
/** Streams that began together do not ask together. */
const SPREAD = 0.1;
/** How long the last answer is believed while the hub gives none. */
const PATIENCE_MS = 30_000;

interface Check {
  readonly key: string;
  readonly caller: Caller;
  readonly enders: Set<() => void>;
  goodAt: number;
  cancel: () => void;
}

export class TokenChecks {
  readonly #options: TokenChecksOptions;
  readonly #checks = new Map<string, Check>();

  constructor(options: TokenChecksOptions) {
    this.#options = options;
  }

  /** Calls `end` when the caller's token is no longer good, unless the returned function was called before. */
  join(caller: Caller, end: () => void): () => void {
    const key = keyOf(caller);
    const check = this.#checks.get(key) ?? this.#start(key, caller);
    check.enders.add(end);
    return () => {
      check.enders.delete(end);
      if (check.enders.size > 0) return;
      check.cancel();
      if (this.#checks.get(key) === check) this.#checks.delete(key);
    };
  }

  #start(key: string, caller: Caller): Check {
    const check = { key, caller, enders: new Set<() => void>(), goodAt: this.#options.clock.monotonic(), cancel: () => {} };
    this.#checks.set(key, check);
    // The request itself may have been let in by an older answer than streams are content with.
    void this.#look(check);
    return check;
  }

  #plan(check: Check): void {
    const { clock, random } = this.#options;
    check.cancel = clock.wakeAfter(INTERVAL_MS * (1 + SPREAD * random()), () => void this.#look(check));
  }

  async #look(check: Check): Promise<void> {
    const isGood = await this.#isGood(check);
    if (check.enders.size === 0) return;
    if (isGood) return this.#plan(check);
    this.#checks.delete(check.key);
    for (const end of check.enders) end();
  }

  async #isGood(check: Check): Promise<boolean> {
    const { clock } = this.#options;
    try {
      const isGood = await check.caller.stillValid();
      check.goodAt = clock.monotonic();
      return isGood;
    } catch {
      return clock.monotonic() - check.goodAt < PATIENCE_MS;
    }
  }
}

function keyOf({ tokenId, user }: Caller): string {
  return `${tokenId} ${userKey(user)}`;
}
