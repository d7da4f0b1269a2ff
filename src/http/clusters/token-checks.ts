// Ends streams whose bearer token is no longer good. All streams of one token share one check.

import type { Clock } from '../../std/clock.ts';
import type { Caller } from '../request.ts';

export interface TokenChecksOptions {
  readonly clock: Clock;
  readonly random: () => number;
}

/** The answer itself may be some seconds old, so it is asked for more often than that. */
const INTERVAL_MS = 2_000;
/** How long the last answer is believed while the hub gives none. */
const PATIENCE_MS = 30_000;

interface Check {
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
    const check = this.#checks.get(caller.tokenId) ?? this.#start(caller);
    check.enders.add(end);
    return () => {
      check.enders.delete(end);
      if (check.enders.size > 0) return;
      check.cancel();
      if (this.#checks.get(caller.tokenId) === check) this.#checks.delete(caller.tokenId);
    };
  }

  #start(caller: Caller): Check {
    const check = { caller, enders: new Set<() => void>(), goodAt: this.#options.clock.monotonic(), cancel: () => {} };
    this.#checks.set(caller.tokenId, check);
    this.#plan(check);
    return check;
  }

  #plan(check: Check): void {
    const { clock, random } = this.#options;
    check.cancel = clock.wakeAfter(INTERVAL_MS * (1 - random() / 2), () => void this.#look(check));
  }

  async #look(check: Check): Promise<void> {
    const isGood = await this.#isGood(check);
    if (check.enders.size === 0) return;
    if (isGood) return this.#plan(check);
    this.#checks.delete(check.caller.tokenId);
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
