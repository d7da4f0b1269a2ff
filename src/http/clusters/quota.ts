// How much one caller, whichever token they use, and all callers together, may have under way.

import { tooManyRequests } from '../../api/status.ts';
import type { FacadeRequest } from '../request.ts';

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

  /** Takes a place until its caller leaves, or the returned function is called. Throws 429 when there is none. */
  take({ caller, signal }: Pick<FacadeRequest, 'caller' | 'signal'>): () => void {
    // Whoever has left already does not leave again: nothing would give the place back.
    signal.throwIfAborted();
    const release = this.#takeFor(caller.user.username);
    signal.addEventListener('abort', release);
    return release;
  }

  /** Returns how to give the place back, once. */
  #takeFor(user: string): () => void {
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
