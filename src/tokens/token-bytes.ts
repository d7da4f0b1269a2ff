// Memory that the ManagedTokens of each namespace take in the informer. A namespace over its share keeps only stubs of large ones.

import type { ManagedToken } from '../api/managed-token.gen.ts';
import type { StoredToken } from './policy/spec.ts';
import { bytesOf, reduceToken } from './reduce-token.ts';

/** Share of a namespace, in bytes: about thirty thousand ManagedTokens of usual size. */
export const BYTES_PER_NAMESPACE = 64 << 20;
/** Size up to which a ManagedToken is kept in any case: a stub would take about as much. */
const MAX_SMALL_BYTES = 4_096;

/** Counts what is kept. One instance serves all informers of ManagedTokens. */
export class TokenBytes {
  readonly #kept = new Map<string, { readonly namespace: string; readonly bytes: number }>();
  readonly #totals = new Map<string, number>();

  /** Returns what is kept of a ManagedToken, and counts it until `forget`. */
  readonly reduce = (token: ManagedToken): StoredToken => {
    this.forget(token);
    const { uid = '', namespace = '' } = token.metadata;
    const total = this.#totals.get(namespace) ?? 0;
    const whole = reduceToken(token);
    const isOver = bytesOf(whole) > MAX_SMALL_BYTES && total + bytesOf(whole) > BYTES_PER_NAMESPACE;
    const kept = isOver ? reduceToken(token, { isOverBudget: true }) : whole;
    this.#kept.set(uid, { namespace, bytes: bytesOf(kept) });
    this.#totals.set(namespace, total + bytesOf(kept));
    return kept;
  };

  /** To be called when a ManagedToken was deleted. */
  readonly forget = ({ metadata: { uid = '' } }: ManagedToken): void => {
    const { namespace = '', bytes = 0 } = this.#kept.get(uid) ?? {};
    if (!this.#kept.delete(uid)) return;
    const total = (this.#totals.get(namespace) ?? 0) - bytes;
    if (total > 0) this.#totals.set(namespace, total);
    else this.#totals.delete(namespace);
  };

  /** Number of ManagedTokens that are counted. */
  get size(): number {
    return this.#kept.size;
  }
}
