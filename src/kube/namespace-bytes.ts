// Memory that the objects of each namespace take in an informer, so that tenants cannot fill the memory of Purser.

import type { ApiObject, Stored } from '../api/resources.ts';
import type { NamespacedMeta, StoredIdentity } from '../api/wire.ts';

/** Marks of an object that is not kept whole. */
interface SizeMarks {
  readonly isTooLarge?: true;
  readonly isOverBudget?: true;
}

/** Returns the reduced object, or its stub with marks if it is too large or its namespace is over its budget. Records its size. */
export function keepWithin<T extends object>(
  maxBytes: number,
  { reduced, isOverBudget }: { readonly reduced: T; readonly isOverBudget: true | undefined },
  stub: (object: T) => T,
): T & SizeMarks {
  const bytes = bytesIn(reduced);
  const isTooLarge = bytes > maxBytes;
  const marks: SizeMarks = { ...(isTooLarge && { isTooLarge }), ...(isOverBudget && { isOverBudget }) };
  const kept = isTooLarge || isOverBudget ? { ...stub(reduced), ...marks } : reduced;
  recordBytes(kept, kept === reduced ? bytes : bytesIn(kept));
  return kept;
}

/** Returns the approximate size of a reduced object in memory, in bytes. */
export function bytesOf(object: object): number {
  return sizes.get(object) ?? 0;
}

const sizes = new WeakMap<object, number>();

/** Records the size of a reduced object, in bytes. */
export function recordBytes(object: object, bytes: number): void {
  sizes.set(object, bytes);
}

/** Returns the approximate size of a value in memory, in bytes. */
export function bytesIn(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

/** Share of a namespace in memory, in bytes: about thirty thousand ManagedTokens of usual size. */
export const BYTES_PER_NAMESPACE = 64 << 20;
/** Size up to which an object is kept in any case, in bytes: a stub would take about as much. */
const MAX_SMALL_BYTES = 4_096;

export interface NamespaceBytesOptions {
  /** Share of a namespace, in bytes. */
  readonly budget: number;
  /** Size up to which an object is kept in any case, in bytes. */
  readonly small: number;
}

/** Memory that the objects of each namespace take. A namespace over its share keeps only stubs of large ones. */
export class NamespaceBytes {
  readonly #options: NamespaceBytesOptions;
  readonly #kept = new Map<string, { readonly namespace: string; readonly bytes: number }>();
  readonly #totals = new Map<string, number>();

  constructor(options: NamespaceBytesOptions = { budget: BYTES_PER_NAMESPACE, small: MAX_SMALL_BYTES }) {
    this.#options = options;
  }

  /** Reduces an object with a function that records its size, and counts it until `forget`. */
  reduce<T extends ApiObject<NamespacedMeta>, S extends ApiObject>(
    object: Stored<T>,
    reduce: (object: Stored<T>, options?: { readonly isOverBudget: true }) => Stored<S>,
  ): Stored<S> {
    this.forget(object);
    const { uid, namespace } = object.metadata;
    const total = this.#totals.get(namespace) ?? 0;
    const whole = reduce(object);
    const { budget, small } = this.#options;
    const isOver = bytesOf(whole) > small && total + bytesOf(whole) > budget;
    const kept = isOver ? reduce(object, { isOverBudget: true }) : whole;
    this.#kept.set(uid, { namespace, bytes: bytesOf(kept) });
    this.#totals.set(namespace, total + bytesOf(kept));
    return kept;
  }

  /** Forgets a deleted object. */
  readonly forget = ({ metadata: { uid } }: { readonly metadata: StoredIdentity }): void => {
    const { namespace = '', bytes = 0 } = this.#kept.get(uid) ?? {};
    if (!this.#kept.delete(uid)) return;
    const total = (this.#totals.get(namespace) ?? 0) - bytes;
    if (total > 0) this.#totals.set(namespace, total);
    else this.#totals.delete(namespace);
  };

  /** Number of counted objects. */
  get size(): number {
    return this.#kept.size;
  }
}
