// How much one caller, and all callers together, may have under way.

import { tooManyRequests } from '../../api/status.ts';

export interface QuotaOptions {
  readonly perUser: number;
  readonly total: number;
  /** What is limited, for the message. */
  readonly what: string;
}

const RETRY_AFTER_SECONDS = 1;

export class Quota {
  readonly #options: QuotaOptions;
  readonly #byUser = new Map<string, number>();
  #total = 0;

  constructor(options: QuotaOptions) {
    this.#options = options;
  }

  /** Takes a place and returns how to give it back, once; throws 429 when there is none. */
  take(user: string): () => void {
    const { perUser, total, what } = this.#options;
    const count = this.#byUser.get(user) ?? 0;
    if (count >= perUser || this.#total >= total) throw tooManyRequests(`too many ${what}, please try again later`, RETRY_AFTER_SECONDS);
    this.#set(user, count + 1);
    this.#total += 1;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#total -= 1;
      this.#set(user, (this.#byUser.get(user) ?? 1) - 1);
    };
  }

  #set(user: string, count: number): void {
    if (count === 0) this.#byUser.delete(user);
    else this.#byUser.set(user, count);
  }
}
