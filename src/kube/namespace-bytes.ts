// Limits the memory that the objects in each namespace take in an informer, so that tenants cannot fill Purser's memory. An object that
// does not fit is replaced with a stub, which has only some of the object's fields.

import type { ApiObject, Stored } from '../api/resources.ts';
import { KeyHeap } from '../std/key-heap.ts';
import { objectKeyOf } from './paths.ts';

/** Mark of an object that is not kept whole because of its own size. */
interface SizeMark {
  readonly isTooLarge?: true;
}

/** Returns the reduced object, or a marked stub if the object exceeds `maxBytes`. Records the size of the returned object. */
export function keepWithin<T extends object>(maxBytes: number, reduced: T, toStub: (object: T) => T): T & SizeMark {
  const bytes = estimateBytes(reduced);
  if (bytes <= maxBytes) return recordBytes(reduced, bytes);
  const stub = { ...toStub(reduced), isTooLarge: true as const };
  return recordBytes(stub, estimateBytes(stub));
}

/** Returns the recorded size of a reduced object, in bytes; 0 if none was recorded. */
export function recordedBytes(object: object): number {
  return sizes.get(object) ?? 0;
}

const sizes = new WeakMap<object, number>();

/** Records the size of a reduced object, in bytes, and returns the object. */
export function recordBytes<T extends object>(object: T, bytes: number): T {
  sizes.set(object, bytes);
  return object;
}

