// Limits on lasting work such as watches: per caller, per source address and in total. A request beyond a limit is rejected with 429.

import { tooManyRequests } from '../../kubernetes/status.ts';
import type { FacadeRequest } from '../request.ts';

export interface PlaceLimits {
  /** Maximum for one caller, whichever tokens they use. */
  readonly perCaller: number;
  /** Maximum for one source address; as many as in total if undefined. A proxy puts many callers behind one address. */
  readonly perAddress?: number;
  readonly total: number;
}

export interface PlacesOptions extends PlaceLimits {
  /** Plural noun for the message. */
  readonly what: string;
}

const RETRY_AFTER_SECONDS = 1;

export class Places {
  readonly #options: PlacesOptions;
  readonly #byCaller = new Counts();
  readonly #byAddress = new Counts();
  #total = 0;

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  /** Takes a place until the caller leaves or the returned function is called. Throws 429 if there is none. */
  take({ caller, address, signal }: Pick<FacadeRequest, 'caller' | 'address' | 'signal'>): () => void {
    // A signal that is aborted already fires no event, so nothing would free the place.
    signal.throwIfAborted();
    const { username } = caller.user;
    const { perCaller, perAddress = Number.POSITIVE_INFINITY, total, what } = this.#options;
    if (this.#total >= total || this.#byCaller.of(username) >= perCaller || this.#byAddress.of(address) >= perAddress)
      throw tooManyRequests(`too many ${what}, please try again later`, RETRY_AFTER_SECONDS);
    this.#add(username, address, 1);
    let isTaken = true;
    const release = () => {
      if (!isTaken) return;
      isTaken = false;
      this.#add(username, address, -1);
    };
    signal.addEventListener('abort', release);
    return release;
  }

  #add(username: string, address: string, count: 1 | -1): void {
    this.#total += count;
    this.#byCaller.add(username, count);
    this.#byAddress.add(address, count);
  }
}

class Counts {
  readonly #counts = new Map<string, number>();

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string, count: 1 | -1): void {
    const sum = this.of(key) + count;
    if (sum === 0) this.#counts.delete(key);
    else this.#counts.set(key, sum);
  }
}
