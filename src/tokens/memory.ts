// What the controller remembers of ManagedTokens. All of it may be lost: a restart costs a few questions, never a token.

import { Recollection } from './tracked-token.ts';

/** Recollections by the UIDs of ManagedTokens. */
export class TokenMemory {
  readonly #recollections = new Map<string, Recollection>();
  readonly #refused = new Set<Recollection>();

  /** What is remembered. Of one that is not kept, what is noted is lost at once: it has been deleted meanwhile. */
  of(uid: string): Recollection {
    return this.#recollections.get(uid) ?? new Recollection(new Set());
  }

  /** Remembers from now on, until it is forgotten. To be called only for what exists. */
  keep(uid: string): Recollection {
    const kept = this.#recollections.get(uid) ?? new Recollection(this.#refused);
    this.#recollections.set(uid, kept);
    return kept;
  }

  forget(uid: string): void {
    this.#recollections.get(uid)?.forgetRefusals();
    this.#recollections.delete(uid);
  }

  /** How many are remembered. */
  get size(): number {
    return this.#recollections.size;
  }

  /** Those that have been refused and not removed. */
  get refused(): ReadonlySet<Recollection> {
    return this.#refused;
  }
}