/** Returns the approximate size of a value in memory, in bytes: the length of its JSON. */
export function estimateBytes(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

/** Memory for the objects in a namespace that a controller or a list keeps, in bytes; excludes Roles and RoleBindings. */
export const BYTES_PER_NAMESPACE = 64 << 20;
/** Maximum size of an object that is always kept whole, in bytes: its stub would take about as much. */
export const MAX_SMALL_BYTES = 4_096;

/** Budget for the objects in each namespace in one informer. */
export interface NamespaceBudget<T extends ApiObject> {
  /** Maximum total size of the objects in a namespace that are kept whole, in bytes; small objects are kept even beyond it. */
  readonly bytes: number;
  /** Maximum size of an object that is always kept whole, in bytes. */
  readonly small: number;
  /** Returns the stub of an object: the part that is kept if the namespace is over its budget. */
  readonly toStub: (object: Stored<T>) => Stored<T>;
  /** Called with the namespace of each object that becomes a stub. */
  readonly onOver?: (namespace: string) => void;
}

/** Returns whether an object is a stub because its namespace is over its budget. */
export function isOverBudget(object: object): boolean {
  return wholeSizes.has(object);
}

/** Returns the marked stub of an object whose namespace is over its budget. */
export function toOverBudgetStub<T extends ApiObject>(whole: Stored<T>, { toStub }: NamespaceBudget<T>): Stored<T> {
  const stub = { ...toStub(whole), isOverBudget: true as const };
  wholeSizes.set(stub, recordedBytes(whole));
  return recordBytes(stub, estimateBytes(stub));
}

/** Size of the whole object for each stub of a namespace over its budget, in bytes. */
const wholeSizes = new WeakMap<object, number>();

/** A stored object, and the previous object with the same key; `previous` is undefined for a new key. */
export interface Replacement<T extends ApiObject> {
  readonly key: string;
  readonly object: Stored<T>;
  readonly previous: Stored<T> | undefined;
}

/**
 * Objects of a collection by key. A namespace over its budget keeps its smallest objects whole, and stubs of all larger ones. The order of
 * the objects in a list does not matter, so all replicas decide alike. A stub stays a stub at least until the object arrives again.
 */
export class KeptObjects<T extends ApiObject> {
  readonly #budget: NamespaceBudget<T> | undefined;
  readonly #objects = new Map<string, Stored<T>>();
  readonly #shares = new Map<string, Share>();

  /** Creates an empty collection; without a budget, it keeps all objects whole. */
  constructor(budget?: NamespaceBudget<T>) {
    this.#budget = budget;
  }

  /** The objects by key. */
  get all(): ReadonlyMap<string, Stored<T>> {
    return this.#objects;
  }

  /** True if a new list would keep the whole object of at least one stub. */
  get canRestore(): boolean {
    return this.#shares.values().some((share) => share.canRestore);
  }

  /** Stores an object. Returns the object as it is kept, followed by the larger objects that became stubs. */
  set(object: Stored<T>): readonly Replacement<T>[] {
    const key = objectKeyOf(object);
    const previous = this.#objects.get(key);
    this.#release(key, previous);
    this.#objects.set(key, object);
    const others = this.#claim(key, object, previous).flatMap((over) => this.#demote(over));
    return [{ key, object: this.#objects.get(key) ?? object, previous }, ...others.filter((other) => other.key !== key)];
  }

  /** Removes an object and returns it; undefined if it was absent. */
  delete(key: string): Stored<T> | undefined {
    const object = this.#objects.get(key);
    this.#objects.delete(key);
    this.#release(key, object);
    return object;
  }

  /** Counts an object toward the budget of its namespace. Returns the keys of the objects that exceed the budget. */
  #claim(key: string, object: Stored<T>, previous: Stored<T> | undefined): readonly string[] {
    if (this.#budget === undefined || (recordedBytes(object) === 0 && !isOverBudget(object))) return [];
    const namespace = object.metadata.namespace ?? '';
    const share = this.#shares.get(namespace) ?? new Share(this.#budget);
    this.#shares.set(namespace, share);
    const entry = { key, bytes: wholeSizes.get(object) ?? recordedBytes(object) };
    if (!isOverBudget(object)) return share.add(entry, previous !== undefined && isOverBudget(previous));
    share.addStub(entry);
    return [];
  }

  #release(key: string, object: Stored<T> | undefined): void {
    const namespace = object?.metadata.namespace ?? '';
    const share = this.#shares.get(namespace);
    if (object === undefined || share === undefined) return;
    share.remove({ key, bytes: recordedBytes(object) });
    if (share.isEmpty) this.#shares.delete(namespace);
  }

  #demote(key: string): readonly Replacement<T>[] {
    const previous = this.#objects.get(key);
    if (previous === undefined || this.#budget === undefined) return [];
    const object = toOverBudgetStub(previous, this.#budget);
    this.#budget.onOver?.(object.metadata.namespace ?? '');
    this.#objects.set(key, object);
    return [{ key, object, previous }];
  }
}

/** Key of an object, and its size when it is whole, in bytes. */
interface SizedEntry {
  readonly key: string;
  readonly bytes: number;
}

/** Sizes of the objects in one namespace. Unless `canRestore` is true, all whole objects precede all stubs in the order of `bySize`. */
class Share {
  readonly #budget: Pick<NamespaceBudget<never>, 'bytes' | 'small'>;
  /** Whole objects that are not small, the largest first; undefined before the first one. */
  #whole: KeyHeap<string, SizedEntry> | undefined;
  /** Objects that are kept as stubs, the smallest first; undefined before the first one. */
  #stubs: KeyHeap<string, SizedEntry> | undefined;
  /** Total size of the objects that are kept whole. */
  #bytes = 0;

  constructor(budget: Pick<NamespaceBudget<never>, 'bytes' | 'small'>) {
    this.#budget = budget;
  }

  get isEmpty(): boolean {
    return this.#bytes === 0 && (this.#stubs?.size ?? 0) === 0;
  }

  get canRestore(): boolean {
    const next = this.#stubs?.first?.priority;
    if (next === undefined) return false;
    const largest = this.#whole?.first?.priority;
    return this.#isSmall(next) || this.#roomBeside(next) >= 0 || (largest !== undefined && bySize(next, largest) < 0);
  }

  /** Adds an object. Returns the keys of the objects that must become stubs. */
  add(object: SizedEntry, wasStub: boolean): readonly string[] {
    if (wasStub && this.#isBorderline(object)) {
      this.addStub(object);
      return [object.key];
    }
    this.#bytes += object.bytes;
    if (!this.#isSmall(object)) (this.#whole ??= new KeyHeap(byDescendingSize)).set(object.key, object);
    return [...this.#removeLargest()];
  }

  /** Adds an object that is kept as a stub. */
  addStub(object: SizedEntry): void {
    (this.#stubs ??= new KeyHeap(bySize)).set(object.key, object);
  }

  /** Removes an object; `bytes` is the size of its kept part. */
  remove({ key, bytes }: SizedEntry): void {
    if (this.#stubs?.remove(key) !== undefined) return;
    this.#whole?.remove(key);
    this.#bytes -= bytes;
  }

  #isSmall({ bytes }: SizedEntry): boolean {
    return bytes <= this.#budget.small;
  }

  /**
   * Returns whether a changed stub would barely fit. Such an object remains a stub until the next list, or until a change leaves enough
   * room: Purser writes the status of a ManagedToken after this decision, and the status could make the object too large again.
   */
  #isBorderline(object: SizedEntry): boolean {
    const room = this.#roomBeside(object);
    return this.#isSmall(object) ? object.bytes > this.#budget.small / 2 : room >= 0 && room < this.#budget.bytes / 32;
  }

  #roomBeside({ bytes }: SizedEntry): number {
    return this.#budget.bytes - this.#bytes - bytes;
  }

  *#removeLargest(): Generator<string> {
    while (this.#bytes > this.#budget.bytes) {
      const largest = this.#whole?.first?.priority;
      if (largest === undefined) return;
      this.#whole?.remove(largest.key);
      this.addStub(largest);
      this.#bytes -= largest.bytes;
      yield largest.key;
    }
  }
}

/** Orders objects by size, and objects of the same size by key. */
function bySize(a: SizedEntry, b: SizedEntry): number {
  return a.bytes - b.bytes || (a.key < b.key ? -1 : 1);
}

function byDescendingSize(a: SizedEntry, b: SizedEntry): number {
  return bySize(b, a);
}
