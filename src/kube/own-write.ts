// Purser's writes that an informer has not delivered yet.

import type { ApiObject } from '../api/resources.ts';

const NONE: ReadonlySet<string | undefined> = new Set();

/** An object as Purser last wrote it, until the informer delivers that write. */
export class OwnWrite<T extends ApiObject> {
  #written: T | undefined;
  /** Versions before the write, which the informer may still have; contains undefined for a created object. */
  #replaced = NONE;
  #writtenAt = 0;
  /** Version that the watch delivered last. */
  #delivered: string | undefined;

  /** Records a write. `replaced` is the object before the write; undefined for a created object. */
  record(object: T, replaced: ApiObject | undefined, now: number): void {
    // The watch may deliver the write before the response arrives.
    if (isVersion(object, this.#delivered)) return this.forget();
    const version = replaced?.metadata.resourceVersion;
    const isNext = this.#written !== undefined && version === this.#written.metadata.resourceVersion;
    this.#replaced = new Set([...(isNext ? this.#replaced : []), version]);
    this.#written = object;
    this.#writtenAt = now;
  }

  /**
   * Returns the newer of the written and the informer's object. Forgets the write once the informer has the written or a newer object, or
   * has deleted the object, or has not delivered a created object for LONGEST_LAG_MS.
   */
  resolve(informed: T | undefined, now: number): T | undefined {
    const version = informed?.metadata.resourceVersion;
    // The informer never delivers an object that was created and deleted while the watch was interrupted.
    const mayBeGone = version === undefined && Math.abs(now - this.#writtenAt) >= LONGEST_LAG_MS;
    if (!this.#replaced.has(version) || mayBeGone) this.forget();
    return this.#written ?? informed;
  }

  /** Records a version that the watch delivered. If it is the written version, forgets the write and returns true. */
  acknowledge(object: ApiObject): boolean {
    this.#delivered = object.metadata.resourceVersion;
    const isWritten = this.#written !== undefined && isVersion(this.#written, this.#delivered);
    if (isWritten) this.forget();
    return isWritten;
  }

  /** Forgets the write. Call it only if the informer or a newer read supersedes the written object. */
  forget(): void {
    this.#written = undefined;
    this.#replaced = NONE;
  }
}

/** Time after which a created object that the informer has not delivered is assumed to be deleted, in milliseconds. */
const LONGEST_LAG_MS = 30_000;

function isVersion({ metadata }: ApiObject, version: string | undefined): boolean {
  return version !== undefined && metadata.resourceVersion === version;
}
